"""rsdump serve for plain users of Kinto: kinto-http's two clients and each list beside the Kinto that was refreshed from."""
import asyncio
import concurrent.futures
import hashlib
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
LIST = "/buckets/main/collections/lists/records"


class Pair:
    """A Kinto, and a server of what was refreshed from it."""

    def __init__(self, kinto, serving, dumps, since):
        self.kinto, self.serving, self.dumps, self.since = kinto, serving, dumps, since

    def ask(self, path, method="GET", **headers):
        """Both answers to the same request on v1: status, JSON, headers."""
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
    """Three states of a collection with members of all kinds; the first one has what is deleted in the second."""
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
    """What a mirror may not change: all but where it and its chains are, and `bucket`, which Kinto leaves out."""
    if isinstance(value, dict):
        kept = {k: without_places(v) for k, v in value.items() if k not in ("x5u", "host", "bucket")}
        # The monitor's ids are of the server's own making.
        return {k: v for k, v in kept.items() if k != "id" or "collection" not in kept}
    return [without_places(each) for each in value] if isinstance(value, list) else value


def queries(since):
    text = """
        _limit=3&_sort=id | _sort=number | _sort=-number | _sort=text,-id | _sort=flag,-number | _sort=-nested.a.b,id
        _sort=big | _sort=-big | _sort=unknown | _sort=x-,y | _sort=%2Btext | _sort=last_modified | _sort=-last_modified
        _fields=text | _fields=text,nested.a.b | _fields=nested.c.d,list | _fields=unknown | _fields=nested&_sort=text
        number=1 | number="1" | number=1.0 | number=1.5 | number=null | not_number=1 | number=true | flag=true | flag=1
        eq_number=1 | text=beta | text=Beta | not_text=beta | id=a | id=7 | not_id=7 | nested.a.b=2 | nested.c.d=3
        dotted.name=yes | lt_number=2 | max_number=2.5 | min_number=2.5 | gt_number=2 | gt_number=5&lt_number=100
        gt_text=b | lt_text=b | gt_flag=false | min_big=9007199254740993 | big=9007199254740992 | big=9007199254740993
        in_id=a,b,z | in_number=1,2.5 | in_text=beta,delta | exclude_id=a,b | exclude_number=1,10 | in_id=7 | in_flag=true
        like_text=a | like_text=*a | like_text=a* | like_text=*E*A* | like_text=ÄÖ | like_text= | like_id=a
        has_flag=true | has_flag=false | has_number=true | has_nested.a.b=true | has_attachment=true | has_deleted=true
        contains_list=["x"] | contains_list=[1,"x"] | contains_list=x | contains_list=[] | contains_any_list=[1,2]
        contains_any_list=["x"] | contains_text=["a"] | _since={since} | _since="{since}" | gt_last_modified={since}
        min_last_modified={since} | _before={since} | _to={since} | last_modified={since} | not_last_modified={since}
        _since={since}&_limit=2 | _since={since}&_fields=text | _since={since}&has_flag=true | _since=0 | _since=9999999999999
        in_last_modified={since} | in_last_modified=x | in_id=1,2 | in_number=1&in_number=10 | number=1&text=Alpha
        _limit=0 | _limit= | _since= | _unknown=1 | _expected=5 | _limit=9223372036854775807 | _limit="2" | _token=
        _limit=-1 | _limit=x | _limit=99999999999999999999999 | _since=x | _since=-1 | _since=1.5 | _before=x | _to=-5
        _token=x | _token=ff | _token=5b5d | _token=%00 | _token=e30= | last_modified=x | lt_last_modified=x
        last_modified=-1 | contains_id=["a"] | contains_last_modified=[1]
    """
    return [each.strip().replace("{since}", str(since)) for line in text.splitlines() for each in line.split(" | ")
            if each.strip()]


# Where the answer is of its own: what it is, and why.
OWN = {
    # Kinto's memory storage forgets the filters before a has_ filter.
    "_since={since}&has_flag=true": ["d"],
    # It takes letters for the elements of a text, as Python does.
    'contains_text=["a"]': [],
    # An id may be made of digits.
    "id=7": ["7"], "in_id=7": ["7"], "in_id=1,2": [],
    # Kinto refuses a _since that is more than a day ahead, and cuts fractions off. Nothing is newer than the future.
    "_since=9999999999999": [], "_since=1.5": 400,
    # Of a parameter that is given twice the last one counts.
    "in_number=1&in_number=10": ["c"],
}


