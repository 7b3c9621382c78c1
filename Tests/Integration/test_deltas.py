"""Changed attachments as deltas to those that are held (RFC 9842), from a server after Mozilla's and from nginx."""
import base64
import gzip
import hashlib
import json
import random
import shutil

import pytest
import zstandard

import dictionaries
import rsdump
from crawl import Crawl
from test_library_commands import App

NAME, BUCKET, COLLECTION = "main/lists", "main-workspace", "lists"
START = 1_760_000_000_000


def lines(version, count=20_000):
    """A filter list, of which each version changes one line of two hundred."""
    numbers = random.Random(1)
    each = [f"||{numbers.getrandbits(40):010x}.example^$third-party,domain={numbers.getrandbits(24):06x}.test" for _ in range(count)]
    for number in range(1, version):
        changes = random.Random(number)
        for _ in range(count // 200):
            each[changes.randrange(count)] = f"||{changes.getrandbits(48):012x}.example^$script"
    return "\n".join(each).encode()


class Origin:
    """The sample server's answers as files, with a collection of one record whose attachment changes."""

    def __init__(self, sample, folder):
        self.sample, self.folder = sample, folder
        self.files = folder / "files"
        self.attachments = self.files / "v1/attachments"
        # Another test's versions.
        shutil.rmtree(sample.data / "attachments" / BUCKET / COLLECTION, ignore_errors=True)

    def publish(self, version, content=None, builds=True):
        content = content or lines(version)
        name = f"202611{version:02}000000--list--easy list.txt".replace(" ", "-")
        attachment = {
            "filename": "list.txt", "hash": hashlib.sha256(content).hexdigest(), "size": len(content),
            "location": f"{BUCKET}/{COLLECTION}/{name}", "mimetype": "text/plain"}
        dump = self.folder / "dump/main"
        (dump / COLLECTION).mkdir(parents=True, exist_ok=True)
        (dump / COLLECTION / "list").write_bytes(content)
        record = {"id": "list", "last_modified": START + version, "attachment": attachment}
        (dump / f"{COLLECTION}.json").write_text(json.dumps({
            "timestamp": START + version, "data": [record], "metadata": {"flags": ["compression-dictionaries"]}}))
        self.sample.load((self.folder / "dump").resolve())
        Crawl(self.sample.url, self.sample.data / "attachments", self.files / "v1", "/v1").run()
        if builds:
            dictionaries.build(self.attachments, BUCKET, COLLECTION)
        return content


@pytest.fixture
def origin(sample, tmp_path):
    return Origin(sample, tmp_path)


@pytest.fixture(params=["server", "nginx"])
def served(request, origin):
    edge = dictionaries.Edge(origin.files) if request.param == "server" else dictionaries.EdgeNginx(origin.folder)
    origin.publish(1)
    with edge:
        yield edge


@pytest.fixture
def edge(origin):
    origin.publish(1)
    with dictionaries.Edge(origin.files) as edge:
        yield edge


def downloads(edge):
    log = edge.log if isinstance(edge.log, list) else edge.requests()
    return [each for each in log if f"/{COLLECTION}/2026" in each["path"]]


def refreshed(dumps):
    outcome = dumps.refresh("--format", "json")
    assert outcome.code == rsdump.DONE, str(outcome)
    return next(each for each in json.loads(outcome.out)["collections"] if each["collection"] == NAME)["attachments"]


def packaged(dumps):
    content, = dumps.bundle(NAME).attachments.values()
    return content


@pytest.fixture
def held(origin, edge, sample, empty):
    """Dumps with the first version, and a server that has the second."""
    assert empty.add(sample, NAME, url=edge.url).code == rsdump.DONE
    refreshed(empty)
    edge.log.clear()
    return empty


def test_a_refresh_takes_deltas(origin, served, sample, empty):
    assert empty.add(sample, NAME, url=served.url).code == rsdump.DONE
    assert refreshed(empty)["savedBytes"] == 0
    for version in (2, 3):
        content = origin.publish(version)
        counts = refreshed(empty)
        assert packaged(empty) == content
        sent = downloads(served)[-1]["bytes"]
        assert counts["savedBytes"] == len(content) - sent and sent < 0.07 * len(gzip.compress(content)) + 20_000
        assert counts["downloadedBytes"] == len(content)
    assert len(downloads(served)) == 3
    assert empty.verify().code == rsdump.DONE


def test_without_a_pair_the_whole_file_comes_at_once(origin, served, sample, empty):
    assert empty.add(sample, NAME, url=served.url).code == rsdump.DONE
    refreshed(empty)
    content = origin.publish(2, builds=False)
    assert refreshed(empty)["savedBytes"] == 0 and packaged(empty) == content
    assert len(downloads(served)) == 2 and downloads(served)[-1]["bytes"] == len(content)


def test_a_sync_takes_deltas(origin, served, sample, empty, tmp_path):
    assert empty.add(sample, NAME, url=served.url).code == rsdump.DONE
    refreshed(empty)
    content = origin.publish(2)
    app = App(tmp_path / "storage", "--packaged", empty.path)
    assert app.sync(NAME).code == rsdump.DONE
    outcome = app.get(NAME, "--attachment", "list", "--output", tmp_path / "list")
    assert outcome.code == rsdump.DONE, str(outcome)
    assert (tmp_path / "list").read_bytes() == content
    assert downloads(served)[-1]["bytes"] < len(content) / 5
    # And from what was stored, to the next.
    content = origin.publish(3)
    assert app.sync(NAME).code == rsdump.DONE
    assert app.get(NAME, "--attachment", "list", "--output", tmp_path / "next").code == rsdump.DONE
    assert (tmp_path / "next").read_bytes() == content
    assert downloads(served)[-1]["bytes"] < len(content) / 5 and len(downloads(served)) == 3


def test_the_request_names_what_is_held(origin, edge, held):
    origin.publish(2)
    refreshed(held)
    headers, = (each["headers"] for each in downloads(edge))
    digest = hashlib.sha256(lines(1)).digest()
    assert headers["Available-Dictionary"] == f":{base64.b64encode(digest).decode()}:"
    assert headers["Dictionary-ID"] == '"20261101000000--list--easy-list.txt"'
    assert headers["Accept-Encoding"] == "dcz, identity" and "Range" not in headers


def bomb(old, times):
    """A thousand million zeros in some kilobytes."""
    frame = zstandard.ZstdCompressor(level=3, write_content_size=False).compress(bytes(times))
    return dictionaries.MAGIC + hashlib.sha256(old).digest() + frame


OLD, NEW = lines(1), lines(2)
WINDOW = zstandard.ZstdCompressionParameters(window_log=28)
WRONG = {
    "another dictionary": lambda body: dictionaries.delta(OLD + b"x", NEW),
    "the hash of another dictionary": lambda body: body[:8] + bytes(32) + body[40:],
    "no head": lambda body: body[40:],
    "nothing": lambda body: b"",
    "only a head": lambda body: body[:40],
    "cut": lambda body: body[:-1],
    "more behind it": lambda body: body + b"x",
    "twice": lambda body: body + body[40:],
    "another file": lambda body: dictionaries.delta(OLD, NEW[:-1] + b"?"),
    "a shorter file": lambda body: dictionaries.delta(OLD, NEW[:-1]),
    "a longer file": lambda body: dictionaries.delta(OLD, NEW + b"?"),
    "a window of 256 MiB": lambda body: dictionaries.delta(OLD, NEW, compression_params=WINDOW),
    "a bomb": lambda body: bomb(OLD, 1 << 28),
    "gzip": gzip.compress,
    "the file itself": lambda body: NEW,
}


@pytest.mark.parametrize("wrong", WRONG)
def test_after_a_wrong_delta_the_whole_file_is_asked_for_once(origin, edge, held, wrong):
    content = origin.publish(2)
    edge.mangle = lambda status, headers, body: (status, headers, WRONG[wrong](body))
    assert refreshed(held)["savedBytes"] == 0
    assert packaged(held) == content
    first, second = downloads(edge)
    assert "Dictionary-ID" in first["headers"] and second["headers"]["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("status, headers", [
    (404, {}), (406, {}), (200, {"Content-Length": "1000000"}), (200, {"Content-Encoding": "dcz, gzip"}),
    (206, {"Content-Range": "bytes 0-9/10"}),
], ids=str)
def test_after_a_wrong_answer_the_whole_file_is_asked_for_once(origin, edge, held, status, headers):
    content = origin.publish(2)
    edge.mangle = lambda _, before, body: (status, before | headers, body)
    assert refreshed(held)["savedBytes"] == 0 and packaged(held) == content
    assert len(downloads(edge)) == 2


def test_any_byte_flipped_and_any_length_cut(origin, edge, held):
    content = origin.publish(2)
    whole = dictionaries.delta(OLD, NEW)
    copies = random.Random(3).sample(range(len(whole)), 12)
    for number, place in enumerate([*range(0, 60, 9), *copies]):
        mangled = whole[:place] if number % 2 else whole[:place] + bytes([whole[place] ^ (1 << number % 8)]) + whole[place + 1:]
        edge.mangle = lambda status, headers, _, mangled=mangled: (status, headers, mangled)
        copy = held.copy(held.path.parent / f"copy{number}")
        edge.log.clear()
        refreshed(copy)
        assert packaged(copy) == content and len(downloads(edge)) <= 2, (number, place)


def test_an_interrupted_download_resumes_without_a_delta(origin, edge, held):
    content = origin.publish(2)
    staged = held.path / ".rsdump/staging/main.lists"
    staged.mkdir(parents=True)
    (staged / hashlib.sha256(content).hexdigest()).write_bytes(content[:1000])
    refreshed(held)
    assert packaged(held) == content
    request, = downloads(edge)
    assert request["headers"]["Range"] == "bytes=1000-" and "Dictionary-ID" not in request["headers"]
