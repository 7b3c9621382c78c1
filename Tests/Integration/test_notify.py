"""`--notify`: who is told of a change, when, with what, and what happens where he cannot be told."""
import base64
import hashlib
import json
import socket
import subprocess
import sys
import threading
import urllib.parse

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

import nginx
import rsdump
from dumps import Dumps
from endpoint import Endpoint
from serve import Serving
from trusting import self_signed, trusting

def test_the_event_is_posted_once_the_new_state_is_in_place(team):
    seen = []
    with Endpoint(on_message=lambda _: seen.append(team.timestamps)) as endpoint:
        assert team.publish("--notify", endpoint.url + "/publish").json()["notifications"][0]["status"] == "unchanged"
        assert not endpoint.take()
        team.change("two")
        outcome = team.publish("--notify", endpoint.url + "/publish", "--notify", endpoint.url + "/other")
        assert {told["status"] for told in outcome.json()["notifications"]} == {"told"}
        messages = endpoint.take()
        assert sorted(message.path for message in messages) == ["/other", "/publish"]
        for message, state in zip(messages, seen):
            assert state == team.timestamps
            assert message.json() == {"timestamp": team.timestamps["main/two"], "collections": ["main/two"]}
            assert message.headers["content-type"] == "application/json"
            assert message.headers["x-eventsource-event"] == "update"
        assert team.publish("--notify", endpoint.url + "/publish").json()["notifications"][0]["status"] == "unchanged"
        assert not endpoint.take()
    assert not (team.dumps.path / ".rsdump").exists()


def test_what_could_not_be_delivered_is_sent_by_the_next_run(team):
    with Endpoint(status=500) as endpoint:
        team.change("one")
        outcome = team.publish("--notify", endpoint.url)
        [told] = outcome.json()["notifications"]
        assert told["status"] == "pending" and "500" in told["error"] and "warning:" in outcome.err
        assert len(endpoint.take()) == 3 and team.kept.exists()
        # A run that tells somebody else leaves it as it is.
        team.change("two")
        endpoint.status = 204
        team.publish("--notify", endpoint.url + "/else")
        [message] = endpoint.take()
        assert message.json()["collections"] == ["main/two"] and team.kept.exists()
        # The next one tells everything that was missed, though it changes nothing itself.
        team.publish("--notify", endpoint.url)
        [message] = endpoint.take()
        assert message.json() == {
            "timestamp": max(team.timestamps.values()), "collections": ["main/one", "main/two"]}
        team.publish("--notify", endpoint.url)
        assert not endpoint.take()
    assert not (team.dumps.path / ".rsdump").exists()


def test_what_was_not_delivered_is_not_forgotten_where_it_cannot_be_read(team):
    team.publish()
    with Endpoint(status=500) as endpoint:
        team.change("one")
        team.publish("--notify", endpoint.url)
        kept = team.kept.read_bytes()
        # The system refuses to open a link to itself.
        team.kept.unlink()
        team.kept.symlink_to(team.kept)
        outcome = rsdump.run(*team.arguments("--notify", endpoint.url))
        assert outcome.code == rsdump.TRY_AGAIN and str(team.kept) in outcome.err and team.kept.is_symlink()
        team.kept.unlink()
        team.kept.write_bytes(kept)
        endpoint.take()
        endpoint.status = 204
        team.publish("--notify", endpoint.url)
        [message] = endpoint.take()
        assert message.json()["collections"] == ["main/one"]


def test_a_run_that_is_killed_while_it_tells_is_made_up_for(team):
    arrived, go_on = threading.Event(), threading.Event()

    def hold(_):
        arrived.set()
        go_on.wait(60)

    team.change("one")
    with Endpoint(on_message=hold) as endpoint:
        killed = rsdump.start(*team.arguments("--notify", endpoint.url))
        assert arrived.wait(60)
        killed.kill()
        killed.wait()
        go_on.set()
        assert team.kept.exists() and endpoint.take()
        team.publish("--notify", endpoint.url)
        [message] = endpoint.take()
        assert message.json()["collections"] == ["main/one"]
    assert not (team.dumps.path / ".rsdump").exists()