def test_every_list_is_kintos(pair):
    differences = []
    for query in queries(pair.since):
        pattern = query.replace(str(pair.since), "{since}")
        path = LIST + "?" + urllib.parse.quote(query, safe="=&%+,.*_-")
        (status, mine, my_headers), (expected, theirs, their_headers) = pair.ask(path)
        if pattern in OWN:
            found = [each["id"] for each in mine["data"]] if status == 200 else status
            if found != OWN[pattern]:
                differences.append((query, found, OWN[pattern]))
            continue
        if status != expected:
            differences.append((query, status, mine, expected, theirs))
        elif status == 200:
            assert (my_headers["ETag"], my_headers["Last-Modified"]) == (their_headers["ETag"], their_headers["Last-Modified"])
            if mine != theirs:
                differences.append((query, mine, theirs))
            if ("Next-Page" in my_headers) != ("Next-Page" in their_headers):
                differences.append((query, my_headers["Next-Page"], their_headers["Next-Page"]))
        elif {k: mine[k] for k in ("code", "errno", "error")} != {k: theirs[k] for k in ("code", "errno", "error")}:
            differences.append((query, mine, theirs))
    assert not differences, "\n".join(map(str, differences))


def test_pages_follow_each_other_as_kintos_do(pair):
    """By Next-Page alone, for several orders: each object once, in the order of the whole list."""
    for order in ("", "&_sort=text", "&_sort=-number,id", "&_sort=flag", "&_sort=-nested.a.b", "&_sort=last_modified",
                  f"&_since={pair.since}", "&has_text=true", "&_fields=text"):
        for limit in (1, 3, 8, 100):
            found = []
            for url in (f"{pair.serving.url}/v1", pair.kinto.url):
                address, pages = f"{url}{LIST}?_limit={limit}{order}", []
                while address:
                    status, answer, headers = pair.one(address, "")
                    assert status == 200, (address, answer)
                    pages.append([each["id"] for each in answer["data"]])
                    address = headers["Next-Page"]
                found.append(pages)
            mine, theirs = found
            whole = [each["id"] for each in pair.ask(f"{LIST}?_unknown{order}")[0][1]["data"]]
            assert [each for page in mine for each in page] == whole, (order, limit)
            # Of objects without the member that is sorted by, Kinto's memory storage repeats or loses some between pages.
            if order not in ("&_sort=flag", "&_sort=-nested.a.b", "&_sort=-number,id"):
                assert mine == theirs, (order, limit)


def test_a_list_is_read_on_while_the_data_changes(pair, tmp_path):
    """A page begins behind an object, not at a number: what is there all the time is read exactly once."""
    dumps = pair.dumps.copy(tmp_path / "dumps")
    with Serving("--dumps", dumps.path, "--watch") as serving:
        first = serving.ask(f"/v1{LIST}?_limit=3&_sort=id")
        pair.kinto.delete_record(NAME, "b")
        pair.kinto.put_record(NAME, {"id": "00", "text": "before the first page"})
        pair.kinto.put_record(NAME, {"id": "cc", "text": "behind it"})
        assert dumps.refresh(NAME).code == rsdump.DONE
        now = str(dumps.bundle(NAME).timestamp)
        while serving.ask(f"/v1{LIST}?_limit=1").headers["etag"] != f'"{now}"':
            assert serving.process.poll() is None
        assert [each["id"] for each in first.json()["data"]] == ["7", "a", "b"]
        rest, address = [], first.headers["next-page"]
        while address:
            answer = serving.ask(address.removeprefix(serving.url))
            assert answer.headers["etag"] == f'"{now}"'
            rest += [each["id"] for each in answer.json()["data"]]
            address = answer.headers.get("next-page")
        assert rest == ["c", "cc", "d", "e", "f", "g"]


def test_totals_tags_and_conditions(pair):
    for path in (LIST, f"{LIST}?_limit=2", f"{LIST}?text=beta", f"{LIST}?_since={pair.since}", "/buckets/main/collections",
                 "/buckets/monitor/collections/changes/records"):
        (status, _, mine), (expected, _, theirs) = pair.ask(path, "HEAD")
        assert status == expected == 200
        for name in ("Total-Records", "Total-Objects"):
            # Kinto's plug-in does not count the monitor's entries.
            assert mine[name] == (theirs[name] or "6"), (path, name)
        for name in ("ETag", "Last-Modified"):
            assert path.endswith("/collections") or mine[name] == theirs[name], (path, name)
        tag = mine["ETag"]
        for found in pair.ask(path, If_None_Match=tag) if not path.endswith("/collections") else [
                pair.one(f"{pair.serving.url}/v1", path, headers={"If-None-Match": tag})]:
            assert (found[0], found[1], found[2]["ETag"]) == (304, None, tag), path
        assert [found[0] for found in pair.ask(path, If_None_Match='"1"')] == [200, 200]
    exposed = pair.ask(LIST)[0][2]["Access-Control-Expose-Headers"]
    assert all(name in exposed for name in ("Next-Page", "Total-Records", "ETag"))


