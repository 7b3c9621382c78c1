"""Controls a headless Firefox through its remote protocol (Marionette, version 3), in the chrome context."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

TIMEOUT = 180
PREFERENCES = {
    "marionette.port": 0,
    "app.update.auto": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.poll_interval": 0,
}


class Firefox:
    def __init__(self, profile, **preferences):
        self.profile = pathlib.Path(profile)
        self.preferences = {**PREFERENCES, **{name.replace("__", "."): value for name, value in preferences.items()}}

    def __enter__(self):
        binary = shutil.which("firefox-esr")
        assert binary, "there is no firefox-esr: run scripts/setup"
        # An existing profile is reused in a new session.
        self.profile.mkdir(parents=True, exist_ok=True)
        (self.profile / "MarionetteActivePort").unlink(missing_ok=True)
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in self.preferences.items()]
        (self.profile / "user.js").write_text("".join(lines))
        home = self.profile.parent / "home"
        home.mkdir(exist_ok=True)
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(home), "MOZ_REMOTE_SETTINGS_DEVTOOLS": "1", "MOZ_HEADLESS": "1",
            "MOZ_DISABLE_CONTENT_SANDBOX": "1", "LANG": "C.UTF-8",
        }
        self.output = open(self.profile.parent / "firefox.log", "wb")
        self.process = subprocess.Popen(
            [binary, "--headless", "--no-remote", "--marionette", "--remote-allow-system-access", "--profile", self.profile],
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT, env=environment,
            start_new_session=True)
        try:
            self.connection = socket.create_connection(("127.0.0.1", self._port()), timeout=TIMEOUT)
            self.buffer, self.count = b"", 0
            self._receive()
            self.command("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {}}})
            self.command("WebDriver:SetTimeouts", {"script": TIMEOUT * 1000})
            self.command("Marionette:SetContext", {"value": "chrome"})
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        # Kill all of Firefox's processes, which are in a separate session.
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.output.close()
        if hasattr(self, "connection"):
            self.connection.close()

    def _port(self):
        """The port, which the browser writes to a file when it listens."""
        file = self.profile / "MarionetteActivePort"
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            assert self.process.poll() is None, (self.profile.parent / "firefox.log").read_text(errors="replace")
            if file.exists() and file.read_text().strip():
                return int(file.read_text())
            time.sleep(0.1)
        raise TimeoutError("Firefox did not open its port")

    def _receive(self):
        while b":" not in self.buffer:
            self._read()
        length, self.buffer = self.buffer.split(b":", 1)
        while len(self.buffer) < int(length):
            self._read()
        message, self.buffer = self.buffer[: int(length)], self.buffer[int(length):]
        return json.loads(message)

    def _read(self):
        part = self.connection.recv(1 << 16)
        assert part, "Firefox has closed its connection"
        self.buffer += part

    def command(self, name, parameters):
        self.count += 1
        message = json.dumps([0, self.count, name, parameters]).encode()
        self.connection.sendall(b"%d:%s" % (len(message), message))
        _, _, error, result = self._receive()
        assert error is None, error
        return result

    def quit(self):
        """Quits like a user, so that pending data is written."""
        self.run("Services.tm.dispatchToMainThread(() => Services.startup.quit(Ci.nsIAppStartup.eForceQuit)); return true;")
        self.process.wait(TIMEOUT)

    def run(self, script, *arguments):
        """Runs an async function body with the browser's privileges and returns its value."""
        body = (
            "const [done] = [arguments[arguments.length - 1]]; const args = Array.from(arguments).slice(0, -1);"
            f"(async () => {{ {script} }})().then(value => done({{value}}), error => done({{error: String(error)}}));")
        result = self.command(
            "WebDriver:ExecuteAsyncScript", {"script": body, "args": list(arguments), "newSandbox": True})
        return result["value"]