def test_nothing_answers_and_who_is_gone(team):
    port = nginx.free_port()
    team.change("one")
    outcome = team.publish("--notify", f"http://127.0.0.1:{port}")
    assert outcome.json()["notifications"][0]["status"] == "pending" and "warning:" in outcome.err
    with Endpoint(status=410) as endpoint:
        team.change("one")
        assert team.publish("--notify", endpoint.url).json()["notifications"][0]["status"] == "gone"
        assert len(endpoint.take()) == 1
        team.publish("--notify", endpoint.url)
        assert not endpoint.take()


@pytest.mark.parametrize("options, word", [
    (["--notify", "ftp://127.0.0.1/x"], "ftp"), (["--notify", "file:///etc/passwd"], "file"),
    (["--notify", "http://user:secret@127.0.0.1/"], "password"),
    (["--notify", "https://127.0.0.1/", "--notify-format", "fcm"], "topic"),
    (["--notify", "https://127.0.0.1/", "--notify-topic", "x"], "topic"),
    (["--notify-format", "apns"], "--notify"), (["--notify", "nobody"], "dumps.yaml"),
    (["--notify", "http://192.0.2.1/", "--notify-headers-from-env", "TOKEN"], "https"),
    (["--notify", "http://127.0.0.1/", "--notify-headers-from-env", "ABSENT"], "ABSENT"),
    (["--notify", "http://127.0.0.1/", "--notify-headers-from-env", "HALF"], "HALF"),
    (["--notify", "http://127.0.0.1/", "--notify-headers-from-env", "HOST"], "Host"),
    (["--notify", "http://127.0.0.1/", "--dry-run"], "--dry-run"),
])
def test_what_makes_no_sense_is_refused_before_anything_changes(team, options, word):
    team.change("one")
    before = team.dumps.stats()
    env = {"TOKEN": "Authorization: Bearer secret", "HALF": "secret", "HOST": "Host: elsewhere"}
    outcome = rsdump.run(*[each for each in team.arguments() if each not in ("--format", "json")], *options, env=env)
    assert outcome.code == rsdump.USAGE and word in outcome.err and "Bearer" not in str(outcome), str(outcome)
    assert team.dumps.stats() == before


def test_a_target_has_a_name_in_dumps_yaml_and_credentials_in_the_environment(team):
    with Endpoint() as endpoint:
        text = team.dumps.config.read_text()
        team.dumps.config.write_text(
            f"{text}\nnotify:\n  nginx: {endpoint.url}/publish\n  phones:\n    url: {endpoint.url}/v1/projects/p/messages:send\n"
            "    format: fcm\n    topic: PUSH_RC\n    headers-from-env: RSDUMP_NOTIFY_PHONES\n")
        team.change("one")
        env = {"RSDUMP_NOTIFY_PHONES": "Authorization: Bearer secret\nX-Goog-User-Project: p"}
        outcome = team.publish("--notify", "nginx", "--notify", "phones", env=env)
        assert "secret" not in str(outcome)
        messages = {message.path: message for message in endpoint.take()}
        assert "authorization" not in messages["/publish"].headers
        phones = messages["/v1/projects/p/messages:send"]
        assert phones.headers["authorization"] == "Bearer secret" and phones.headers["x-goog-user-project"] == "p"
        check_fcm(phones, team)
        team.dumps.config.write_text(f"{text}\nnotify:\n  phones:\n    url: ftp://127.0.0.1/\n")
        outcome = rsdump.run(*team.arguments("--notify", "phones"))
        assert outcome.code == rsdump.USAGE and "dumps.yaml:" in outcome.err


@pytest.mark.parametrize("variable", ["AWS_SECRET_ACCESS_KEY", "RSDUMP_ROOT_KEY", "rsdump_notify_x"])
def test_dumps_yaml_reads_no_other_secret(team, variable):
    """Whoever can propose a change to dumps.yaml must not get what else the job knows."""
    with Endpoint() as endpoint:
        text = team.dumps.config.read_text()
        team.dumps.config.write_text(
            f"{text}\nnotify:\n  x:\n    url: {endpoint.url}/x\n    headers-from-env: {variable}\n")
        team.change("one")
        outcome = rsdump.run(*team.arguments("--notify", "x"), env={variable: "X: secret"})
        assert outcome.code == rsdump.USAGE and outcome.says("RSDUMP_NOTIFY_", variable), str(outcome)
        assert not endpoint.take() and "secret" not in str(outcome)


