"""`--on-change` in a run that is killed during the command, and in a refresh. commands/on-change.txt covers publishing.

The second half tests the commands in Examples/on-change against servers that reject what the real services reject.
"""
import base64
import contextlib
import email
import email.policy
import json
import os
import re
import shlex
import socketserver
import ssl
import subprocess
import threading
import time

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

import nginx
import rsdump
from dumps import Dumps
from endpoint import Endpoint
from publishing import ON_CHANGE, Hook
from serve import Serving
from trusting import self_signed


@pytest.fixture
def hook(tmp_path):
    return Hook(tmp_path)


def hooks(outcome):
    return outcome.json()["hooks"]


def test_killed_on_change_hook_runs_again(team, tmp_path):
    team.change("one")
    log, go_on = tmp_path / "log", tmp_path / "go-on"
    command = f"cat >>{log}; while [ ! -e {go_on} ]; do sleep 0.1; done"
    killed = rsdump.start(*team.arguments("--on-change", command))
    while not log.exists() or not log.read_text():
        assert killed.poll() is None
        time.sleep(0.02)
    killed.kill()
    killed.wait()
    go_on.touch()
    assert team.kept.exists()
    team.publish("--on-change", command)
    assert [json.loads(line)["collections"] for line in log.read_text().splitlines()] == [["main/one"]] * 2
    assert not (team.dumps.path / ".rsdump").exists()


def test_refresh_on_change_tells_verified_changes(tmp_path, hook):
    options = "--on-change", hook.command
    with Serving("--demo") as server:
        dumps = Dumps(tmp_path / "dumps")
        assert dumps.add(None, "main/settings", "main/markets", url=f"{server.url}/v2", root=server.root).code == 0
        # A root that did not sign the data.
        right = dumps.config.read_text()
        dumps.config.write_text(re.sub(r"(?:[0-9A-F]{2}:){31}[0-9A-F]{2}|[0-9a-f]{64}", "ab" * 32, right))
        assert dumps.config.read_text() != right
        assert dumps.refresh(*options).code == rsdump.SOME_FAILED and not hook.take()
        dumps.config.write_text(right)
        outcome = dumps.refresh(*options)
        assert outcome.code == rsdump.DONE and "command 1 of --on-change was notified: 2 collections changed" in outcome.out, str(outcome)
        assert [each["collections"] for each in hook.take()] == [["main/markets", "main/settings"]]
        assert server.ask("/demo/publish", method="POST").status == 200
        hook.fails.touch()
        assert dumps.refresh(*options).code == rsdump.DONE and not hook.take()
    # The server is gone, but the missed notification is still delivered.
    hook.fails.unlink()
    assert dumps.refresh(*options).code == rsdump.UNREACHABLE
    assert [each["collections"] for each in hook.take()] == [["main/markets", "main/settings"]]


# The commands in Examples/on-change. Each endpoint responds like the real service.

@contextlib.contextmanager
def checking(status):
    """An endpoint that responds with the result of `status(message)`."""
    def check(message):
        endpoint.status = status(message)
    with Endpoint(on_message=check) as endpoint:
        yield endpoint


def told(team, command, env=None):
    """Runs an example's command after a change of main/one and returns its status."""
    team.change("one")
    outcome = team.publish("--on-change", f"{ON_CHANGE}/{command}", env=env)
    # The command's output appears on standard error, without secrets.
    assert "s3cret" not in outcome.out + outcome.err, str(outcome)
    return hooks(outcome)[0]["status"]


def webhook(message):
    """Like nginx with nchan, configured by Examples/nginx/mirror.conf; clients receive the body."""
    return 413 if len(message.body) > 4096 else 201


def test_a_webhook_gets_the_update_event(team):
    with checking(webhook) as endpoint:
        assert told(team, f"webhook {endpoint.url}/publish", {"WEBHOOK_HEADER": "Authorization: Bearer s3cret"}) == "told"
        [message] = endpoint.take()
        assert message.path == "/publish"
        assert message.headers["content-type"] == "application/json"
        assert message.headers["x-eventsource-event"] == "update"
        assert message.headers["authorization"] == "Bearer s3cret"
        assert message.json() == {"timestamp": team.timestamps["main/one"], "collections": ["main/one"]}
        # Credentials are not sent over plain HTTP to another machine.
        assert told(team, "webhook http://192.0.2.1/x", {"WEBHOOK_HEADER": "Authorization: Bearer s3cret"}) == "pending"
        for number in range(300):
            team.values[f"collection-{number}"] = 1
        assert told(team, f"webhook {endpoint.url}/publish") == "told"
        [message] = endpoint.take()
        assert message.json() == {"timestamp": max(team.timestamps.values())}


