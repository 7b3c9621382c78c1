"""Catalogues: published, packaged, verified offline, and attacked on every way in between.

The attacks are those of The Update Framework's table; each test says what an origin, a mirror, a network or somebody with a
leaked key does.
"""
import datetime
import http.server
import json
import re
import shutil
import signal
import subprocess
import threading
import time

import pytest

import rsdump
import toolchain
from dumps import Dumps
from publishing import Hook
from serve import Serving


CATALOGUE = "publisher/catalogue"
HIGHEST = 2**53 - 1
# A clock that is days ahead, of Debian's libfaketime.
FAKETIME = "/usr/$LIB/faketime/libfaketimeMT.so.1"


class Origin:
    """Sources, keys and dumps of an origin with catalogues."""

    def __init__(self, path, name="settings.example.org", keys=None):
        self.path = path
        self.dumps = Dumps(path / "dumps")
        self.values = {}
        (path / "sources/main").mkdir(parents=True)
        if keys:
            shutil.copytree(keys, path / "keys")
        else:
            assert self.run("keys", "create", "keys").code == rsdump.DONE
        self.root = self.run("keys", "status", "keys", "--format", "json").json()["root"]
        (path / "dumps").mkdir()
        self.configure(name)

    def configure(self, name, more=""):
        origin = f"catalogue:\n  publisher: {name}\n{more}" if name else ""
        collections = "".join(f"  main/{each}:\n" for each in self.values)
        self.dumps.config.write_text(
            f"version: 1\nserver: http://127.0.0.1:8888/v1\ntrust:\n  roots: ['{self.root}']\n{origin}collections:\n"
            + collections)

    def run(self, *arguments, **options):
        return rsdump.run(*arguments, cwd=self.path, **options)

    def publish(self, *options, **values):
        self.values |= values
        for name, value in values.items():
            (self.path / f"sources/main/{name}.yaml").write_text(f"records:\n  - {{id: a, value: {value}}}\n")
        outcome = self.run("publish", *options)
        assert outcome.code == rsdump.DONE, str(outcome)
        return outcome

    def sign(self, catalogue, *options):
        """What somebody with the key does: a catalogue of any content."""
        configured = self.dumps.config.read_text()
        if CATALOGUE in self.dumps.lock["collections"]:
            assert self.run("remove", CATALOGUE).code == rsdump.DONE
        self.configure(None)
        source = self.path / "sources/publisher/catalogue.json"
        source.parent.mkdir(exist_ok=True)
        source.write_text(json.dumps({"records": catalogue}))
        outcome = self.run("publish", CATALOGUE, *options)
        assert outcome.code == rsdump.DONE, str(outcome)
        shutil.rmtree(source.parent)
        self.dumps.config.write_text(configured)

    def copy(self, path):
        shutil.copytree(self.path, path, symlinks=True)
        origin = Origin.__new__(Origin)
        origin.path, origin.dumps, origin.root = path, Dumps(path / "dumps"), self.root
        origin.values = dict(self.values)
        return origin

    @property
    def catalogue(self):
        return catalogue(self.dumps)


def catalogue(dumps):
    return {record["id"]: record for record in dumps.bundle(CATALOGUE).records}


def plain(records):
    """Records as a source has them."""
    return {name: {k: v for k, v in record.items() if k not in ("id", "last_modified")} for name, record in records.items()}


class Packager(Dumps):
    """A directory that packages the catalogue of an origin."""

    def __init__(self, path, root, url, names=("one", "two"), origin="settings.example.org", more=""):
        super().__init__(path)
        self.path.mkdir()
        self.root, self.url, self.taken = root, url, names
        self.configure(origin, more)

    def configure(self, origin="settings.example.org", more="", url=None):
        self.url = url or self.url
        catalogue = f"catalogue:\n  publisher: {origin}\n" if origin else ""
        collections = "".join(f"  main/{name}:\n" for name in self.taken)
        self.config.write_text(
            f"version: 1\nserver: {self.url}/v1\ntrust:\n  roots: ['{self.root}']\n{catalogue}{more}collections:\n{collections}")

    def refresh(self, *options):
        return rsdump.run("refresh", "--dumps", self.path, "--format", "json", *options)

    def verify(self):
        return rsdump.run("verify", "--locked", "--dumps", self.path, "--format", "json")

    def status(self, *options):
        return rsdump.run("status", "--dumps", self.path, "--format", "json", *options)

    def value(self, name):
        return self.bundle(f"main/{name}").records[0]["value"]

    def good(self):
        outcome = self.refresh()
        assert outcome.code == rsdump.DONE, str(outcome)
        verified = self.verify()
        assert verified.code == rsdump.DONE, str(verified)
        return outcome.json()

    def refuses(self, *words):
        """A refresh that fails and changes nothing."""
        before = self.files()
        outcome = self.refresh()
        assert outcome.code == rsdump.SOME_FAILED and outcome.says(*words), str(outcome)
        assert self.files() == before
        return outcome