@pytest.mark.parametrize("path", [
    "/buckets/main/collections/lists", "/buckets/main/collections/lists?_fields=id", f"{LIST}/a", f"{LIST}/7",
    f"{LIST}/a?_fields=text", f"{LIST}/a?_expected=5", f"{LIST}/none", f"{LIST}/gone", "/buckets/main/collections/none",
    "/buckets/main/collections/none/records", "/buckets/main/collections/none/records/a", "/buckets/main/collections",
    "/buckets/main/collections?_limit=2&_sort=id", "/buckets/main/collections?id=lists&_fields=signature.mode",
    "/buckets/monitor/collections/changes/records", "/buckets/monitor/collections/changes/records?bucket=main&_sort=collection",
    "/buckets/monitor/collections/changes/records?_limit=2", "/buckets/monitor/collections/changes/records?collection=lists",
    "/buckets/monitor/collections/changes/records?unknown=1",
    "/buckets/monitor/collections/changes/records?_sort=unknown",
])
def test_single_objects_and_other_lists_are_kintos(pair, path):
    (status, mine, headers), (expected, theirs, _) = pair.ask(path)
    assert status == expected, (mine, theirs)
    if status == 200:
        mine, theirs = mine["data"], theirs["data"]
        if isinstance(mine, list) and "_sort" not in path and "changes" not in path:
            mine, theirs = (sorted(each, key=lambda o: o["id"]) for each in (mine, theirs))
        assert without_places(mine) == without_places(theirs)
        assert headers["ETag"].strip('"').isdigit()
    else:
        for name in ("code", "errno", "error"):
            assert mine[name] == theirs[name], (mine, theirs)
        assert isinstance(mine["details"], list) or mine["details"] == theirs["details"]


@pytest.mark.parametrize("query", [
    "_limit=1", "_limit=3", "_limit=0", "_limit=", "_limit=500", "_limit=9223372036854775807", "_limit=x", "_limit=1.5",
    "_limit=2&_since=%22{since}%22", "_limit=500&_since=%22{since}%22"])
@pytest.mark.parametrize("name", ["main/lists", "main/settings", "monitor/changes"])
def test_a_cut_changeset_has_the_newest_changes(pair, name, query):
    bucket, collection = name.split("/")
    if name == "monitor/changes" and "_since" in query:
        query = query.replace("{since}", str(pair.since))
    path = f"/buckets/{bucket}/collections/{collection}/changeset?_expected=0&{query.replace('{since}', str(pair.since))}"
    (status, mine, _), (expected, theirs, _) = pair.ask(path)
    assert status == expected, (mine, theirs)
    if status == 200:
        assert (mine["timestamp"], len(mine["changes"])) == (theirs["timestamp"], len(theirs["changes"]))
        # Kinto cuts the monitor's entries in no order.
        if name == "monitor/changes":
            newest = [each for each in pair.kinto.monitor()["changes"] if "_since" not in query or each["last_modified"] > pair.since]
            newest = sorted(newest, key=lambda change: -change["last_modified"])[:len(mine["changes"])]
            assert without_places(mine["changes"]) == without_places(newest)
        elif len(mine["changes"]) < 5:
            times = [{k: v for k, v in each.items() if k != "last_modified" or not each.get("deleted")}
                     for each in mine["changes"] + theirs["changes"]]
            assert times[:len(mine["changes"])] == times[len(mine["changes"]):] or "_since" in query
        assert without_places(mine["metadata"]) == without_places(theirs["metadata"])


