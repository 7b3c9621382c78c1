"""rsdump serve with kinto-http's two clients, and its responses compared with those of the original Kinto."""
import asyncio
import concurrent.futures
import hashlib
import http.client
import json
import urllib.error
import urllib.parse
import urllib.request

import kinto_http
import pytest
import samples

import rsdump
from dumps import Dumps
from serve import Serving

RECORDS = [
    {"id": "a", "number": 1, "text": "Alpha", "list": [1, "x"], "nested": {"a": {"b": 2}, "c.d": 3}},
    {"id": "b", "number": 1.5, "text": "beta", "list": [], "nested": {"a": 5}},
    {"id": "c", "number": 10, "text": "gamma*", "flag": True},
    {"id": "d", "number": "1", "text": "delta", "flag": False, "list": ["x"]},
    {"id": "e", "number": None, "text": "Epsilon", "dotted.name": "yes"},
    {"id": "f", "text": "äöü", "big": 9007199254740993, "attachment": None},
    {"id": "g", "text": "ÄÖÜ", "big": 9007199254740992, "deleted": False},
    {"id": "7", "text": "a number as an id", "number": 1e21},
]
NAME = "main/lists"
MONITOR = "/buckets/monitor/collections/changes/records"


class Pair:
    """A Kinto, and a server of the dumps refreshed from it."""

    def __init__(self, kinto, serving, dumps, since):
        self.kinto, self.serving, self.dumps, self.since = kinto, serving, dumps, since

    def ask(self, path, method="GET", **headers):
        """Both responses to the same v1 request: status, JSON, headers."""
        return [self.one(url, path, method, headers) for url in (f"{self.serving.url}/v1", self.kinto.url)]

    @staticmethod
    def one(url, path, method="GET", headers=None):
        request = urllib.request.Request(url + path, method=method)
        for name, value in (headers or {}).items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b"null"), answer.headers
        except urllib.error.HTTPError as failure:
            return failure.code, json.loads(failure.read() or b"null"), failure.headers


@pytest.fixture(scope="module")
def pair(sample_server, tmp_path_factory):
    """Three states of a collection with all kinds of members; the first contains a record deleted in the second."""
    kinto = sample_server
    kinto.restore("seeded")
    kinto.put_collection(NAME)
    kinto.put_record(NAME, {"id": "gone", "text": "deleted later"})
    for record in RECORDS[:3]:
        kinto.put_record(NAME, record)
    since = kinto.changeset(NAME)["timestamp"]
    dumps = Dumps(tmp_path_factory.mktemp("lists") / "dumps")
    assert dumps.add(kinto, NAME, *samples.NAMES).code == rsdump.DONE
    assert dumps.refresh().code == rsdump.DONE
    before = [dumps.copy(tmp_path_factory.mktemp("lists-before") / "dumps")]
    kinto.delete_record(NAME, "gone")
    assert dumps.refresh().code == rsdump.DONE
    before.append(dumps.copy(tmp_path_factory.mktemp("lists-deleted") / "dumps"))
    for record in RECORDS[3:]:
        kinto.put_record(NAME, record)
    kinto.patch_record(NAME, "b", {"number": 2.5})
    assert dumps.refresh().code == rsdump.DONE
    kinto.save("lists")
    with Serving("--dumps", dumps.path, *[w for each in before for w in ("--history", each.path)]) as serving:
        yield Pair(kinto, serving, dumps, since)
    kinto.restore("seeded")


@pytest.fixture(autouse=True)
def as_refreshed(pair):
    pair.kinto.restore("lists")


def without_places(value):
    """Everything a mirror must preserve: all but the addresses of the server and its chains, and `bucket`, which Kinto omits."""
    if isinstance(value, dict):
        kept = {k: without_places(v) for k, v in value.items() if k not in ("x5u", "host", "bucket")}
        # Each server generates the monitor's ids itself.
        return {k: v for k, v in kept.items() if k != "id" or "collection" not in kept}
    return [without_places(each) for each in value] if isinstance(value, list) else value


LISTS = [
    "", "?bucket=main&_sort=collection", "?_limit=2", "?collection=lists", "?_fields=collection", "?_expected=5",
    "?_since=%22{since}%22", "?_since={since}&bucket=main", "?_since=", "?unknown=1", "?_since=x", "?_since=-1", "?bucket=",
    "?_since={since}&_since={since}", "?_since=99999999999999", "?bucket=a%2Fb", "?collection=%E2%84%AAinto",
]


@pytest.mark.parametrize("query", LISTS)
def test_the_monitors_list_is_kintos(pair, query):
    """Used by Mozilla's jobs through kinto-http, and by Firefox versions before changesets. It has one page, newest first."""
    (status, mine, headers), (expected, theirs, their_headers) = pair.ask(MONITOR + query.replace("{since}", str(pair.since)))
    assert status == expected, (mine, theirs)
    if status != 200:
        return
    assert (headers["ETag"], headers["Last-Modified"]) == (their_headers["ETag"], their_headers["Last-Modified"])
    mine, theirs = without_places(mine["data"]), without_places(theirs["data"])
    if "_limit" in query or "_fields" in query:
        theirs = without_places(pair.ask(MONITOR)[1][1]["data"])
    assert mine == sorted(theirs, key=lambda change: -change["last_modified"]) and "Next-Page" not in headers