class Network:
    """Between client and origins: answers each request with that of the origin that `choose(path, count)` names."""

    def __init__(self, choose):
        self.choose = choose
        network = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                found = re.search(r"/collections/([^/?]+)", self.path)
                name = found[1] if found else self.path
                network.counts[name] = network.counts.get(name, 0) + 1
                serving = network.choose(name, network.counts[name])
                answer = serving.ask(self.path) if serving else None
                body = answer.body if answer else b"{}"
                self.send_response(answer.status if answer else 503)
                for header in ("content-type", "etag", "last-modified", "expires", "cache-control"):
                    if answer and header in answer.headers:
                        self.send_header(header, answer.headers[header])
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.counts = {}
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def made_origin(tmp_path_factory):
    origin = Origin(tmp_path_factory.mktemp("origin") / "origin")
    origin.publish(one=1, two=1)
    return origin


@pytest.fixture
def origin(made_origin, tmp_path):
    return made_origin.copy(tmp_path / "origin")


@pytest.fixture
def served(origin):
    with Serving("--dumps", origin.dumps.path, "--watch") as serving:
        yield serving


def wait_for(serving, dumps):
    """Until the server has taken up what is in the directory."""
    wanted = dumps.bundle(CATALOGUE).timestamp
    for _ in range(200):
        if serving.changeset(CATALOGUE).json().get("timestamp") == wanted:
            return
        time.sleep(0.05)
    raise AssertionError(serving.log())


def test_a_catalogue_is_published_packaged_and_verified_offline(origin, served, tmp_path):
    packager = Packager(tmp_path / "packager", origin.root, served.url)
    report = packager.good()
    assert report["catalogue"]["number"] == 1 and report["catalogue"]["isFresh"]
    assert packager.lock["catalogue"] == {"publisher": "settings.example.org", "number": 1}
    before = packager.stats()
    assert packager.good()["requests"] == 1 and packager.stats() == before
    origin.publish(two=2)
    wait_for(served, origin.dumps)
    # A catalogue is a whole, whatever was named.
    outcome = packager.refresh("main/one")
    assert outcome.code == rsdump.DONE and packager.value("two") == 2, str(outcome)
    assert packager.lock["catalogue"]["number"] == 2
    shown = packager.status("--offline").json()["catalogue"]
    assert shown["number"] == 2 and shown["problems"] == [] and shown["isFresh"]
    text = rsdump.run("status", "--offline", "--dumps", packager.path)
    assert text.says("catalogue 2 of settings.example.org", "fresh until"), str(text)
    with Serving("--dumps", packager.path) as mirror:
        other = Packager(tmp_path / "mirror", origin.root, mirror.url, names=("two",))
        other.good()
        assert other.lock["catalogue"]["number"] == 2 and other.names == ["main/two", CATALOGUE]


def test_a_nightly_confirmation_changes_a_package_only_when_half_of_the_time_is_over(origin, served, tmp_path):
    packager = Packager(tmp_path / "packager", origin.root, served.url)
    packager.good()
    before = packager.stats()
    origin.run("publish", "--confirm")
    wait_for(served, origin.dumps)
    assert packager.good()["catalogue"]["number"] == 1 and packager.stats() == before
    locked = packager.refresh("--locked")
    assert locked.code == rsdump.DONE, str(locked)


def test_without_catalogue_in_the_configuration_everything_is_as_before(origin, served, tmp_path):
    packager = Packager(tmp_path / "packager", origin.root, served.url, origin=None)
    report = packager.good()
    assert "catalogue" not in report and "catalogue" not in packager.lock
    assert packager.names == ["main/one", "main/two"] and report["requests"] == 4
    assert "catalogue" not in packager.verify().json() and "catalogue" not in packager.status("--offline").json()
    plain = Origin(tmp_path / "plain", name=None)
    outcome = plain.publish("--format", "json", one=1)
    assert plain.dumps.names == ["main/one"] and "catalogue" not in plain.dumps.lock
    assert [each["collection"] for each in outcome.json()["collections"]] == ["main/one"]
    refused = plain.run("publish", "--confirm")
    assert refused.code == rsdump.USAGE and refused.says("dumps.yaml", "catalogue:"), str(refused)