@pytest.mark.parametrize("place", [
    "127.0.0.1:x@{other}", "127.0.0.1:80@{other}", "127.0.0.1@{other}", "127.0.0.1:@{other}", "localhost:1:2@{other}",
    "127.0.0.1.example", "127.0.0.1?@{other}", "127.0.0.1#@{other}", "127.0.0.1\\@{other}", "127.0.0.2", "localhost.example",
    "127.0.0.1:80 @{other}", "127.0.0.1:\n@{other}", "LOCALHOST:80x", "[::1]:x@{other}", "user@127.0.0.1",
])
def test_webhook_secret_needs_https(place):
    with Endpoint(status=200) as endpoint:
        other = endpoint.url.removeprefix("http://")
        for scheme in ("http://", "HTTP://", ""):
            run = subprocess.run(
                [ON_CHANGE / "webhook", scheme + place.format(other=other) + "/x"], input='{"timestamp":1}', text=True,
                capture_output=True, env={**os.environ, "WEBHOOK_HEADER": "Authorization: Bearer s3cret"}, timeout=60)
            assert run.returncode == 2 and "use https" in run.stderr and not endpoint.take(), (scheme, str(run))


@pytest.mark.parametrize("status", [302, 400, 404, 410, 500])
def test_failed_webhook_is_pending(team, status):
    with Endpoint(status=status) as endpoint:
        endpoint.headers = {"Location": "/elsewhere"}
        assert told(team, f"webhook {endpoint.url}/publish") == "pending"
        # Temporary errors are retried: three attempts.
        assert [each.path for each in endpoint.take()] == ["/publish"] * (3 if status == 500 else 1)
    # No server responds.
    assert told(team, f"webhook http://127.0.0.1:{nginx.free_port()}/") == "pending"


def slack(message):
    """https://api.slack.com/messaging/webhooks: 403 invalid_token, 400 invalid_payload or no_text."""
    if message.path != "/services/T0/B0/s3cret":
        return 403
    text = message.json().get("text")
    return 200 if isinstance(text, str) and text and message.headers["content-type"] == "application/json" else 400


def test_slack_gets_a_line(team):
    with checking(slack) as endpoint:
        assert told(team, "slack", {"SLACK_WEBHOOK": f"{endpoint.url}/services/T0/B0/s3cret"}) == "told"
        assert endpoint.take()[0].json() == {"text": "1 of our Remote Settings collections changed: main/one"}
        assert told(team, "slack", {"SLACK_WEBHOOK": f"{endpoint.url}/services/T0/B0/other"}) == "pending"


def fcm(message):
    """Rejects invalid messages as documented: https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages"""
    if message.path != "/v1/projects/our-project/messages:send":
        return 404
    if message.headers.get("authorization") != "Bearer ya29.s3cret":
        return 401
    inner = message.json()["message"]
    is_valid = (
        len(message.body) <= 4096 and message.headers["content-type"] == "application/json"
        and set(inner) <= {"topic", "data", "apns"} and re.fullmatch(r"[a-zA-Z0-9-_.~%]+", inner["topic"])
        and all(isinstance(value, str) for value in inner["data"].values())
        and all(isinstance(value, str) for value in inner["apns"]["headers"].values()))
    return 200 if is_valid else 400


def test_fcm_gets_a_silent_message(team):
    with checking(fcm) as endpoint:
        env = {"FCM_URL": endpoint.url, "FCM_TOKEN": "ya29.s3cret"}
        assert told(team, "fcm our-project PUSH_RC", env) == "told"
        [message] = endpoint.take()
        timestamp = str(team.timestamps["main/one"])
        # The fields that the library's guide and the sample app read, and those that wake an iOS app in the background.
        assert message.json() == {"message": {
            "topic": "PUSH_RC", "data": {"CONFIG_STATE": "STALE", "timestamp": timestamp},
            "apns": {"headers": {"apns-push-type": "background", "apns-priority": "5"},
                     "payload": {"aps": {"content-available": 1}}}}}
        assert told(team, "fcm our-project PUSH_RC", {**env, "FCM_TOKEN": "ya29.late"}) == "pending"
        assert told(team, "fcm our-project 'PUSH RC'", env) == "pending"


