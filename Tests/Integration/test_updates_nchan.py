"""The update channel of a mirror: real nginx with Debian's nchan, set up by the nginx.conf of `export --updates`."""
import contextlib
import http.client
import json
import shutil
import stat
import subprocess
import time

import pytest
import requests

import nginx
import rsdump
import toolchain
from event_stream import EventStream
from mirror import Mirror
from watching import Watching

MODULE = "/usr/lib/nginx/modules/ngx_nchan_module.so"


class UpdatesMirror(Mirror):
    MODULES = f"load_module {MODULE};\n"

    def __init__(self, folder):
        super().__init__(folder)
        self.updates_port = nginx.free_port()
        self.publisher = f"http://127.0.0.1:{self.updates_port}/publish"

    def publish(self, dumps, *names, options=(), **how):
        outcome = super().publish(dumps, *names, options=["--updates", self.updates_port, *options], **how)
        assert outcome.code == rsdump.DONE, str(outcome)
        return outcome

    def listen(self, version="v1", **headers):
        return EventStream(f"{self.origin}/{version}/updates", **headers)

    def configuration(self, user):
        # Which server and location has answered is in the log.
        logged = f"log_format place '$server_port $uri'; access_log {self.folder}/places.log place;"
        return super().configuration(user).replace("access_log off;", logged)

    def places(self):
        return (self.folder / "places.log").read_text()

    def post(self, text, **options):
        return curl("--data", text, "--header", "X-EventSource-Event: update", *options.pop("with_", ()), self.publisher)


def curl(*arguments):
    """The status that curl prints."""
    command = [toolchain.curl(), "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--max-time", "30"]
    return int(subprocess.run([*command, *arguments], capture_output=True, text=True, check=False).stdout)


@pytest.fixture
def mirror(tmp_path):
    return UpdatesMirror(tmp_path / "nginx")


def test_subscribers_get_what_is_posted_and_newcomers_the_last(mirror, dumps):
    mirror.publish(dumps)
    with mirror, mirror.listen() as first:
        assert first.status == 200 and first.headers["Content-Type"].startswith("text/event-stream")
        assert first.headers["Cache-Control"] == "no-cache, no-transform"
        assert first.headers["X-Accel-Buffering"] == "no"
        assert mirror.post('{"timestamp":1}') == 201
        assert mirror.post('{"timestamp":2}') == 201
        assert [first.next().json() for _ in range(2)] == [{"timestamp": 1}, {"timestamp": 2}]
        # A newcomer gets the last one, and so does one who comes back with the id of a host whose clock is ahead.
        for version, headers in (("v1", {}), ("v2", {}), ("v2", {"Last_Event_ID": "4000000000:0"})):
            with mirror.listen(version, **headers) as late:
                event = late.next()
                assert (event.name, event.json()) == ("update", {"timestamp": 2})


@pytest.mark.parametrize("accept", ["text/event-stream", "*/*"])
def test_head_is_answered_like_get_without_a_stream(mirror, dumps, accept):
    """nchan itself would keep the connection and send nothing."""
    mirror.publish(dumps)
    headers = {"Accept": accept, "Accept-Encoding": "identity", "Cache-Control": "no-store"}
    with mirror:
        answer = requests.head(mirror.origin + "/v2/updates", headers=headers, timeout=10)
    assert answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/event-stream")
    assert answer.headers["Cache-Control"] == "no-cache, no-transform"


def test_many_may_come_before_there_is_an_event(mirror, dumps):
    """With `nchan_subscriber_first_message -1`, nchan 1.3.6 ends its worker here."""
    mirror.publish(dumps)
    with mirror, contextlib.ExitStack() as stack:
        streams = [stack.enter_context(mirror.listen()) for _ in range(50)]
        assert mirror.post('{"timestamp":1}') == 201
        assert [stream.next().json() for stream in streams] == 50 * [{"timestamp": 1}]
        assert "alert" not in (mirror.folder / "error.log").read_text()