def test_secrets_are_neither_printed_nor_kept(team):
    """The path of a webhook is one, and so are the headers, which a target may send back in its answer."""
    with Endpoint(status=500) as endpoint:
        endpoint.body = b"you sent Authorization: Bearer t0ken"
        team.change("one")
        url = f"{endpoint.url}/hooks/s3cret?key=s3cret"
        outcome = team.publish("--notify", url, "--notify-headers-from-env", "H", env={"H": "Authorization: Bearer t0ken"})
        assert endpoint.take()[0].headers["authorization"] == "Bearer t0ken"
        kept = team.kept.read_text()
        digest = hashlib.sha256(url.encode()).hexdigest()[:12]
        [told] = outcome.json()["notifications"]
        assert told["target"] == f"{endpoint.url} (sha256 {digest})" and digest in kept
        for text in (outcome.out, outcome.err, kept):
            assert "s3cret" not in text and "t0ken" not in text, str(outcome)
        assert team.kept.stat().st_mode & 0o777 == 0o600
        endpoint.status, endpoint.body = 204, b""
        told = team.publish("--notify", url, "--notify-headers-from-env", "H", env={"H": "X: t0ken"})
        assert told.json()["notifications"][0]["status"] == "told" and "s3cret" not in str(told.out + told.err)


def test_a_target_that_drips_its_answer_keeps_nobody_waiting(team):
    """It was asked, and it has said its status: what else it has to say takes ever so long."""
    go_on = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def drip():
            connection, _ = listener.accept()
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            try:
                while not go_on.wait(0.2):
                    connection.sendall(b"x")
            except OSError:
                pass

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        team.change("one")
        outcome = team.publish("--notify", f"http://127.0.0.1:{listener.getsockname()[1]}/")
        assert outcome.json()["notifications"][0]["status"] == "told"
        go_on.set()
        thread.join()


def check_fcm(message, team):
    """The shape that FCM's documentation demands of a data message to a topic that reaches iOS too."""
    assert len(message.body) <= 4096 and message.headers["content-type"] == "application/json"
    timestamp = str(max(team.timestamps.values()))
    assert message.json() == {"message": {
        "topic": "PUSH_RC", "data": {"CONFIG_STATE": "STALE", "timestamp": timestamp},
        "apns": {"headers": {"apns-push-type": "background", "apns-priority": "5"},
                 "payload": {"aps": {"content-available": 1}}}}}


class TLS(nginx.Nginx):
    """HTTP/2 over TLS in front of an endpoint, as Apple's push service has it."""

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


def test_apns_gets_background_notifications_by_http_2(team, tmp_path):
    device = "0123456789abcdef" * 4
    with Endpoint(status=200) as endpoint, TLS(tmp_path / "tls", endpoint) as tls:
        team.change("one")
        options = ("--notify", f"{tls.url}/3/device/{device}", "--notify-format", "apns", "--notify-topic",
                   "org.example.app", "--notify-headers-from-env", "APNS")
        # Untrusted first: nobody is told over a connection that anybody could have answered.
        refused = team.publish(*options, env={"APNS": "authorization: bearer secret"})
        assert refused.json()["notifications"][0]["status"] == "pending" and not endpoint.take()
        ran = trusting(
            tls.certificate, [rsdump.BINARY, *team.arguments(*options)], {"APNS": "authorization: bearer secret"})
        assert ran.returncode == 0 and json.loads(ran.stdout)["notifications"][0]["status"] == "told", ran
        [message] = endpoint.take()
    assert message.path == f"/3/device/{device}" and message.headers["x-protocol"] == "HTTP/2.0"
    assert message.headers["authorization"] == "bearer secret"
    check_apns(message, team)


def check_apns(message, team):
    """The shape that Apple's documentation demands of a background notification."""
    assert len(message.body) <= 4096
    assert message.headers["apns-push-type"] == "background" and message.headers["apns-priority"] == "5"
    assert message.headers["apns-topic"] == "org.example.app"
    payload = message.json()
    assert payload["aps"] == {"content-available": 1}
    assert payload["CONFIG_STATE"] == "STALE" and payload["timestamp"] == str(max(team.timestamps.values()))


PUSH_HEADERS = rsdump.REPOSITORY / "Examples/push/push-headers"