def other_number(origin, older):
    lock = origin.dumps.lock
    lock["catalogue"]["number"] += 1
    return lock


def no_entry(origin, older):
    lock = origin.dumps.lock
    del lock["collections"][CATALOGUE]
    return lock


def nothing(origin, older):
    return {"version": 1, "collections": {}}


def older_lock(origin, older):
    return older.dumps.lock


def unsigned_entry(origin, older):
    lock = origin.dumps.lock
    lock["collections"][CATALOGUE]["trust"] = "imported"
    return lock


def earlier_verification(origin, older):
    lock = origin.dumps.lock
    lock["collections"][CATALOGUE]["trust"]["signed"]["verifiedAt"] = "2016-01-01T00:00:00.000Z"
    return lock


@pytest.mark.parametrize("edit", [
    other_number, no_entry, nothing, older_lock, unsigned_entry, earlier_verification], ids=lambda edit: edit.__name__)
def test_a_lock_file_that_is_not_of_the_catalogues_bundle_publishes_nothing(origin, tmp_path, edit):
    """A publisher that went on from another catalogue than its newest would sign one number twice."""
    older = origin.copy(tmp_path / "older")
    origin.publish(one=2)
    path = origin.dumps.path / "dumps.lock.json"
    path.write_text(json.dumps(edit(origin, older), indent=2))
    before = origin.dumps.files()
    for arguments in (("publish",), ("publish", "--confirm"), ("publish", "--resign"), ("publish", "--dry-run")):
        outcome = origin.run(*arguments)
        # Without a lock file, there is nothing to sign again.
        nothing_listed = edit is nothing and "--resign" in arguments
        assert outcome.code == (rsdump.DONE if nothing_listed else rsdump.VERIFICATION), str(outcome)
        assert origin.dumps.files() == before
    assert origin.run("publish").says(CATALOGUE, "restore it with git")


def test_staging_cannot_stand_in_for_production(origin, served, tmp_path):
    """Arbitrary files: the same keys sign staging, whose collections have the same names and are newer."""
    staging = Origin(tmp_path / "staging", name="staging.example.org", keys=origin.path / "keys")
    staging.publish(one=666, two=666)
    with Serving("--dumps", staging.dumps.path) as lies, Network(lambda name, count: lies) as network:
        # What happens without a catalogue: the substitute is taken, and the truth refused for as long as it is older.
        before = Packager(tmp_path / "before", origin.root, served.url, origin=None)
        before.good()
        before.configure(None, url=network.url)
        assert before.refresh().code == rsdump.DONE and before.value("one") == 666
        before.configure(None, url=served.url)
        assert before.refresh().says("older than the bundle") and before.value("one") == 666

        packager = Packager(tmp_path / "packager", origin.root, served.url)
        packager.good()
        packager.configure(url=network.url)
        packager.refuses("expected the publisher settings.example.org, found staging.example.org")
        assert packager.verify().code == rsdump.DONE and packager.value("one") == 1
        # Nor for a directory that has nothing to compare with.
        empty = Packager(tmp_path / "empty", origin.root, network.url)
        assert empty.refresh().says("staging.example.org") and empty.names == []
        # Single collections of staging beside production's catalogue.
        network.choose = lambda name, count: lies if name in ("one", "changes") else served
        empty.refuses("expected the state that catalogue 1 lists")
        assert empty.names == []

    # Where the lie was told before, the catalogue heals it: an older true state is no rollback.
    before.configure("settings.example.org", url=served.url)
    before.good()
    assert before.value("one") == before.value("two") == 1