def test_a_mirror_tells_its_subscribers_once_it_has_changed(mirror, dumps, sample):
    mirror.publish(dumps)
    with mirror:
        # nginx has nothing to say yet: it was not running when the first tree came.
        notify = ("--notify", mirror.publisher)
        assert mirror.publish(dumps, options=notify).json()["notifications"][0]["status"] == "unchanged"
        with mirror.listen() as first:
            change(sample, "main/regions", dumps.bundle("main/regions").records[0]["id"])
            assert dumps.refresh().code == rsdump.DONE
            told = mirror.publish(dumps, options=notify).json()["notifications"][0]
            assert told["status"] == "told" and told["collections"] == ["main/regions"]
            event = first.next()
            assert event.name == "update"
            assert event.json() == {"timestamp": told["timestamp"], "collections": ["main/regions"]}
            # The timestamp is that of the monitor that the mirror has by now.
            assert mirror.changeset("monitor/changes").json()["timestamp"] == told["timestamp"]
        with mirror.listen("v2") as late:
            assert late.next().json() == event.json()
        streamed = subprocess.run(
            [toolchain.curl(), "--silent", "--no-buffer", "--max-time", "1", "--header", "Accept: text/event-stream",
             f"{mirror.origin}/v1/updates"], capture_output=True, text=True, check=False).stdout
        assert "event: update\n" in streamed and f"data: {event.data}\n" in streamed
    # nginx is away: the mirror changes all the same, and who was not told is told by the next run.
    change(sample, "main/regions", dumps.bundle("main/regions").records[0]["id"])
    assert dumps.refresh().code == rsdump.DONE
    outcome = mirror.publish(dumps, options=notify)
    assert outcome.json()["notifications"][0]["status"] == "pending" and "warning:" in outcome.err
    assert (mirror.output / "notify.json").exists()
    with mirror:
        assert mirror.publish(dumps, options=notify).json()["notifications"][0]["status"] == "told"
        with mirror.listen() as late:
            assert late.next().json()["collections"] == ["main/regions"]
    assert not (mirror.output / "notify.json").exists()
    letters = mirror.folder / "letters"
    letters.mkdir()
    (letters / "letter.txt").write_text("dear")
    mirror.output = letters
    outcome = Mirror.publish(mirror, dumps, options=notify)
    assert outcome.code == rsdump.USAGE and [path.name for path in letters.iterdir()] == ["letter.txt"]


def test_a_directory_follows_the_mirror(mirror, dumps, sample, tmp_path):
    mirror.publish(dumps)
    copy = dumps.copy(tmp_path / "copy")
    with mirror, Watching(f"{mirror.origin}/v1", "--refresh", "--dumps", copy.path) as watching:
        # nginx has no event yet; what changed before the connection is found out all the same.
        assert watching.next("refreshed")["exitCode"] == 0
        change(sample, "main/regions", dumps.bundle("main/regions").records[0]["id"])
        assert dumps.refresh().code == rsdump.DONE
        mirror.publish(dumps, options=("--notify", mirror.publisher))
        assert watching.next("update")["collections"] == ["main/regions"]
        assert watching.next("refreshed")["changed"] == ["main/regions"]
        assert copy.bundle("main/regions").payload == dumps.bundle("main/regions").payload


def change(server, name, record):
    bucket, collection = name.split("/")
    url = f"{server.url}/buckets/{bucket}/collections/{collection}/records/{record}"
    answer = requests.delete(url, auth=("admin", "admin"), timeout=30)
    assert answer.status_code == 200, answer.text


def test_the_publisher_is_for_this_machine_only(mirror, dumps):
    mirror.publish(dumps)
    with mirror:
        assert mirror.post('{"timestamp":1}') == 202
        # All of 127/8 is this machine: another address stands for another machine.
        assert mirror.post('{"timestamp":2}', with_=("--interface", "127.0.0.2")) == 403
        assert mirror.post('{"timestamp":2}', with_=("--request", "DELETE")) == 405
        # Nor for the web pages that are open on it.
        for origin in ("null", "https://evil.example", mirror.origin, "http://127.0.0.1"):
            assert mirror.post('{"timestamp":2}', with_=("--header", f"Origin: {origin}")) == 403
        assert mirror.post('"' + 5000 * "x" + '"') == 413
        for path in ("/v1/updates", "/v2/updates", "/publish"):
            assert requests.post(mirror.origin + path, data="{}", timeout=30).status_code == 405, path
        for path in ("/", "/v1/updates", "/publish/"):
            assert requests.get(f"http://127.0.0.1:{mirror.updates_port}{path}", timeout=30).status_code == 404, path
        with mirror.listen() as stream:
            assert stream.next().json() == {"timestamp": 1}


def test_pages_of_other_sites_may_listen(mirror, dumps):
    mirror.publish(dumps)
    with mirror, mirror.listen(Origin="https://app.example") as stream:
        assert stream.headers.get_all("Access-Control-Allow-Origin") == ["*"]


def test_without_updates_the_configuration_has_no_channel(mirror, dumps):
    assert Mirror.publish(mirror, dumps).code == rsdump.DONE
    assert "nchan" not in (mirror.output / "nginx.conf").read_text()
    refused = rsdump.run("export", "--to", "firefox", "--dumps", dumps.path, "--output", mirror.folder, "--updates", "1")
    assert refused.code == rsdump.USAGE and "--updates" in refused.err


