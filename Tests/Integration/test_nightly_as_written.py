"""The examples in Examples/nightly, run unmodified against a git host on loopback."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import time

import pytest
import yaml

import rsdump
from forge import PROJECT, TOKEN, Forge
from nightly import BRANCH
from test_changes import MARKETS, SETTINGS
from test_nightly import nightly  # noqa: F401
from test_nightly_examples import ACTION, EXAMPLES


def run_steps(shell, steps, *, cwd, env):
    return subprocess.run([*shell, "-c", "\n".join(steps)], cwd=cwd, env=env, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=rsdump.TIMEOUT)


def install(nightly):
    """Installs rsdump under its normal name, and stubs for package installers."""
    (nightly.bin / "rsdump").symlink_to(rsdump.BINARY)
    for name in ("apt-get", "sudo"):
        (nightly.bin / name).write_text(f'#!/bin/sh\necho {name} "$@" >>"{nightly.folder}/installed"\n')
        (nightly.bin / name).chmod(0o755)


def files_with(text, folder):
    return [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink() and text.encode() in path.read_bytes()]


@pytest.fixture
def served(nightly):  # noqa: F811
    nightly.origin("config", "http.receivepack", "true")
    install(nightly)
    return nightly


def test_gitlab(served, sample, tmp_path):
    job = yaml.safe_load((EXAMPLES / "gitlab-ci.yml").read_text())["dumps"]
    with Forge(served.origin, "nightly").serving() as forge:
        environment = served.environment({
            "HOME": str(tmp_path), "GH_TOKEN": "", "GITLAB_CI": "true", "CI_SERVER_URL": forge.url, "CI_PROJECT_URL": f"{forge.url}/group/app",
            "CI_API_V4_URL": f"{forge.url}/api/v4", "CI_PROJECT_ID": str(PROJECT), "CI_DEFAULT_BRANCH": "main",
            "NIGHTLY_TOKEN": TOKEN, **{name: value for name, value in job["variables"].items() if name.startswith("GIT_")}})

        def night(number):
            clone = tmp_path / f"night{number}"
            subprocess.run(["git", "clone", "-q", "--depth", job["variables"]["GIT_DEPTH"], f"file://{served.origin.path}", clone],
                           check=True, env=served.environment())
            done = run_steps(["bash", "-eo", "pipefail"], job["script"], cwd=clone, env=environment)
            assert done.returncode == 0, done.stdout + done.stderr
            assert (clone / job["artifacts"]["paths"][0]).read_text().startswith("## Remote Settings dumps")
            assert not files_with(TOKEN, clone) and TOKEN not in done.stdout + done.stderr
            return done
        sample.patch_record(SETTINGS, "telemetry", {"value": True})
        night(1)
        [request] = forge.merge_requests
        assert (request["source_branch"], request["target_branch"], request["title"]) == (
            BRANCH, "main", "Update Remote Settings dumps")
        assert "`telemetry`" in request["description"] and "`nowhere`" not in request["description"]
        sample.delete_record(MARKETS, "nowhere")
        night(2)
        assert len(forge.merge_requests) == 1 and "`nowhere`" in request["description"]
        assert len(served.new_commits()) == 2
        # A closed pull request remains closed until something changes.
        request["state"] = "closed"
        night(3)
        assert [each["state"] for each in forge.merge_requests] == ["closed"] and not forge.refused
        # The reminder job fails after a week without a scheduled pipeline.
        job = yaml.safe_load((EXAMPLES / "gitlab-ci.yml").read_text())["dumps-reminder"]
        for forge.schedules, code in ((0, 1), (1, 0)):
            assert run_steps(["bash", "-eo", "pipefail"], job["script"], cwd=tmp_path, env=environment).returncode == code
        assert not forge.refused


def test_github(served, sample, tmp_path):
    """Also covers GitHub Enterprise, which has a custom host and port."""
    steps = {each["name"]: each for each in yaml.safe_load(ACTION.read_text())["runs"]["steps"]}
    inputs = yaml.safe_load(ACTION.read_text())["inputs"]
    package = b"a package"
    with Forge(served.origin, "x-access-token").serving() as forge:
        values = {
            "inputs.version": "9.8.7", "inputs.sha256": hashlib.sha256(package).hexdigest(), "inputs.token": TOKEN,
            "inputs.base": "main", "inputs.before-commit": "", "inputs.options": "--remote origin -- --full", "github.server_url": forge.url}
        values["inputs.releases"] = expand(inputs["releases"]["default"], values)
        clone = served.origin.clone(tmp_path / "checkout")
        clone("remote", "set-url", "origin", f"{forge.url}/group/app.git")

        def step(name):
            environment = {key: expand(value, values) for key, value in steps[name]["env"].items()}
            return run_steps(["bash", "--noprofile", "--norc", "-eo", "pipefail"], [steps[name]["run"]], cwd=clone.path,
                             env=served.environment({
                                 # A separate file, because the step changes the user's settings.
                                 **environment, "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"), "RUNNER_TEMP": str(tmp_path), "GITHUB_ACTIONS": "true",
                                 "GITHUB_WORKSPACE": str(clone.path), "GITHUB_SERVER_URL": forge.url}))
        owner = json.loads((EXAMPLES.parent / "release.json").read_text())["owner"]
        path = f"/{owner}/swift-remote-settings/releases/download/v9.8.7/rsdump_9.8.7_amd64.deb"
        forge.releases[path] = b"another package"
        assert step("Install rsdump").returncode != 0 and not (tmp_path / "installed").exists()
        forge.releases[path] = package
        done = step("Install rsdump")
        assert done.returncode == 0 and "rsdump_9.8.7_amd64.deb" in (tmp_path / "installed").read_text(), done.stderr
        sample.patch_record(SETTINGS, "telemetry", {"value": True})
        done = step("Refresh, verify, land")
        assert done.returncode == 0 and not forge.refused, done.stdout + done.stderr
        [request] = served.requests
        assert "`telemetry`" in request["body"] and len(served.new_commits()) == 1
        assert not files_with(TOKEN, clone.path)


# Tests that need a host use this address, because ssh-keyscan connects to port 22.
HOST = "127.0.0.22"


def expand(text, values):
    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: values[match[1]], text)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a user")
def test_systemd(served, sample, tmp_path):
    """Runs the commands in the unit's comment, then ExecStart as the user they created, in a private mount namespace."""
    text = (EXAMPLES / "remote-settings-dumps.service").read_text()
    setup = [line[6:] for line in text.splitlines() if line.startswith("#     ")]
    setup = [re.sub("^export .*", "", line) for line in setup if not line.startswith("systemctl")]
    settings = dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    for name in ("etc", "lib", "bin"):
        (tmp_path / name).mkdir(exist_ok=True)
    shutil.copytree("/etc", tmp_path / "etc", symlinks=True, dirs_exist_ok=True)
    (tmp_path / "script").write_text("\n".join([
        "set -e", "mount --make-rprivate /", f"mount --bind {tmp_path}/etc /etc", "mount -t tmpfs none /var/lib",
        "mount -t tmpfs none /usr/local/bin", "mount -t tmpfs none /mnt", "mkdir /mnt/origin.git",
        f"mount --bind {served.origin.path} /mnt/origin.git", f"cp {rsdump.BINARY} /usr/local/bin/rsdump",
        # The git host: an sshd on a separate loopback address.
        "mount -t tmpfs none /run && mkdir -m 755 /run/sshd", "rm -f /etc/ssh/ssh_host_*",
        "ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key",
        f"/usr/sbin/sshd -D -e -f /dev/null -o ListenAddress={HOST} -o HostKey=/etc/ssh/ssh_host_ed25519_key -o UsePAM=no "
        f"-o PidFile=none -o AuthorizedKeysFile=/etc/ssh/allowed 2>{tmp_path}/sshd.log & trap 'kill $!' EXIT",
        f"until ssh-keyscan {HOST} 2>/dev/null | grep -q ed25519; do sleep 0.1; done",
        f"export repository=dumps@{HOST}:/mnt/origin.git host={HOST}",
        *setup[:setup.index("'") + 1],
        # Gives the user push access.
        "chown -R dumps:dumps /mnt/origin.git", "cp /var/lib/dumps/.ssh/id_ed25519.pub /etc/ssh/allowed", "usermod -p '*' dumps",
        *setup[setup.index("'") + 1:],
        f"cd {settings['WorkingDirectory']}",
        f"setpriv --reuid {settings['User']} --regid {settings['Group']} --clear-groups --no-new-privs env -i PATH=/usr/bin:/bin "
        f"{settings['Environment']} {settings['ExecStart']}"]))
    done = subprocess.run(["unshare", "--mount", "bash", tmp_path / "script"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=rsdump.TIMEOUT)
    assert done.returncode == 0 and "Landed on" in done.stderr, done.stdout + done.stderr
    subprocess.run(["chown", "-R", "root:root", served.origin.path], check=True)
    assert len(served.new_commits()) == 1


@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start cron")
def test_cron(served, sample, tmp_path):
    """Debian's cron runs the line every minute in a private home, and mails the output of a failed run."""
    text = (EXAMPLES / "crontab").read_text().replace("17 3 * * *", "* * * * *")
    home, mail = tmp_path / "home", tmp_path / "mail"
    (home / "bin").mkdir(parents=True)
    served.origin.clone(home / "repository")
    (home / "bin/rsdump").symlink_to(rsdump.BINARY)
    shutil.copytree("/usr/sbin", tmp_path / "sbin", symlinks=True)
    (tmp_path / "sbin/sendmail").write_text(f"#!/bin/sh\nexec cat >>{mail}\n")
    (tmp_path / "sbin/sendmail").chmod(0o755)
    (tmp_path / "crontab").write_text(text)
    (tmp_path / "script").write_text("\n".join([
        "set -e", "mount --make-rprivate /", f"mount --bind {home} /root", f"mount --bind {tmp_path}/sbin /usr/sbin",
        "mount -t tmpfs none /var/spool/cron", "mkdir -m 1730 /var/spool/cron/crontabs", "mount -t tmpfs none /etc/cron.d",
        "mount -t tmpfs none /run", "printf '' >/etc/cron.d/.placeholder", f"crontab {tmp_path}/crontab", "exec cron -f"]))
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    daemon = subprocess.Popen(["unshare", "--mount", "bash", tmp_path / "script"], stdin=subprocess.DEVNULL)
    try:
        log = home / "dumps.log"
        wait_for(lambda: log.exists() and "exit code 0" in log.read_text())
        assert "Landed on" in log.read_text() and served.new_commits() and not mail.exists(), log.read_text()
        sample.faults({"path": "collections/markets/changeset", "body": "{"})
        sample.delete_record(MARKETS, "nowhere")
        wait_for(lambda: mail.exists() and mail.read_text().endswith("dumps-summary.md\n"))
        assert "To: root" in mail.read_text() and "The refresh of the dumps failed." in mail.read_text()
    finally:
        daemon.terminate()
        daemon.wait()


def wait_for(condition):
    deadline = time.monotonic() + 150
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.5)