def test_a_mirror_that_mixes_catalogues(origin, tmp_path):
    """Mix and match: an old catalogue with new collections, the reverse, and one collection of another catalogue."""
    old = origin.copy(tmp_path / "old")
    origin.publish(one=2, two=2)
    with Serving("--dumps", old.dumps.path) as first, Serving("--dumps", origin.dumps.path) as second:
        with Network(lambda name, count: first) as network:
            packager = Packager(tmp_path / "packager", origin.root, network.url)
            packager.good()
            origin.publish(one=3)
            for choose in (
                lambda name, count: second if name == "one" else first,
                lambda name, count: first if name == "catalogue" else second,
                lambda name, count: second if name in ("catalogue", "changes") else first,
                lambda name, count: first if name == "two" else second,
            ):
                network.choose = choose
                outcome = packager.refresh()
                assert outcome.code in (rsdump.DONE, rsdump.SOME_FAILED), str(outcome)
                assert packager.verify().code == rsdump.DONE
                assert (packager.value("one"), packager.value("two")) == (1, 1), str(outcome)
            failed = {each["collection"]: each["error"]["code"] for each in outcome.json()["collections"] if "error" in each}
            assert set(failed.values()) == {"catalogue"} and "main/two" in failed
            empty = Packager(tmp_path / "empty", origin.root, network.url)
            assert empty.refresh().code == rsdump.SOME_FAILED and empty.names == []
            network.choose = lambda name, count: second
            packager.good()
            assert (packager.value("one"), packager.value("two")) == (2, 2)
            # Rollback: the whole old catalogue, once a newer one is known.
            network.choose = lambda name, count: first
            assert packager.refresh("--full").says("expected catalogue number 2 or later, found 1")
            assert packager.value("one") == 2


def test_a_publication_under_way_is_asked_again_once(origin, tmp_path):
    old = origin.copy(tmp_path / "old")
    origin.publish(one=2, two=2)
    with Serving("--dumps", old.dumps.path) as first, Serving("--dumps", origin.dumps.path) as second:
        # The catalogue is the last that changes.
        with Network(lambda name, count: first if name == "catalogue" and count == 1 else second) as network:
            packager = Packager(tmp_path / "packager", origin.root, network.url)
            packager.good()
            assert (packager.value("one"), packager.value("two")) == (2, 2)
            assert network.counts["catalogue"] == 2
            assert packager.lock["catalogue"]["number"] == 2


def test_a_catalogue_is_taken_as_a_whole_or_not_at_all(origin, tmp_path):
    with Serving("--dumps", origin.dumps.path, "--watch") as serving, Network(lambda name, count: serving) as network:
        packager = Packager(tmp_path / "packager", origin.root, network.url)
        packager.good()
        origin.publish(one=2, two=2)
        wait_for(serving, origin.dumps)
        network.choose = lambda name, count: None if name == "two" else serving
        outcome = packager.refuses("the collections of a catalogue are only updated together", "main/two")
        assert packager.verify().code == rsdump.DONE and packager.lock["catalogue"]["number"] == 1
        assert outcome.json()["catalogue"]["number"] == 1
        network.choose = lambda name, count: serving
        packager.good()
        assert packager.value("two") == 2


def test_a_fast_forward_is_healed_by_a_new_certificate(origin, served, tmp_path):
    """Somebody with the leaked key publishes the highest number. No number follows it; a later certificate does."""
    packager = Packager(tmp_path / "packager", origin.root, served.url)
    packager.good()
    leaked = origin.copy(tmp_path / "leaked")
    forged = plain(origin.catalogue)
    forged["catalogue"]["number"] = HIGHEST
    leaked.sign(forged)
    with Serving("--dumps", leaked.dumps.path) as lies:
        packager.configure(url=lies.url)
        packager.good()
        assert packager.lock["catalogue"]["number"] == HIGHEST
        packager.configure(url=served.url)
        packager.refuses(f"expected catalogue number {HIGHEST} or later")
        time.sleep(1.1)    # certificates count in seconds
        assert origin.run("keys", "renew", "keys").code == rsdump.DONE
        origin.publish(one=2)
        wait_for(served, origin.dumps)
        packager.good()
        assert packager.lock["catalogue"]["number"] == 2 and packager.value("one") == 2
        # The leaked key does not come back.
        packager.configure(url=lies.url)
        packager.refuses("the catalogue was signed with a key that has since been replaced")