def parts(text):
    """A JSON Web Token's header, claims, signed text and signature."""
    token = text.removeprefix("Authorization: Bearer ").strip()
    header, claims, signature = (base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split("."))
    return json.loads(header), json.loads(claims), token.rpartition(".")[0].encode(), signature


def pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()


def push_headers(*arguments, **env):
    ran = subprocess.run(
        [sys.executable, "-I", PUSH_HEADERS, *arguments], capture_output=True, text=True, check=True,
        env=rsdump.environment(env))
    assert ran.stdout.startswith("Authorization: Bearer ") and not ran.stderr
    return ran.stdout


def test_the_example_makes_apples_token(tmp_path):
    key = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "key.p8").write_text(pem(key))
    # Numbers of an ECDSA signature may begin with zeros: some tries.
    for _ in range(8):
        header, claims, text, signature = parts(push_headers("apns", tmp_path / "key.p8", "KEY", "TEAM"))
        assert header == {"alg": "ES256", "kid": "KEY"} and claims["iss"] == "TEAM" and set(claims) == {"iss", "iat"}
        assert len(signature) == 64
        r, s = (int.from_bytes(half) for half in (signature[:32], signature[32:]))
        key.public_key().verify(encode_dss_signature(r, s), text, ec.ECDSA(hashes.SHA256()))


def test_the_example_exchanges_googles_token_and_the_message_goes_out(team, tmp_path):
    key = rsa.generate_private_key(65537, 2048)
    account = {"client_email": "push@p.iam.example", "private_key_id": "1", "private_key": pem(key)}
    (tmp_path / "account.json").write_text(json.dumps(account))
    with Endpoint(status=200) as endpoint:
        endpoint.body = b'{"access_token":"ya29.token","expires_in":3599}'
        url = f"{endpoint.url}/token"
        line = push_headers("fcm", tmp_path / "account.json", FCM_TOKEN_URL=url).strip()
        assert line == "Authorization: Bearer ya29.token"
        [asked] = endpoint.take()
        form = dict(urllib.parse.parse_qsl(asked.body.decode()))
        assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
        header, claims, text, signature = parts(form["assertion"])
        assert header["alg"] == "RS256" and claims["exp"] - claims["iat"] == 3600
        assert (claims["iss"], claims["aud"]) == ("push@p.iam.example", url)
        key.public_key().verify(signature, text, padding.PKCS1v15(), hashes.SHA256())
        team.change("one")
        team.publish(
            "--notify", f"{endpoint.url}/v1/projects/p/messages:send", "--notify-format", "fcm", "--notify-topic",
            "PUSH_RC", "--notify-headers-from-env", "PUSH_HEADERS", env={"PUSH_HEADERS": line})
        [message] = endpoint.take()
        assert message.headers["authorization"] == "Bearer ya29.token"
        check_fcm(message, team)


def test_an_event_that_is_too_long_leaves_the_collections_out(team):
    for number in range(300):
        team.values[f"collection-{number}"] = 1
    with Endpoint() as endpoint:
        outcome = team.publish("--notify", endpoint.url)
        [message] = endpoint.take()
    assert len(outcome.json()["notifications"][0]["collections"]) == 300
    assert message.json() == {"timestamp": max(team.timestamps.values())} and len(message.body) <= 4096


def test_a_refresh_tells_what_it_brought(tmp_path):
    with Endpoint() as endpoint:
        with Serving("--demo") as server:
            dumps = Dumps(tmp_path / "dumps")
            assert dumps.add(None, "main/settings", "main/regions", url=f"{server.url}/v2", root=server.root).code == 0
            outcome = dumps.refresh("--notify", endpoint.url)
            assert outcome.code == rsdump.DONE and "told that 2 collections changed" in outcome.out, str(outcome)
            assert endpoint.take()[0].json()["collections"] == ["main/regions", "main/settings"]
            assert server.ask("/demo/publish", method="POST").status == 200
            endpoint.status = 503
            assert dumps.refresh("--notify", endpoint.url).code == rsdump.DONE
            assert len(endpoint.take()) == 3
        # The server has gone; what the target missed is told all the same.
        endpoint.status = 204
        assert dumps.refresh("--notify", endpoint.url).code == rsdump.UNREACHABLE
        assert endpoint.take()[0].json()["collections"] == ["main/regions", "main/settings"]