def test_who_can_read_nchan_does_so_and_all_others_take_a_hop(mirror, dumps):
    """The hop costs as much memory again, so that a fleet should not take it."""
    mirror.publish(dumps)
    plain = [
        {"Accept": "text/event-stream", "Sec-Fetch-Mode": "cors"},
        {"Accept": "text/event-stream, */*", "Sec-Fetch-Mode": "same-origin"},
        {"Accept": "text/event-stream", "Accept-Encoding": "identity", "Cache-Control": "no-store"},
    ]
    hopping = [
        {"Accept": "text/event-stream"}, {"Accept": "*/*", "Sec-Fetch-Mode": "cors"}, {"Sec-Fetch-Mode": "cors"}, {},
        {"Accept": "text/event-stream", "Accept-Encoding": "identity", "Cache-Control": "no-cache"},
    ]
    with mirror:
        assert mirror.post('{"timestamp":1}') == 202
        for headers in plain + hopping:
            connection = http.client.HTTPConnection("127.0.0.1", mirror.port, timeout=30)
            with contextlib.closing(connection):
                connection.putrequest("GET", "/v1/updates", skip_accept_encoding=True)
                for name, value in headers.items():
                    connection.putheader(name, value)
                connection.endheaders()
                answer = connection.getresponse()
                assert answer.status == 200 and (answer.headers["Transfer-Encoding"] is None) == (headers in plain), headers
                while not answer.readline().startswith(b"data:"):
                    pass
        with Watching(f"{mirror.origin}/v1") as watching:
            assert watching.next("update")["timestamp"] == 1
    assert mirror.places().count(f"{mirror.updates_port} /updates") == len(hopping)


def test_a_mirror_below_a_path_with_any_characters(mirror, dumps, tmp_path):
    mirror.origin += "/a.b+c~d/(e)%20f%22"
    mirror.publish(dumps)
    paths = [each["path"] for each in json.loads((mirror.output / "current/objects.json").read_text())]
    assert any("/chains/" in path for path in paths) and any("/attachments/" in path for path in paths)
    with mirror:
        assert mirror.post('{"timestamp":1}') == 202
        with mirror.listen() as stream:
            assert stream.next().json() == {"timestamp": 1}
        server = f"http://127.0.0.1:{mirror.port}"
        for path in paths:
            if "/since/" not in path:
                assert requests.get(server + path, timeout=30).status_code == 200, path
        # A dot in the path is that dot, and nothing else.
        assert requests.get(f"{server}/axb+c~d/(e)%20f%22/v1/", timeout=30).status_code == 404
    told = mirror.publish(dumps, options=("--notify", "http://127.0.0.1:1/publish")).json()["notifications"]
    assert told[0]["status"] == "unchanged"


def test_a_path_that_cannot_be_a_folder_is_refused(mirror, dumps):
    for path in (".well-known", "a%2F%2Fb", "a%ff"):
        outcome = Mirror.publish(mirror, dumps, url=f"{mirror.origin}/{path}")
        assert outcome.code == rsdump.USAGE and "--url" in outcome.err, str(outcome)
    assert not mirror.output.exists()


# Several hosts.