def in_days(days, *arguments, **options):
    """The tool with a clock that is so many days ahead."""
    environment = {"LD_PRELOAD": FAKETIME, "FAKETIME": f"+{days}d", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    return rsdump.run(*arguments, env=environment, **options)


def test_thirty_nights_behind_a_frozen_mirror(origin, served, tmp_path):
    """Indefinite freeze: the mirror answers for ever what it answered once. The nights are green until the confirmation
    ends, and red from then on. The records stay."""
    packager = Packager(tmp_path / "packager", origin.root, served.url)
    packager.good()
    before = packager.stats()
    for night in (1, 6, 7, 30):
        outcome = in_days(night, "refresh", "--dumps", packager.path)
        if night < 7:
            assert outcome.code == rsdump.DONE and outcome.says("fresh until"), str(outcome)
        else:
            assert outcome.code == rsdump.SOME_FAILED, (night, str(outcome))
            assert outcome.says("catalogue 1 has been stale since", "a mirror or a cache may be out of date"), str(outcome)
        assert packager.stats() == before and packager.value("one") == 1
    for options in [("refresh", "--locked"), ("refresh", "--dry-run"), ("status",), ("status", "--offline")]:
        outcome = in_days(23, *options, "--dumps", packager.path)
        assert outcome.code == rsdump.SOME_FAILED and outcome.says("stale since"), str(outcome)
    # Bundles are as good after years as today, unless their owner says otherwise.
    assert in_days(3650, "verify", "--locked", "--dumps", packager.path).says("stale since")
    assert in_days(3650, "verify", "--locked", "--dumps", packager.path).code == rsdump.DONE
    # Stricter limits: of a command, and of the configuration.
    for command in ("refresh", "status"):
        assert in_days(2, command, "--dumps", packager.path).code == rsdump.DONE
        outcome = in_days(2, command, "--max-age", "1d", "--dumps", packager.path)
        assert outcome.code == rsdump.SOME_FAILED and outcome.says("stale since"), str(outcome)
    packager.config.write_text(re.sub(r"(catalogue:\n)", r"\1  max-age: 1d\n", packager.config.read_text()))
    for command in ("refresh", "status", "verify"):
        outcome = in_days(2, command, "--dumps", packager.path)
        assert outcome.code == rsdump.SOME_FAILED and outcome.says("stale since"), str(outcome)
    # The mirror goes on, and so does the package.
    packager.configure()
    assert in_days(30, "publish", "--confirm", cwd=origin.path).code == rsdump.DONE
    wait_for(served, origin.dumps)
    assert in_days(30, "refresh", "--dumps", packager.path).says("fresh until")


def test_nothing_is_taken_from_a_mirror_that_is_frozen_from_the_beginning(origin, served, tmp_path):
    """No catalogue is held that could show how old the first one is."""
    packager = Packager(tmp_path / "packager", origin.root, served.url)
    for command in (("refresh",), ("refresh", "--locked")):
        outcome = in_days(23, *command, "--dumps", packager.path)
        assert outcome.code == rsdump.SOME_FAILED and outcome.says("has been stale since"), str(outcome)
    assert not (packager.path / "dumps.lock.json").exists()
    storage = tmp_path / "app"
    app = ("--storage", storage, "--server", f"{served.url}/v1", "--trust-root", origin.root, "--publisher", "settings.example.org")
    outcome = in_days(23, "get", "--sync", "main/one", *app)
    assert outcome.code != rsdump.DONE and outcome.says("has been stale since"), str(outcome)
    # An app that holds it reads on, and says so.
    assert rsdump.run("get", "--sync", "main/one", *app).says("fresh until")
    outcome = in_days(23, "get", "--sync", "main/one", *app)
    assert outcome.code == rsdump.DONE and outcome.says("stale since"), str(outcome)
    outcome = in_days(23, "get", "main/one", "--explain", *app)
    assert outcome.code == rsdump.DONE and outcome.says("stale since"), str(outcome)


def test_signing_again_displaces_what_the_old_key_has_signed_at_the_same_time(origin, served, tmp_path):
    """The thief's catalogue has the number and the timestamp of the true one. Nothing but the signatures is new after that."""
    leaked = origin.copy(tmp_path / "leaked")
    forged = plain(origin.catalogue)
    forged["main_-two"] = {"bucket": "main", "collection": "two", "removed": 1}
    at = datetime.datetime.fromtimestamp(origin.dumps.bundle(CATALOGUE).timestamp / 1000, datetime.UTC)
    leaked.sign(forged, "--at", at.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
    assert leaked.dumps.bundle(CATALOGUE).timestamp == origin.dumps.bundle(CATALOGUE).timestamp
    with Serving("--dumps", leaked.dumps.path) as lies, Network(lambda *_: answering) as network:
        packager = Packager(tmp_path / "packager", origin.root, network.url, names=("one",))
        app = ("--storage", tmp_path / "app", "--trust-root", origin.root, "--publisher", "settings.example.org",
               "--server", f"{network.url}/v1")
        answering = lies
        packager.good()
        assert rsdump.run("get", "--sync", "main/one", *app).code == rsdump.DONE
        time.sleep(1.1)    # certificates count in seconds
        assert origin.run("keys", "renew", "keys").code == rsdump.DONE
        assert origin.run("publish", "--resign").code == rsdump.DONE
        wait_for(served, origin.dumps)
        answering = served
        packager.good()
        assert "sha256" in catalogue(packager)["main_-two"]
        synced = rsdump.run("get", "--sync", "main/two", *app)
        assert synced.code == rsdump.DONE, str(synced)
        assert rsdump.run("get", "main/two", *app).json()["value"] == 1


def test_a_lock_that_was_edited(origin, served, tmp_path):
    packager = Packager(tmp_path / "packager", origin.root, served.url)
    packager.good()
    old = packager.copy(tmp_path / "old")
    origin.publish(one=2)
    wait_for(served, origin.dumps)
    packager.good()
    lock = packager.path / "dumps.lock.json"
    whole = lock.read_text()

    def wrong(*words):
        verified = packager.verify()
        assert verified.code == rsdump.VERIFICATION and verified.says(*words), str(verified)
        assert rsdump.run("status", "--offline", "--dumps", packager.path).code == rsdump.SOME_FAILED
        lock.write_text(whole)

    lock.write_text(whole.replace('"number": 2', '"number": 3'))
    wrong("expected catalogue 2 of settings.example.org", "found catalogue 3")
    lock.write_text(re.sub(r'  "catalogue": \{[^}]*\},\n', "", whole))
    wrong("found none")
    # A bundle of the catalogue before, with its entry: each for itself is good.
    bundle = packager.bundle_path("main/one")
    bundle.write_bytes(old.bundle_path("main/one").read_bytes())
    edited = json.loads(whole)
    edited["collections"]["main/one"] = old.lock["collections"]["main/one"]
    lock.write_text(json.dumps(edited))
    wrong("main/one: expected the state that catalogue 2 lists")
    lock.write_text(json.dumps(edited))
    packager.good()
    assert packager.value("one") == 2
    # Without the catalogue there is no catalogue.
    edited = json.loads(whole)
    del edited["collections"][CATALOGUE]
    lock.write_text(json.dumps(edited))
    packager.bundle_path(CATALOGUE).unlink()
    assert packager.verify().says("there is no catalogue of settings.example.org")
    packager.good()
    assert packager.bundle_path(CATALOGUE).exists()


def test_a_pin_leaves_the_catalogue_in_words(origin, served, tmp_path):
    packager = Packager(tmp_path / "packager", origin.root, served.url)
    packager.good()
    assert rsdump.run("pin", "main/one", "--dumps", packager.path).code == rsdump.DONE
    origin.publish(one=2, two=2)
    wait_for(served, origin.dumps)
    text = rsdump.run("refresh", "--dumps", packager.path)
    assert text.code == rsdump.DONE and text.says("main/one", "it is pinned to a state that catalogue 2 does not list"), str(text)
    assert (packager.value("one"), packager.value("two")) == (1, 2)
    verified = packager.verify()
    assert verified.code == rsdump.DONE and verified.json()["catalogue"]["pinnedElsewhere"] == ["main/one"], str(verified)
    assert rsdump.run("status", "--offline", "--dumps", packager.path).says("pinned to a state that the catalogue does not list")
    assert rsdump.run("pin", CATALOGUE, "--dumps", packager.path).code == rsdump.USAGE


def test_a_removed_collection(origin, served, tmp_path):
    packager = Packager(tmp_path / "packager", origin.root, served.url)
    packager.good()
    removed = origin.run("remove", "main/one")
    assert removed.code == rsdump.DONE and removed.says("until rsdump publish is run on the publishing machine"), str(removed)
    (origin.path / "sources/main/one.yaml").unlink()
    preview = origin.run("publish", "--dry-run")
    assert preview.says("catalogue 2 of settings.example.org (removed: main/one)"), str(preview)
    origin.publish(two=2)
    wait_for(served, origin.dumps)
    outcome = packager.refresh()
    # The others go on.
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("removed this collection in catalogue 2", "rsdump remove main/one"), str(outcome)
    assert packager.value("two") == 2 and packager.lock["catalogue"]["number"] == 2
    assert packager.verify().says("main/one: the publisher removed it in catalogue 2")
    assert rsdump.run("remove", "main/one", "--dumps", packager.path).code == rsdump.DONE
    packager.good()


def test_commands_are_told_of_the_catalogue_among_the_others(origin, tmp_path):
    hook = Hook(tmp_path)
    origin.publish("--on-change", hook.command, one=5)
    assert [each["collections"] for each in hook.take()] == [["main/one", CATALOGUE]]
    origin.publish("--on-change", hook.command)
    assert hook.take() == []


def test_who_reads_between_the_renames_of_a_publication_gets_one_catalogue(origin, tmp_path):
    """A publication is killed before each of its renames, and a server and apps start then."""
    library, log, stash = toolchain.preloadable("Faults/faults.c", tmp_path), tmp_path / "log", tmp_path / "stash"
    stash.mkdir()
    for name in ("one", "two"):
        (origin.path / f"sources/main/{name}.yaml").write_text("records:\n  - {id: a, value: 2}\n")

    def publish(work, at, **kind):
        log.unlink(missing_ok=True)
        faults = {"LD_PRELOAD": library, "FAULTS_BELOW": work.path, "FAULTS_PROGRAM": rsdump.BINARY.name,
                  "FAULTS_LOG": log, "FAULTS_STASH": stash, "FAULTS_AT": at, **kind}
        return work.run("publish", env={name: str(value) for name, value in faults.items()})

    assert publish(origin.copy(tmp_path / "counted"), 0).code == rsdump.DONE
    renames = {line.split(" ", 3)[3].removeprefix(f"{tmp_path}/counted/dumps/"): int(line.split()[0])
               for line in log.read_text().splitlines() if "rename" in line}
    bundles = ["main/one.zip", "main/two.zip", "publisher/catalogue.zip"]
    moments = [renames[name] for name in [*bundles, "dumps.lock.json"]]
    assert moments == sorted(moments), renames
    for moment in moments:
        work = origin.copy(tmp_path / f"work-{moment}")
        assert publish(work, moment, FAULTS_KIND="kill").code == -signal.SIGKILL
        assert work.dumps.lock["catalogue"]["number"] == 1
        with Serving("--dumps", work.dumps.path) as serving:
            listed = {r["collection"]: r["timestamp"] for r in serving.changeset(CATALOGUE).json()["changes"] if "sha256" in r}
            served = {name: serving.changeset(f"main/{name}").json() for name in ("one", "two")}
        assert listed == {name: answer["timestamp"] for name, answer in served.items()}, moment
        values = [answer["changes"][0]["value"] for answer in served.values()]
        for name in ("one", "two"):
            read = work.run(
                "get", f"main/{name}", "--storage", "app", "--packaged", "dumps", "--server", "http://127.0.0.1:8888/v1",
                "--trust-root", work.root, "--publisher", "settings.example.org")
            assert read.code == rsdump.DONE, str(read)
            values.append(re.search(r'"value": ?(\d)', read.out)[1])
        # The note of all bundles is the moment from which on the catalogue is the next one.
        assert set(map(str, values)) == {"2"}, (moment, values)
        assert work.run("publish").code == rsdump.DONE and work.dumps.lock["catalogue"]["number"] == 2
        shutil.rmtree(work.path)


def test_a_mirror_carries_the_catalogue(origin, tmp_path):
    output = tmp_path / "mirror"
    made = rsdump.run("export", "main/one", "--to", "mirror", "--dumps", origin.dumps.path, "--url", "https://m.example",
                      "--output", output)
    assert made.code == rsdump.DONE, str(made)
    text = "\n".join(str(path) for path in output.rglob("*"))
    assert "publisher" in text and "catalogue" in text and "main/collections/two" not in text
    archive = tmp_path / "dumps.tar.zst"
    packed = rsdump.run("export", "main/one", "--to", "tar.zst", "--dumps", origin.dumps.path, "--output", archive)
    assert packed.code == rsdump.DONE, str(packed)
    (tmp_path / "unpacked").mkdir()
    subprocess.run(["bsdtar", "-xf", archive, "-C", tmp_path / "unpacked"], check=True)
    verified = rsdump.run("verify", "--locked", "--dumps", tmp_path / "unpacked/dumps")
    assert verified.code == rsdump.DONE and verified.says("catalogue 1 of settings.example.org"), str(verified)
