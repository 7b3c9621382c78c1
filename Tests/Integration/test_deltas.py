"""Changed attachments as deltas to stored ones (RFC 9842), from a server that works like Mozilla's."""
import base64
import gzip
import hashlib
import json
import random
import shutil
import time

import pytest
import zstandard

import dictionaries
import rsdump
from browser import Browser
from crawl import Crawl
from git import GitTree
from mirror import Mirror
from serve import Serving
from test_library_commands import App

NAME, BUCKET, COLLECTION = "main/lists", "main-workspace", "lists"
START = 1_760_000_000_000


def lines(version, count=20_000):
    """A filter list; each version changes one line in 200."""
    numbers = random.Random(1)
    each = [f"||{numbers.getrandbits(40):010x}.example^$third-party,domain={numbers.getrandbits(24):06x}.test" for _ in range(count)]
    for number in range(1, version):
        changes = random.Random(number)
        for _ in range(count // 200):
            each[changes.randrange(count)] = f"||{changes.getrandbits(48):012x}.example^$script"
    return "\n".join(each).encode()


class Origin:
    """The sample server's responses as files, with a collection of one record whose attachment changes."""

    def __init__(self, sample, folder):
        self.sample, self.folder = sample, folder
        self.files = folder / "files"
        self.attachments = self.files / "v1/attachments"
        # Remove versions from other tests.
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
    """Dumps with the first version, before the server publishes the second one."""
    assert empty.add(sample, NAME, url=edge.url).code == rsdump.DONE
    refreshed(empty)
    edge.log.clear()
    return empty


def test_a_refresh_takes_deltas(origin, edge, sample, empty):
    assert empty.add(sample, NAME, url=edge.url).code == rsdump.DONE
    assert refreshed(empty)["savedBytes"] == 0
    for version in (2, 3):
        content = origin.publish(version)
        counts = refreshed(empty)
        assert packaged(empty) == content
        sent = downloads(edge)[-1]["bytes"]
        assert counts["savedBytes"] == len(content) - sent and sent < 0.07 * len(gzip.compress(content)) + 20_000
        assert counts["downloadedBytes"] == len(content)
    assert len(downloads(edge)) == 3
    assert empty.verify().code == rsdump.DONE


def test_missing_delta_downloads_whole_file(origin, edge, sample, empty):
    assert empty.add(sample, NAME, url=edge.url).code == rsdump.DONE
    refreshed(empty)
    content = origin.publish(2, builds=False)
    assert refreshed(empty)["savedBytes"] == 0 and packaged(empty) == content
    assert len(downloads(edge)) == 2 and downloads(edge)[-1]["bytes"] == len(content)


def test_a_sync_takes_deltas(origin, edge, sample, empty, tmp_path):
    assert empty.add(sample, NAME, url=edge.url).code == rsdump.DONE
    refreshed(empty)
    content = origin.publish(2)
    app = App(tmp_path / "storage", "--packaged", empty.path)
    assert app.sync(NAME).code == rsdump.DONE
    outcome = app.get(NAME, "--attachment", "list", "--output", tmp_path / "list")
    assert outcome.code == rsdump.DONE, str(outcome)
    assert (tmp_path / "list").read_bytes() == content
    assert downloads(edge)[-1]["bytes"] < len(content) / 5
    # A stored attachment is also used as the base of the next delta.
    content = origin.publish(3)
    assert app.sync(NAME).code == rsdump.DONE
    assert app.get(NAME, "--attachment", "list", "--output", tmp_path / "next").code == rsdump.DONE
    assert (tmp_path / "next").read_bytes() == content
    assert downloads(edge)[-1]["bytes"] < len(content) / 5 and len(downloads(edge)) == 3


def test_delta_request_names_held_dictionary(origin, edge, held):
    origin.publish(2)
    refreshed(held)
    headers, = (each["headers"] for each in downloads(edge))
    digest = hashlib.sha256(lines(1)).digest()
    assert headers["Available-Dictionary"] == f":{base64.b64encode(digest).decode()}:"
    assert headers["Dictionary-ID"] == '"20261101000000--list--easy-list.txt"'
    assert headers["Accept-Encoding"] == "dcz, identity" and "Range" not in headers


OLD, NEW = lines(1), lines(2)


def sending(make):
    return lambda status, headers, body: (status, headers, make(body))


# FileDeltaTests covers invalid deltas in full. "no coding" simulates a proxy that drops a header it does not know.
WRONG = {
    "another dictionary": sending(lambda body: dictionaries.delta(OLD + b"x", NEW)),
    "cut": sending(lambda body: body[:-1]),
    "another file": sending(lambda body: dictionaries.delta(OLD, NEW[:-1] + b"?")),
    "no coding": lambda status, headers, body: (
        status, {name: value for name, value in headers.items() if name != "Content-Encoding"}, body),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_delta_downloads_whole_file(origin, edge, held, wrong):
    content = origin.publish(2)
    edge.mangle = WRONG[wrong]
    assert refreshed(held)["savedBytes"] == 0 and packaged(held) == content
    first, second = downloads(edge)
    assert "Dictionary-ID" in first["headers"] and second["headers"]["Accept-Encoding"] == "identity"


def test_delta_larger_than_file_is_used(origin, edge, held):
    """Mozilla's job produces such deltas for data that cannot be compressed."""
    content = random.Random(5).randbytes(3 << 20)
    origin.publish(2, content)
    assert refreshed(held)["savedBytes"] == 0 and packaged(held) == content
    request, = downloads(edge)
    assert request["bytes"] > len(content) and "Dictionary-ID" in request["headers"]


def test_an_interrupted_download_resumes_without_a_delta(origin, edge, held):
    content = origin.publish(2)
    staged = held.path / ".rsdump/staging/main.lists"
    staged.mkdir(parents=True)
    (staged / hashlib.sha256(content).hexdigest()).write_bytes(content[:1000])
    refreshed(held)
    assert packaged(held) == content
    request, = downloads(edge)
    assert request["headers"]["Range"] == "bytes=1000-" and "Dictionary-ID" not in request["headers"]


# Deltas from rsdump's own server and mirror


@pytest.fixture
def published(origin, edge, held, tmp_path):
    """A directory in git whose last commit has the second version, and a copy with the first version."""
    tree = GitTree(held.path.parent)
    tree.commit("first")
    first = held.copy(tmp_path / "first")
    origin.publish(2, builds=False)
    refreshed(held)
    tree.commit("second")
    return held, first


def pointed(dumps, address):
    text = dumps.config.read_text().splitlines()
    dumps.config.write_text("\n".join(f"server: {address}/v1" if line.startswith("server:") else line for line in text) + "\n")
    return dumps


def test_serve_has_deltas_of_its_history(published):
    source, first = published
    location, = (each["attachment"]["location"] for each in source.bundle(NAME).records)
    digest = base64.b64encode(hashlib.sha256(OLD).digest()).decode()
    with Serving("--dumps", source.path, "--history", "git") as serving:
        counts = refreshed(pointed(first, serving.url))
        assert packaged(first) == NEW
        assert counts["downloadedBytes"] - counts["savedBytes"] <= 0.01 * len(gzip.compress(NEW))
        path = f"/attachments/{location}"
        whole = serving.ask(path)
        assert whole.body == NEW and whole.headers["vary"] == "Accept-Encoding, Available-Dictionary"
        assert whole.headers["use-as-dictionary"] == (
            f'match="/attachments/{BUCKET}/{COLLECTION}/*", id="{location.split("/")[-1]}", type=raw')
        delta = serving.ask(path, Accept_Encoding="gzip, br, dcz;q=0.5", Available_Dictionary=f":{digest}:")
        assert delta.headers["content-encoding"] == "dcz" and "accept-ranges" not in delta.headers
        # The delta has the same headers as the whole file, so that a browser keeps the decoded file as the next dictionary.
        for name in ("vary", "use-as-dictionary", "content-type", "content-security-policy", "x-content-type-options"):
            assert delta.headers[name] == whole.headers[name], name
        dictionary = zstandard.ZstdCompressionDict(OLD, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
        assert zstandard.ZstdDecompressor(dict_data=dictionary).decompress(delta.body[40:]) == NEW
        assert delta.body[:40] == dictionaries.MAGIC + hashlib.sha256(OLD).digest()
        again = serving.ask(path, Accept_Encoding="dcz", Available_Dictionary=f":{digest}:", If_None_Match=delta.headers["etag"])
        assert again.status == 304
        for headers in ({"Accept_Encoding": "identity"}, {"Accept_Encoding": "dcz;q=0"}, {"Available_Dictionary": ":x:"}, {"Available_Dictionary": digest},
                        {"Available_Dictionary": f":{base64.b64encode(bytes(32)).decode()}:"}):
            plain = serving.ask(path, **{"Accept_Encoding": "dcz", "Available_Dictionary": f":{digest}:"} | headers)
            assert plain.body == NEW and "content-encoding" not in plain.headers


def test_mirror_has_attachment_deltas(published, tmp_path):
    source, first = published
    mirror = Mirror(tmp_path / "mirror")
    assert mirror.publish(source, history=["git"]).code == rsdump.DONE
    folder = mirror.output / f"current/attachments/cdt/{BUCKET}/{COLLECTION}"
    old, new = "20261101000000--list--easy-list.txt", "20261102000000--list--easy-list.txt"
    assert json.loads((folder / "manifest.json").read_text()) == {new: [old]}
    delta = folder / f"compressed/target-{new}/dcz/from-{old}.dcz"
    assert delta.stat().st_size <= 0.01 * len(gzip.compress(NEW))
    made = delta.read_bytes()
    with mirror:
        copy = first.copy(tmp_path / "copy")
        assert refreshed(pointed(copy, mirror.origin))["savedBytes"] == len(NEW) - len(made) and packaged(copy) == NEW
        # The hash identifies the client's file, and the file's name selects the delta.
        path = f"/attachments/{BUCKET}/{COLLECTION}/{new}"
        digest = f":{base64.b64encode(hashlib.sha256(OLD).digest()).decode()}:"
        asked = {"Accept-Encoding": "gzip, dcz", "Available-Dictionary": digest, "Dictionary-ID": f'"{old}"'}
        for change, is_delta in [
            ({}, True), ({"Accept-Encoding": "dcz ; q=0.1,gzip"}, True), ({"Accept-Encoding": "DCZ;q=1.0"}, True),
            ({"Accept-Encoding": "dcz;q=0"}, False), ({"Accept-Encoding": "gzip, dcz; q=0.000"}, False),
            ({"Accept-Encoding": "x-dcz"}, False), ({"Accept-Encoding": "dcz-x, gzip"}, False),
            ({"Available-Dictionary": None}, False), ({"Available-Dictionary": "x"}, False), ({"Dictionary-ID": None}, False),
        ]:
            answer = mirror.get(path, headers={**asked, **change}, stream=True)
            assert (answer.headers.get("Content-Encoding") == "dcz") == is_delta, change
            assert answer.raw.read(decode_content=False) == (made if is_delta else NEW), change
            assert answer.headers["Vary"] == "Accept-Encoding, Available-Dictionary, Dictionary-ID", change
            assert answer.headers["Content-Security-Policy"].startswith("sandbox"), change
    # A second export produces identical deltas, whatever happened to the earlier ones.
    before = mirror.tree()
    delta.write_bytes(made[:-1] + b"?")
    (mirror.output / "letter").unlink(missing_ok=True)
    earlier = "tree-" + 32 * "0"
    for tree in mirror.output.glob("tree-*"):
        tree.rename(tree.with_name(earlier))
    (mirror.output / "current").unlink()
    (mirror.output / "current").symlink_to(earlier)
    assert mirror.publish(source, history=["git"]).code == rsdump.DONE
    assert {path: digest for path, (digest, _) in mirror.tree().items()} == {
        path: digest for path, (digest, _) in before.items()}


def test_a_browser_takes_a_delta(published):
    source, _ = published
    old, new = (f"/attachments/{BUCKET}/{COLLECTION}/2026110{version}000000--list--easy-list.txt" for version in (1, 2))
    script = """
        const [address, done] = arguments
        fetch(address).then(answer => answer.arrayBuffer()).then(async bytes => {
            const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))
            const entry = performance.getEntriesByType("resource").filter(each => each.name.endsWith(address)).pop()
            done([[...hash].map(byte => byte.toString(16).padStart(2, "0")).join(""), entry.encodedBodySize])
        }).catch(error => done([String(error), 0]))"""
    with Serving("--dumps", source.path, "--history", "git") as serving:
        browser = Browser()
        try:
            browser.get(f"{serving.url}/v1/")
            first = browser.execute_async_script(script, old)
            # The browser stores the dictionary shortly after the response.
            time.sleep(2)
            second = browser.execute_async_script(script, new)
        finally:
            browser.quit()
    assert first[0] == hashlib.sha256(OLD).hexdigest() and second[0] == hashlib.sha256(NEW).hexdigest()
    assert second[1] < len(NEW) / 50, (first, second)