class Apple(nginx.Nginx):
    """HTTP/2 over TLS in front of an endpoint, like Apple's push service."""

    def __init__(self, folder, endpoint):
        super().__init__(folder)
        self.endpoint = endpoint
        self.folder.mkdir(parents=True)
        self.certificate, _ = self_signed(self.folder)
        self.url = f"https://127.0.0.1:{self.port}"

    def configuration(self, user):
        return (
            f"{user}\npid {self.folder}/nginx.pid;\nerror_log {self.folder}/error.log warn;\nworker_processes 1;\n"
            "events { worker_connections 64; }\nhttp {\n access_log off;\n"
            + "".join(f" {kind}_temp_path {self.folder}/tmp-{kind};\n"
                      for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            + f" server {{ listen 127.0.0.1:{self.port} ssl http2; ssl_certificate {self.certificate};\n"
            f"  ssl_certificate_key {self.folder}/key.pem; location / {{ proxy_pass {self.endpoint.url};\n"
            "   proxy_set_header X-Protocol $server_protocol; } } }\n")


DEVICE, GONE = "0123456789abcdef" * 4, "f" * 64
APNS_KEY = ec.generate_private_key(ec.SECP256R1())


def provider_token(value):
    """Returns the header and claims of a JSON Web Token after verifying its signature."""
    token = value.removeprefix("bearer ")
    header, claims, signature = (base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split("."))
    r, s = (int.from_bytes(half) for half in (signature[:32], signature[32:]))
    APNS_KEY.public_key().verify(
        encode_dss_signature(r, s), token.rpartition(".")[0].encode(), ec.ECDSA(hashes.SHA256()))
    assert len(signature) == 64
    return json.loads(header), json.loads(claims)


def apns(message):
    """https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns"""
    headers = message.headers
    assert headers["x-protocol"] == "HTTP/2.0"
    try:
        header, claims = provider_token(headers["authorization"])
    except Exception:
        return 403
    if (header, claims["iss"]) != ({"alg": "ES256", "kid": "KEY"}, "TEAM") or abs(claims["iat"] - time.time()) > 3600:
        return 403
    if len(message.body) > 4096:
        return 413
    # TopicDisallowed; for a background message, BadPriority and InvalidPushType.
    if headers["apns-topic"] != "org.example.app" or headers["apns-priority"] != "5" or headers["apns-push-type"] != "background":
        return 400
    if set(message.json()["aps"]) != {"content-available"}:
        return 400
    return {f"/3/device/{DEVICE}": 200, f"/3/device/{GONE}": 410}.get(message.path, 400)


def test_apns_gets_background_messages_by_http_2(team, tmp_path):
    (tmp_path / "key.p8").write_text(APNS_KEY.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode())
    env = {"APNS_KEY": str(tmp_path / "key.p8"), "APNS_KEY_ID": "KEY", "APNS_TEAM_ID": "TEAM"}
    with checking(apns) as endpoint, Apple(tmp_path / "tls", endpoint) as tls:
        env["APNS_URL"] = tls.url
        command = f"apns org.example.app {DEVICE} {GONE}"
        # Nothing is sent over a connection with an untrusted certificate.
        assert told(team, command, env) == "pending" and not endpoint.take()
        env["CURL_CA_BUNDLE"] = str(tls.certificate)
        # Repeated, because the numbers of an ECDSA signature may begin with zeros. A device that is gone does not cause a retry.
        for _ in range(4):
            assert told(team, command, env) == "told"
            first, second = endpoint.take()
            assert (first.path, second.path) == (f"/3/device/{DEVICE}", f"/3/device/{GONE}")
            timestamp = str(team.timestamps["main/one"])
            assert first.json() == {"aps": {"content-available": 1}, "CONFIG_STATE": "STALE", "timestamp": timestamp}
        assert told(team, f"apns org.example.other {DEVICE}", env) == "pending"
        assert told(team, f"apns org.example.app {DEVICE} {'0' * 64}", env) == "pending"
        assert told(team, command, {**env, "APNS_TOKEN": "a.b.s3cret"}) == "pending"


class Mail:
    """An SMTP server that accepts mail only over TLS and after authentication (RFC 5321, 3207, 4954)."""

    def __init__(self, folder):
        certificate, key = self_signed(folder)
        self.certificate = certificate
        self.messages = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        mail = self

        class Handler(socketserver.StreamRequestHandler):
            def say(self, text):
                self.wfile.write(f"{text}\r\n".encode())

            def handle(self):
                is_secure = is_known = False
                sender, recipients = None, []
                self.say("220 mail.example.org ESMTP")
                while line := self.rfile.readline():
                    assert line.endswith(b"\r\n")
                    verb, _, rest = line.decode("ascii").strip().partition(" ")
                    match verb.upper():
                        case "EHLO":
                            self.say("250-mail.example.org")
                            self.say("250 AUTH PLAIN" if is_secure else "250 STARTTLS")
                        case "STARTTLS":
                            self.say("220 Ready")
                            self.connection = context.wrap_socket(self.connection, server_side=True)
                            self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
                            is_secure = True
                        case "AUTH":
                            is_known = is_secure and base64.b64decode(rest.split()[1]) == b"\0user\0s3cret"
                            self.say("235 Known" if is_known else "535 Unknown")
                        case "MAIL" if not is_known:
                            self.say("530 Authentication required")
                        case "MAIL":
                            sender = re.match(r"FROM:<(.+?)>", rest)[1]
                            self.say("250 OK")
                        case "RCPT":
                            recipient = re.match(r"TO:<(.+?)>", rest)[1]
                            is_taken = recipient.endswith("@example.org")
                            recipients += [recipient] * is_taken
                            self.say("250 OK" if is_taken else "550 No such user")
                        case "DATA":
                            self.say("354 Go on")
                            body = b""
                            while (line := self.rfile.readline()) != b".\r\n":
                                assert line.endswith(b"\r\n") and len(line) <= 1000
                                body += line
                            mail.messages.append((sender, recipients, email.message_from_bytes(body, policy=email.policy.default)))
                            self.say("250 Taken")
                        case "QUIT":
                            self.say("221 Bye")
                            return
                        case "RSET":
                            self.say("250 OK")
                        case _:
                            self.say("502 Unknown command")

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    @property
    def env(self):
        port = self.server.server_address[1]
        return {"SMTP_SERVER": f"127.0.0.1:{port}", "SMTP_USER": "user", "SMTP_PASSWORD": "s3cret",
                "SSL_CERT_FILE": str(self.certificate)}


def test_an_e_mail_is_sent(team, tmp_path):
    before = team.timestamps["main/one"]
    with Mail(tmp_path) as mail:
        assert told(team, "email dumps@example.org a@example.org b@example.org", mail.env) == "told"
        [(sender, recipients, message)] = mail.messages
        assert (sender, recipients) == ("dumps@example.org", ["a@example.org", "b@example.org"])
        assert message["From"] == "dumps@example.org" and message["To"] == "a@example.org, b@example.org"
        assert message["Subject"] == "Remote Settings: 1 collection changed" and message["Date"] and message["Message-ID"]
        assert message.get_content().strip() == f"main/one: {before} -> {team.timestamps['main/one']}"
        for command, env in (
                ("email dumps@example.org a@example.net", {}), ("email dumps@example.org a@example.org b@example.net", {}),
                ("email dumps@example.org a@example.org", {"SMTP_PASSWORD": "another"}),
                ("email dumps@example.org a@example.org", {"SSL_CERT_FILE": "/dev/null"})):
            assert told(team, command, {**mail.env, **env}) == "pending", command


@pytest.mark.parametrize("name, arguments, env", [
    ("webhook", "{url}/publish", {}), ("slack", "", {"SLACK_WEBHOOK": "{url}/services/T0/B0/s3cret"})])
def test_on_change_messages_name_pull_request(tmp_path, name, arguments, env):
    """As run by rsdump nightly; see test_nightly."""
    change = {"timestamp": 2, "collections": ["main/a"], "changes": [{"collection": "main/a", "timestamp": 2}],
              "pull_request": "https://github.example/pull/1?a&b"}
    with Endpoint() as endpoint:
        command = f"{shlex.quote(str(ON_CHANGE / name))} {arguments.format(url=endpoint.url)}"
        subprocess.run(
            ["sh", "-c", command], input=json.dumps(change), text=True, check=True,
            env=rsdump.environment({key: value.format(url=endpoint.url) for key, value in env.items()}))
        [message] = endpoint.take()
    if name == "webhook":
        assert message.json() == {key: change[key] for key in ("timestamp", "collections", "pull_request")}
    else:
        assert message.json()["text"].endswith("main/a (https://github.example/pull/1?a&amp;b)")