class Redis:
    """A server without memory of what was before; it ends with the `with` block."""

    def __init__(self, folder, port, password=None):
        self.folder, self.port, self.password = folder, port, password

    def __enter__(self):
        self.folder.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [shutil.which("redis-server"), "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
             *(("--requirepass", self.password) if self.password else ())],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=open(self.folder / "redis.log", "ab"))
        while not nginx.socket.socket().connect_ex(("127.0.0.1", self.port)) == 0:
            assert self.process.poll() is None, (self.folder / "redis.log").read_text()
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Host(UpdatesMirror):
    """One of several hosts of a mirror: here they differ by the port that they listen on."""

    def publish(self, dumps, redis, url, **how):
        password = f":{redis.password}@" if redis.password else ""
        outcome = super().publish(
            dumps, url=url, options=("--updates-redis", f"redis://{password}127.0.0.1:{redis.port}"), **how)
        configuration = self.output / "nginx.conf"
        assert configuration.read_text().count("    listen 80;") == 1
        configuration.write_text(configuration.read_text().replace("    listen 80;", f"    listen 127.0.0.1:{self.port};"))
        return outcome

    def newcomer_hears(self, timestamp):
        """As a client that comes back: until nginx has found Redis, a stream ends at once and says when to try again, or has the
        event that this host remembers."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with self.listen(Sec_Fetch_Mode="cors") as stream:
                assert stream.status == 200
                event = next(iter(stream), None)
                if event is None:
                    assert stream.retry is not None
                elif event.json() == {"timestamp": timestamp}:
                    return True
            time.sleep(0.1)
        return False

    def told(self, timestamp):
        """Posts an event until nginx takes it: it connects to a Redis that has come back within some seconds."""
        deadline = time.monotonic() + 30
        while (status := self.post(f'{{"timestamp":{timestamp}}}')) not in (201, 202):
            assert time.monotonic() < deadline, (status, (self.folder / "error.log").read_text()[-2000:])
            time.sleep(0.1)


def test_hosts_share_the_channel_by_redis(dumps, tmp_path):
    one, two, stranger = (Host(tmp_path / name) for name in ("one", "two", "stranger"))
    redis = Redis(tmp_path / "redis", nginx.free_port(), password="s3cret")
    for host in (one, two):
        host.publish(dumps, redis, "http://settings.example.org")
    stranger.publish(dumps, redis, "http://other.example.org")
    with redis, one, two, stranger:
        for host in (one, two, stranger):
            host.told(0)
        with one.listen() as at_one, two.listen("v2") as at_two, stranger.listen() as elsewhere:
            for stream in (at_one, at_two, elsewhere):
                assert stream.next().json() == {"timestamp": 0}
            one.told(1)
            assert at_one.next().json() == at_two.next().json() == {"timestamp": 1}
            two.told(2)
            assert at_one.next().json() == at_two.next().json() == {"timestamp": 2}
            # Another mirror on the same Redis hears its own events alone.
            stranger.told(3)
            assert elsewhere.next().json() == {"timestamp": 3}
        # A host that was down has the last event for its newcomers.
        two.__exit__()
        one.told(4)
        two.__enter__()
        assert two.newcomer_hears(4)
        # While Redis is away, no browser is turned away for good.
        redis.__exit__()
        for _ in range(3):
            with one.listen(Sec_Fetch_Mode="cors") as stream:
                assert stream.status == 200
        redis.__enter__()
        # Each host takes events again in its own time. nchan 1.3.6 may have lost its subscription (nchan's issue 442), so the article
        # asks for a restart.
        for host in (one, two):
            host.told(5)
            host.__exit__()
            host.__enter__()
        one.told(6)
        assert one.newcomer_hears(6) and two.newcomer_hears(6)
        for host in (one, two):
            assert "alert" not in (host.folder / "error.log").read_text()


def test_what_nginx_needs_for_redis_is_said_once_and_kept_secret(mirror, dumps):
    redis = ("--updates-redis", "redis://:s3cret@127.0.0.1:1/2")
    outcome = mirror.publish(dumps, options=redis)
    configuration = mirror.output / "nginx.conf"
    text = configuration.read_text()
    assert text.count('nchan_redis_server "redis://:s3cret@127.0.0.1:1/2";') == 1
    # The publisher and the second hop, which all readers take.
    assert text.count("nchan_redis_pass ") == 2
    assert stat.S_IMODE(configuration.stat().st_mode) == 0o600 and "s3cret" not in outcome.out + outcome.err
    configuration.chmod(0o644)
    before = configuration.stat().st_ino
    mirror.publish(dumps, options=redis)
    assert stat.S_IMODE(configuration.stat().st_mode) == 0o600 and configuration.stat().st_ino != before
    before = configuration.stat().st_ino
    mirror.publish(dumps, options=redis)
    assert configuration.stat().st_ino == before
    mirror.publish(dumps)
    assert "redis" not in configuration.read_text() and configuration.stat().st_mode & 0o044
    for url in ("redis://:p;s3cret@x", "http://s3cret", "", "redis://h\";include /etc/passwd"):
        refused = Mirror.publish(mirror, dumps, options=("--updates", 1, "--updates-redis", url))
        assert refused.code == rsdump.USAGE and "--updates-redis" in refused.err and "s3cret" not in refused.err
    refused = Mirror.publish(mirror, dumps, options=redis)
    assert refused.code == rsdump.USAGE and "--updates" in refused.err


def test_the_channel_is_that_of_the_address_and_not_of_the_port(dumps, tmp_path):
    """nginx would tell the clients of one mirror what is posted for another one on the same port of another host."""
    names = set()
    for url in ("http://a.example", "http://b.example", "http://a.example/b"):
        mirror = UpdatesMirror(tmp_path / "mirror")
        mirror.updates_port = 8889
        shutil.rmtree(mirror.output, ignore_errors=True)
        mirror.publish(dumps, url=url)
        found = {line.strip() for line in (mirror.output / "nginx.conf").read_text().splitlines() if "channel_group" in line}
        assert len(found) == 1
        names |= found
    assert len(names) == 3