@pytest.mark.parametrize("path", [
    "", "//", "/__heartbeat__/", "/buckets/main/collections/lists/changeset/?_expected=0&a=%20b", f"{MONITOR}/?bucket=main",
    "/buckets/main/collections/lists/changeset//", "/buckets/monitor/collections/changes/changeset/?_expected=0&_since=%225%22",
])
def test_slashes_are_redirected_as_kinto_does(pair, path):
    places = []
    for url in (pair.serving.url, pair.kinto.url.removesuffix("/v1")):
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
        connection.request("GET", f"/v1{path}")
        answer = connection.getresponse()
        assert answer.status == 307, url
        places.append(urllib.parse.unquote_plus(answer.headers["Location"].removeprefix(url)))
        connection.close()
    assert places[0] == places[1]


def read_by_kinto_http(client, call, scratch):
    """Everything both clients read from a server: `call` runs a method and returns its result."""
    found = {"changesets": {}, "attachments": {}}
    info = call(client.server_info)
    found["root"] = {"settings.readonly": isinstance(info["settings"]["readonly"], bool),
                     "base_url": info["capabilities"]["attachments"]["base_url"].endswith("/attachments/")}
    monitor = call(client.get_changeset, bucket="monitor", collection="changes", bust_cache=True)
    found["monitor"] = without_places({**monitor, "changes": sorted(monitor["changes"], key=lambda c: c["collection"])})
    place = {"bucket": "monitor", "collection": "changes"}
    listed = call(client.get_records, **place)
    found["list"] = without_places({
        "entries": listed, "timestamp": call(client.get_records_timestamp, **place),
        "newer": call(client.get_records, **place, _since=f'"{listed[0]["last_modified"] - 1}"'),
    })
    for change in monitor["changes"]:
        place = {"bucket": change["bucket"], "collection": change["collection"]}
        changeset = call(client.get_changeset, **place, _expected=change["last_modified"])
        found["changesets"][change["collection"]] = without_places(
            {**changeset, "changes": sorted(changeset["changes"], key=lambda r: r["id"])})
        for record in changeset["changes"]:
            if record.get("attachment"):
                path = call(client.download_attachment, record, filepath=str(scratch / record["id"]), overwrite=True)
                with open(path, "rb") as file:
                    found["attachments"][record["id"]] = hashlib.sha256(file.read()).hexdigest()
    with pytest.raises(kinto_http.KintoException) as failure:
        call(client.get_changeset, bucket="main", collection="none", _expected=0)
    return {**found, "missing": failure.value.response.status_code}


@pytest.mark.parametrize("kind", ["Client", "AsyncClient"])
def test_kinto_http_reads_as_from_kinto(pair, tmp_path, kind):
    """Root, monitor, all changesets and attachments, with the synchronous and the asyncio client."""
    def read(url):
        client = getattr(kinto_http, kind)(server_url=url)
        if kind == "Client":
            return read_by_kinto_http(client, lambda method, *names, **arguments: method(*names, **arguments), tmp_path)
        loop = asyncio.new_event_loop()
        loop.set_default_executor(concurrent.futures.ThreadPoolExecutor(4))
        try:
            def call(method, *positional, **arguments):
                async def awaited():
                    return await method(*positional, **arguments)
                return loop.run_until_complete(awaited())
            asyncio.set_event_loop(loop)
            return read_by_kinto_http(client, call, tmp_path)
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    mine, theirs = read(f"{pair.serving.url}/v1"), read(pair.kinto.url)
    for name in theirs["changesets"]:
        assert mine["changesets"][name] == theirs["changesets"][name], name
    assert mine == theirs and mine["attachments"] and mine["missing"] == 404


def test_the_roots_have_what_jobs_read(pair):
    """The members of a server's root that Mozilla's scheduled jobs, git-reader's clients and kinto-http use."""
    (_, mine, _), (_, theirs, _) = pair.ask("/")
    newest = max(each["last_modified"] for each in pair.kinto.monitor()["changes"])
    for name, value in theirs.items():
        assert name in mine, name
        assert value is None or type(value) is type(mine[name]), name
    for name in theirs["settings"]:
        assert type(mine["settings"][name]) is type(theirs["settings"][name]), name
    for name in ("attachments", "changes"):
        assert set(mine["capabilities"][name]) == set(theirs["capabilities"][name])
    # The export to git removes this member before storing the rest; the job that renews signatures reads the signer's resources.
    assert mine["config"].pop("modified").startswith("20") and mine["capabilities"]["signer"]["resources"] == []
    _, v2, _ = pair.one(f"{pair.serving.url}/v2", "/")
    assert v2["http_api_version"] == "2.0" and v2["settings"] == {"readonly": True}
    assert v2["git"]["common"]["timestamp"] == newest // 1000 and len(v2["git"]["common"]["id"]) == 40
    assert v2["capabilities"]["attachments"] == mine["capabilities"]["attachments"]