def test_a_negative_limit_is_refused_and_v2_knows_of_none(pair):
    path = "/buckets/main/collections/lists/changeset?_expected=0"
    for limit in ("-1", "-9223372036854775809", "99999999999999999999"):
        status, answer, _ = pair.one(f"{pair.serving.url}/v1", f"{path}&_limit={limit}")
        assert (status, answer["errno"], answer["details"][0]["name"]) == (400, 107, "_limit"), limit
    # The server's v2 passes over what it does not know.
    for limit in ("1", "-1", "x"):
        status, answer, _ = pair.one(f"{pair.serving.url}/v2", f"{path}&_limit={limit}")
        assert status == 200 and len(answer["changes"]) == len(RECORDS), limit


def read_by_kinto_http(client, call, scratch):
    """What both clients read of a server: `call` runs a method and has what it returns."""
    found = {"monitor": {}, "lists": {}, "attachments": {}}
    info = call(client.server_info)
    found["root"] = {"settings.readonly": isinstance(info["settings"]["readonly"], bool),
                     "base_url": info["capabilities"]["attachments"]["base_url"].endswith("/attachments/")}
    monitor = call(client.get_changeset, bucket="monitor", collection="changes", bust_cache=True)
    found["monitor"] = without_places({**monitor, "changes": sorted(monitor["changes"], key=lambda c: c["collection"])})
    for change in monitor["changes"]:
        place = {"bucket": change["bucket"], "collection": change["collection"]}
        records = call(client.get_records, **place)
        paged = call(client.get_records, **place, _limit=7, pages=1000)
        changeset = call(client.get_changeset, **place, _expected=change["last_modified"])
        since = records[len(records) // 2]["last_modified"] if records else 0
        one = call(client.get_record, **place, id=records[0]["id"]) if records else None
        found["lists"][change["collection"]] = without_places({
            "records": records, "paged": paged, "timestamp": call(client.get_records_timestamp, **place),
            "newer": call(client.get_records, **place, _since=f'"{since}"'),
            "by id": call(client.get_records, **place, _sort="id"),
            "metadata": call(client.get_collection, bucket=change["bucket"], id=change["collection"])["data"],
            "changeset": {**changeset, "changes": sorted(changeset["changes"], key=lambda r: r["id"]), "mirrored_metadata": 0},
            "one": one and one["data"],
        })
        for record in records:
            if record.get("attachment"):
                path = call(client.download_attachment, record, filepath=str(scratch / record["id"]), overwrite=True)
                with open(path, "rb") as file:
                    found["attachments"][record["id"]] = hashlib.sha256(file.read()).hexdigest()
    errors = []
    for arguments in ({"bucket": "main", "collection": "none"}, {"bucket": "main", "collection": "lists", "_limit": -1}):
        try:
            call(client.get_records, **arguments)
        except kinto_http.KintoException as failure:
            errors.append(failure.response.status_code)
    return {**found, "errors": errors}


@pytest.mark.parametrize("kind", ["Client", "AsyncClient"])
def test_kinto_http_reads_as_from_kinto(pair, tmp_path, kind):
    """Records, pages, metadata, changesets and attachments of every collection, by the client with and without asyncio."""
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
    assert mine["errors"] == theirs["errors"] == [404, 400]
    for name in theirs["lists"]:
        assert mine["lists"][name] == theirs["lists"][name], name
    assert mine == theirs and mine["attachments"]


def test_the_roots_have_what_jobs_read(pair):
    """The members that Mozilla's scheduled jobs, its git-reader's clients and kinto-http take from a server's root."""
    (_, mine, _), (_, theirs, _) = pair.ask("/")
    newest = max(each["last_modified"] for each in pair.kinto.monitor()["changes"])
    for name, value in theirs.items():
        assert name in mine, name
        assert value is None or type(value) is type(mine[name]), name
    for name in theirs["settings"]:
        assert type(mine["settings"][name]) is type(theirs["settings"][name]), name
    for name in ("attachments", "changes"):
        assert set(mine["capabilities"][name]) == set(theirs["capabilities"][name])
    # The export to git takes this out before it stores the rest; the job that signs anew looks for what it may sign.
    assert mine["config"].pop("modified").startswith("20") and mine["capabilities"]["signer"]["resources"] == []
    _, v2, _ = pair.one(f"{pair.serving.url}/v2", "/")
    assert v2["http_api_version"] == "2.0" and v2["settings"] == {"readonly": True}
    assert v2["git"]["common"]["timestamp"] == newest // 1000 and len(v2["git"]["common"]["id"]) == 40
    assert v2["capabilities"]["attachments"] == mine["capabilities"]["attachments"]


def test_v2s_monitor_answers_any_since(pair):
    """Mozilla's git-reader filters, however old it is; v1 redirects what is older than three weeks, by Kinto's plug-in."""
    path = "/buckets/monitor/collections/changes/changeset?_expected=0"
    changes = sorted(pair.kinto.monitor()["changes"], key=lambda change: -change["last_modified"])
    old = changes[2]["last_modified"]
    for since in (1, old, changes[0]["last_modified"]):
        status, answer, _ = pair.one(f"{pair.serving.url}/v2", f"{path}&_since={since}")
        expected = [each for each in changes if each["last_modified"] > since]
        assert status == 200 and without_places(answer["changes"]) == without_places(expected)
        assert answer["timestamp"] == changes[0]["last_modified"]
    redirected = pair.serving.ask(f"/v1{path}&_since=%22{old}%22")
    assert (redirected.status, redirected.headers["location"]) == (307, f"{pair.serving.url}/v1{path}")
    redirected = pair.serving.ask(f"/v1/buckets/monitor/collections/changes/records?_since=5&bucket=main")
    assert (redirected.status, redirected.headers["location"].partition("?")[2]) == (307, "bucket=main")


@pytest.mark.parametrize("query, status", [
    ("_token=" + "5b" * 3000, 400), ("_token=" + "ff" * 10, 400), ("_token=5b5b315d2c5b225c75643830305d5d", 400),
    ("_token=" + "[[1],[2]]".encode().hex(), 200), ("_token=" + "[[1],[2],[3]]".encode().hex(), 400),
    ("_token=" + "[[],[]]".encode().hex(), 200), ("_token=" + "[[1,2],[]]".encode().hex(), 400),
    ("_token=" + "[[1e999999],[{}]]".encode().hex(), 200), ("_token=zz", 400), ("_token=5", 400), ("_token=5%", 400),
    ("_token=%F0%9F%98%80", 400), ("&".join(f"a{n}=1" for n in range(40)), 400), ("_sort=" + "a," * 40, 400),
    ("_fields=" + "a," * 40, 400), ("x" * 200 + "=1", 400), ("_sort=" + "x" * 200, 400), ("_fields=" + "x" * 200, 400),
    ("like_text=" + "a*" * 60, 200), ("like_text=" + "a*" * 80, 400), ("a=" + "[" * 1000, 200), ("a=" + "1" * 900, 200),
    ("number=1e400", 200), ("number=-0", 200), ("in_text=" + "," * 500, 200), ("_limit=%31", 200), ("_sort=%00", 200),
    ("_limit=1&_limit=x", 400), ("_limit=x&_limit=1", 200), ("=", 200), ("&&&", 200), ("_since=18446744073709551615", 400),
    ("min_last_modified=18446744073709551616", 400), ("text=%FF%FE", 200), ("." * 100 + "=1", 200), ("_fields=....", 200),
])
def test_hostile_questions(pair, query, status):
    answer = pair.serving.ask(f"/v1{LIST}?{query}")
    assert answer.status == status, answer.body
    assert status == 200 or answer.json()["errno"] == 107
    assert pair.serving.ask(f"/v1{LIST}?_limit=1").status == 200


def test_no_text_of_a_query_gets_into_a_header(pair):
    answer = pair.serving.ask(f"/v1{LIST}?_limit=1&x=%0D%0ASet-Cookie:%20a%3Db&has_text=true&_fields=%22%3C&_expected=%0D%0A")
    # A filter by a member that is not there finds nothing, so that there is no next page.
    assert answer.status == 200 and "next-page" not in answer.headers
    answer = pair.serving.ask(f"/v1{LIST}?_limit=1&_x=%0D%0ASet-Cookie:%20a%3Db&not_text=%0D%0A")
    assert "set-cookie" not in answer.headers
    assert "_x=%0D%0ASet-Cookie%3A%20a%3Db" in answer.headers["next-page"]


def test_long_values_are_not_sorted_by_page(pair, tmp_path):
    for number in range(3):
        pair.kinto.put_record(NAME, {"id": f"long{number}", "long": str(number) * 5000})
    dumps = pair.dumps.copy(tmp_path / "dumps")
    assert dumps.refresh(NAME).code == rsdump.DONE
    with Serving("--dumps", dumps.path) as serving:
        answer = serving.ask(f"/v1{LIST}?_sort=long&_limit=1")
        assert answer.status == 400 and "another field" in answer.json()["message"]
        assert [r["id"] for r in serving.ask(f"/v1{LIST}?_sort=long").json()["data"]][:3] == ["long0", "long1", "long2"]
