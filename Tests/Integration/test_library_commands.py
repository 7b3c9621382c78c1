"""`rsdump get`, with `--sync` and without, which does what an app does with the library, seen from outside."""
import hashlib
import json
import re

import pytest

import rsdump
import samples
from dumps import Dumps

ICONS, SETTINGS, REGIONS = "main/icons", "main/settings", "main/regions"


class App:
    """An app's storage directory, and what it is configured with."""

    def __init__(self, storage, *options):
        self.storage, self.options = storage, options

    def sync(self, *arguments, **options):
        return rsdump.run("get", *arguments, "--sync", "--storage", self.storage, *self.options, **options)

    def get(self, *arguments, **options):
        return rsdump.run("get", *arguments, "--storage", self.storage, *self.options, **options)

    def records(self, *arguments):
        outcome = self.get(*arguments)
        assert outcome.code == rsdump.DONE, str(outcome)
        return {record["id"]: record for record in map(json.loads, outcome.out.splitlines())}


@pytest.fixture
def networked(sample, tmp_path):
    """Nothing packaged."""
    return App(tmp_path / "storage", "--server", sample.url, "--trust-root", sample.root)


@pytest.fixture
def packaged(dumps, tmp_path):
    """The sample collections as they are on the server; dumps.yaml says which server that is."""
    return App(tmp_path / "storage", "--packaged", dumps.path)


def served(server, name):
    return {record["id"]: record for record in server.changeset(name)["changes"]}


# First sync, delta, up to date


def test_sync_then_get(networked, sample):
    outcome = networked.sync(REGIONS, SETTINGS)
    assert outcome.code == rsdump.DONE, str(outcome)
    for name, line in zip((REGIONS, SETTINGS), outcome.err.splitlines(), strict=True):
        assert re.fullmatch(rf"{name}  updated, \d{{4}}-\d\d-\d\dT[\d:.]+Z", line), line
    expected = served(sample, REGIONS)
    ids = [json.loads(line)["id"] for line in outcome.out.splitlines()]
    assert ids == sorted(expected) + sorted(served(sample, SETTINGS))
    position = sample.log_position()
    assert networked.records(REGIONS) == expected
    assert sample.requests(position) == []
    outcome = networked.sync(REGIONS, SETTINGS)
    assert outcome.code == rsdump.DONE and outcome.err.count("up to date") == 2, str(outcome)
    assert len(sample.requests(position)) == 1


def test_only_what_is_newer_is_asked_for(packaged, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    position = sample.log_position()
    outcome = packaged.sync(*samples.NAMES)
    assert outcome.code == rsdump.DONE, str(outcome)
    asked = sample.requests(position)
    assert len(asked) == 3, asked    # the monitor, the changeset, the chain
    changeset, = [each for each in asked if "/settings/changeset" in each["path"]]
    assert "_since=" in changeset["path"]
    everything = len(json.dumps(sample.changeset("main/large")))
    assert sum(each["bytes"] for each in asked) < everything / 10
    assert outcome.err.count("up to date") == len(samples.NAMES) - 1
    assert packaged.records(SETTINGS) == served(sample, SETTINGS)


def test_deletions_arrive(packaged, sample):
    sample.delete_record(REGIONS, "nowhere")
    assert "nowhere" in packaged.records(REGIONS)
    assert packaged.sync(REGIONS).code == rsdump.DONE
    assert packaged.records(REGIONS) == served(sample, REGIONS)


def test_members_that_say_nothing_are_kept(networked, packaged, sample):
    """In full and in a delta: `attachment: null` and `deleted: false` are signed."""
    sample.patch_record(ICONS, "petals-05", {"attachment": None})
    sample.put_record(ICONS, {"id": "kept", "deleted": False})
    for app in (networked, packaged):
        assert app.sync(ICONS).code == rsdump.DONE
        records = app.records(ICONS)
        assert records == served(sample, ICONS)
        assert records["petals-05"]["attachment"] is None and records["kept"]["deleted"] is False
        assert app.get(ICONS, "--attachment", "petals-05").code == rsdump.SOME_FAILED


# Packaged, an empty storage directory, no network


def test_every_real_collection_offline(refreshed_real, real_names, real, tmp_path):
    app = App(tmp_path / "storage", "--packaged", refreshed_real.path)
    position = real.log_position()
    attachments = 0
    for name in real_names:
        records, bundle = app.records(name), refreshed_real.bundle(name)
        packaged = {record["id"]: record for record in bundle.records}
        assert list(records) == sorted(records), name
        assert all(packaged[identifier] == record for identifier, record in records.items()), name
        unfiltered = {i for i, record in packaged.items() if not record.get("filter_expression")}
        assert unfiltered <= records.keys(), name
        with_file = [each for each in records.values() if each.get("attachment")]
        for record in with_file[:1] + with_file[-1:]:
            target = tmp_path / "attachment"
            outcome = app.get(name, "--attachment", record["id"], "-o", target)
            assert outcome.code == rsdump.DONE and outcome.out == "", str(outcome)
            assert hashlib.sha256(target.read_bytes()).hexdigest() == record["attachment"]["hash"], name
            attachments += 1
    assert attachments > 10
    assert real.requests(position) == []
    assert not app.storage.exists(), "reading wrote something"


def test_a_collection_without_a_bundle_says_why(packaged, sample):
    position = sample.log_position()
    outcome = packaged.get("main/absent")
    assert outcome.code == rsdump.SOME_FAILED and outcome.out == "", str(outcome)
    assert outcome.says("main/absent", "the collection is neither packaged nor synced yet"), str(outcome)
    outcome = packaged.get("other/regions")
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("it is of the bucket main"), str(outcome)
    # A pinned root vouches for it, whatever server the app asks; without the root nobody does.
    elsewhere = REGIONS, "--server", "https://settings.example.org/v1"
    assert packaged.get(*elsewhere).code == rsdump.DONE
    outcome = packaged.get(*elsewhere, "--trust-root", sample.other_root)
    assert outcome.code == rsdump.SOME_FAILED, str(outcome)
    assert outcome.says("it is of the server", "settings.example.org"), str(outcome)
    outcome = packaged.get(REGIONS, "--trust-root", sample.other_root)
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("root"), str(outcome)
    assert sample.requests(position) == []


def test_a_damaged_bundle_says_what_is_wrong(packaged, dumps):
    path = dumps.bundle_path(REGIONS)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    outcome = packaged.get(REGIONS)
    assert outcome.code == rsdump.SOME_FAILED and outcome.out == "" and outcome.says("regions.zip"), str(outcome)
    assert packaged.records(SETTINGS)


# --explain, --context, --attachment


def test_explain(packaged, dumps, sample):
    plain = packaged.get(REGIONS)
    outcome = packaged.get(REGIONS, "--explain")
    assert outcome.code == rsdump.DONE and outcome.out == plain.out and plain.err == "", str(outcome)
    told = dict(line.split(None, 1) for line in outcome.err.splitlines())
    timestamp = dumps.lock["collections"][REGIONS]["timestamp"]
    assert told["collection"] == REGIONS
    assert told["source"] == f"packaged in {dumps.path}"
    assert told["timestamp"].split()[0] == str(timestamp)
    assert told["age"].split()[0].isdigit()
    assert told["records"].split()[0] == str(len(served(sample, REGIONS)))
    assert "remote-settings.content-signature.mozilla.org" in told["signature"]
    sample.patch_record(REGIONS, "at", {"currency": "ATS"})
    assert packaged.sync(REGIONS).code == rsdump.DONE
    outcome = packaged.get(REGIONS, "--explain")
    assert outcome.says("stored by a sync", "not used", "there is a newer one"), str(outcome)
    outcome = packaged.get("main/absent", "--explain")
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("source      none"), str(outcome)


CONTEXT = {
    "channel": ("env.channel == 'nightly'", "nightly"),
    "version": ("env.version|versionCompare('120.0') >= 0", "121.0"),
    "appId": ("env.appinfo.ID == 'app@example.org'", "app@example.org"),
    "locale": ("env.locale == 'de-AT'", "de-AT"),
    "os": ("env.appinfo.OS == 'Linux' && env.os.name == 'Linux'", "Linux"),
    "osVersion": ("env.os.version == '6.1' && env.appinfo.os.version == '6.1'", "6.1"),
    "formFactor": ("env.formFactor == 'tablet'", "tablet"),
    "country": ("env.country == 'DE'", "DE"),
    "colour": ("env.colour == 'red=green'", "red=green"),
}


def test_context(networked, sample):
    for key, (expression, _) in CONTEXT.items():
        sample.put_record(SETTINGS, {"id": f"for-{key}", "filter_expression": expression})
    assert networked.sync(SETTINGS).code == rsdump.DONE
    usual = networked.records(SETTINGS).keys()
    assert not any(identifier.startswith("for-") for identifier in usual)
    for key, (_, value) in CONTEXT.items():
        assert networked.records(SETTINGS, "--context", f"{key}={value}").keys() - usual == {f"for-{key}"}, key
    everything = sum((["--context", f"{key}={value}"] for key, (_, value) in CONTEXT.items()), [])
    assert networked.records(SETTINGS, *everything).keys() - usual == {f"for-{key}" for key in CONTEXT}
    for bad in ("country", "=DE"):
        outcome = networked.get(SETTINGS, "--context", bad)
        assert outcome.code == rsdump.USAGE and outcome.says("KEY=VALUE"), str(outcome)


def test_attachment(packaged, sample, tmp_path):
    record = served(sample, ICONS)["petals-05"]
    target = tmp_path / "icon.svg"
    position = sample.log_position()
    outcome = packaged.get(ICONS, "--attachment", "petals-05", "-o", target, "--explain")
    assert outcome.code == rsdump.DONE and outcome.out == "", str(outcome)
    assert target.read_bytes() == samples.svg(5) and outcome.says("packaged in"), str(outcome)
    outcome = packaged.get(ICONS, "--attachment", "petals-05")
    assert outcome.out.encode() == samples.svg(5), str(outcome)
    assert sample.requests(position) == []
    outcome = packaged.get(ICONS, "--attachment", "absent", "-o", tmp_path / "none")
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("absent"), str(outcome)
    outcome = packaged.get(SETTINGS, "--attachment", "telemetry", "-o", tmp_path / "none")
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("telemetry", "none"), str(outcome)
    outcome = packaged.get(ICONS, "-o", tmp_path / "none")
    assert outcome.code == rsdump.USAGE and outcome.says("--attachment"), str(outcome)
    assert not (tmp_path / "none").exists() and record["attachment"]["size"] == len(samples.svg(5))


def test_an_attachment_is_downloaded_once(networked, sample, tmp_path):
    assert networked.sync(ICONS).code == rsdump.DONE
    outcome = networked.get(ICONS, "--attachment", "petals-07", "-o", tmp_path / "icon", "--explain")
    assert outcome.code == rsdump.DONE and outcome.says("downloaded now"), str(outcome)
    position = sample.log_position()
    outcome = networked.get(ICONS, "--attachment", "petals-07", "-o", tmp_path / "icon", "--explain")
    assert outcome.code == rsdump.DONE and outcome.says("stored"), str(outcome)
    assert sample.requests(position) == [] and (tmp_path / "icon").read_bytes() == samples.svg(7)


def test_a_wrong_attachment_is_never_written(networked, sample, tmp_path):
    assert networked.sync(ICONS).code == rsdump.DONE
    sample.faults({"path": "petals-07", "corrupt": True})
    outcome = networked.get(ICONS, "--attachment", "petals-07", "-o", tmp_path / "icon")
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("SHA-256"), str(outcome)
    assert not (tmp_path / "icon").exists()


def test_what_is_not_there_is_named_with_its_remedy(networked, packaged):
    outcome = networked.get(REGIONS)
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("give --sync"), str(outcome)
    both = packaged.get("main/absent", SETTINGS, "main/none")
    assert both.code == rsdump.SOME_FAILED and both.says("main/absent", "main/none") and both.out.count("\n") == 5, str(both)
    outcome = packaged.get(REGIONS, ICONS, "--attachment", "petals-05")
    assert outcome.code == rsdump.USAGE and outcome.says("one collection"), str(outcome)


# Exit codes


@pytest.mark.parametrize("arguments", [
    ["regions"], ["main/regions", "--packaged"], [], ["main/regions", "--server", "nonsense"],
    ["main/regions", "--trust-root", "12"], ["main/../x"], ["main/regions", "--unknown"],
])
@pytest.mark.parametrize("more", [[], ["--sync"]], ids=["get", "sync"])
def test_bad_usage(more, arguments, tmp_path):
    outcome = rsdump.run("get", *arguments, *more, "--storage", tmp_path / "storage")
    assert outcome.code == rsdump.USAGE and outcome.out == "" and outcome.err, str(outcome)
    assert not (tmp_path / "storage").exists()


@pytest.mark.parametrize("more", [[], ["--sync"]], ids=["get", "sync"])
def test_a_server_whose_root_nobody_named(more, sample, tmp_path):
    outcome = rsdump.run("get", REGIONS, *more, "--storage", tmp_path / "storage", "--server", sample.url)
    assert outcome.code == rsdump.USAGE and outcome.says("--trust-root"), str(outcome)


@pytest.mark.parametrize("server", [
    "prod", "https://firefox.settings.services.mozilla.com/v1", "https://FIREFOX.settings.services.mozilla.com:443/v2/",
    "https://firefox.settings.services.allizom.org/v1", "https://remote-settings-dev.allizom.org/v2",
])
def test_mozillas_servers_are_known_by_their_urls(server, tmp_path):
    """Their roots are built in. Nothing is asked of them here."""
    found = rsdump.run("get", REGIONS, "--storage", tmp_path / "storage", "--server", server)
    assert found.code == rsdump.SOME_FAILED and not found.says("--trust-root"), str(found)
    assert rsdump.run("add", REGIONS, "--dumps", tmp_path, "--server", server).code == rsdump.DONE
    verified = rsdump.run("verify", "--dumps", tmp_path)
    assert verified.says("never been fetched") and not verified.says("no root is trusted"), str(verified)
    other = server.replace(".com", ".com.example.org").replace(".org/", ".org.example.org/").replace("prod", "http://localhost/v1")
    refused = rsdump.run("get", REGIONS, "--storage", tmp_path / "storage", "--server", other)
    assert refused.code == rsdump.USAGE and refused.says("--trust-root"), str(refused)


@pytest.mark.parametrize("more", [[], ["--sync"]], ids=["get", "sync"])
def test_a_storage_directory_is_needed(more):
    outcome = rsdump.run("get", REGIONS, *more)
    assert outcome.code == rsdump.USAGE and outcome.says("--storage"), str(outcome)


def test_nothing_reachable(tmp_path, sample):
    # Port 1 of this machine: nobody listens there.
    app = App(tmp_path / "storage", "--server", "http://127.0.0.1:1/v1", "--trust-root", sample.root)
    outcome = app.sync(REGIONS)
    assert outcome.code == rsdump.UNREACHABLE and outcome.out == "", str(outcome)


def test_a_server_that_asks_to_wait(networked, sample):
    sample.faults({"path": "monitor", "status": 503, "headers": {"Retry-After": "3600"}})
    outcome = networked.sync(REGIONS)
    assert outcome.code == rsdump.BACKOFF, str(outcome)
    sample.faults()
    # It is obeyed by the next process as well.
    position = sample.log_position()
    outcome = networked.sync(REGIONS)
    assert outcome.code == rsdump.BACKOFF and sample.requests(position) == [], str(outcome)


def test_a_backoff_on_every_answer_delays_the_next_sync_only(networked, sample):
    sample.faults({"path": "", "headers": {"Backoff": "3600"}})
    outcome = networked.sync(REGIONS, SETTINGS)
    assert outcome.code == rsdump.DONE, str(outcome)
    assert networked.records(REGIONS) == served(sample, REGIONS)
    position = sample.log_position()
    outcome = networked.sync(REGIONS)
    assert outcome.code == rsdump.BACKOFF and sample.requests(position) == [], str(outcome)


def test_one_that_fails_does_not_stop_the_others(networked, sample):
    sample.faults({"path": "settings/changeset", "body": "{}"})
    outcome = networked.sync(SETTINGS, REGIONS, "main/absent")
    assert outcome.code == rsdump.SOME_FAILED, str(outcome)
    assert f"{REGIONS}  updated" in outcome.err and outcome.err.count("updated") == 1
    assert {json.loads(line)["id"] for line in outcome.out.splitlines()} == served(sample, REGIONS).keys()
    assert SETTINGS in outcome.err and "main/absent" in outcome.err
    assert networked.records(REGIONS) == served(sample, REGIONS)
    assert networked.get(SETTINGS).code == rsdump.SOME_FAILED


# A server that lies


def lie(server, name, how):
    answer = server.changeset(name)
    if how == "another record":
        answer["changes"].append({"id": "evil", "last_modified": answer["timestamp"]})
    elif how == "a changed record":
        answer["changes"][0]["evil"] = True
    elif how == "the change left out":
        answer["changes"] = [each for each in answer["changes"] if each["id"] != "at"]
    elif how == "no signature":
        answer["metadata"].pop("signature", None)
        answer["metadata"].pop("signatures", None)
    elif how == "another timestamp":
        answer["timestamp"] += 1
    elif how == "another collection":
        answer = server.changeset(SETTINGS)
    server.faults({"path": f"{name}/changeset".replace("/", "/collections/", 1), "body": json.dumps(answer)})


@pytest.mark.parametrize("how", [
    "another record", "a changed record", "the change left out", "no signature", "another timestamp",
    "another collection"])
def test_a_server_that_lies(packaged, sample, how):
    before = packaged.records(REGIONS)
    sample.patch_record(REGIONS, "at", {"currency": "ATS"})
    lie(sample, REGIONS, how)
    outcome = packaged.sync(REGIONS)
    assert outcome.code == rsdump.SOME_FAILED and REGIONS in outcome.err, str(outcome)
    # What is packaged is printed, as an app would read it.
    assert {record["id"]: record for record in map(json.loads, outcome.out.splitlines())} == before
    assert packaged.records(REGIONS) == before
    sample.faults()
    assert packaged.sync(REGIONS).code == rsdump.DONE
    assert packaged.records(REGIONS) == served(sample, REGIONS)


def test_a_signature_of_another_root(packaged, sample):
    before = packaged.records(REGIONS)
    sample.signing(REGIONS, {"chain": "otherroot"})
    sample.patch_record(REGIONS, "at", {"currency": "ATS"})
    outcome = packaged.sync(REGIONS)
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("root"), str(outcome)
    assert packaged.records(REGIONS) == before


def test_an_older_state_again(networked, sample):
    old = json.dumps(sample.changeset(REGIONS))
    sample.patch_record(REGIONS, "at", {"currency": "ATS"})
    assert networked.sync(REGIONS).code == rsdump.DONE
    before = networked.records(REGIONS)
    sample.patch_record(REGIONS, "at", {"currency": "EUR"})
    sample.faults({"path": "regions/changeset", "body": old})
    outcome = networked.sync(REGIONS)
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("older state"), str(outcome)
    assert networked.records(REGIONS) == before


def test_a_storage_file_that_lies(networked, packaged, sample):
    sample.patch_record(REGIONS, "at", {"currency": "ATS"})
    assert packaged.sync(REGIONS).code == rsdump.DONE
    stored, = (packaged.storage / "states").iterdir()
    stored.write_bytes(stored.read_bytes().replace(b'"ATS"', b'"XXX"'))
    records = packaged.records(REGIONS)
    assert records["at"].get("currency") != "XXX"
    outcome = packaged.get(REGIONS, "--explain")
    assert outcome.says("packaged in"), str(outcome)
    assert packaged.sync(REGIONS).code == rsdump.DONE
    assert packaged.records(REGIONS) == served(sample, REGIONS)


def test_unsigned_only_in_so_many_words(sample, tmp_path):
    """The test server signs in `main` and `security-state` only."""
    name = "unsigned/things"
    sample.put_collection(name)
    sample.put_record(name, {"id": "a"})
    plain = App(tmp_path / "storage", "--server", sample.url, "--trust-root", sample.root)
    assert plain.sync(name).code == rsdump.SOME_FAILED
    dumps = Dumps(tmp_path / "dumps")
    assert dumps.add(sample, name).code == rsdump.DONE
    text = dumps.config.read_text(encoding="utf-8")
    dumps.config.write_text(text.replace("trust:\n", "trust:\n  accept-unsigned: true\n"), encoding="utf-8")
    assert dumps.refresh().code == rsdump.DONE
    app = App(tmp_path / "storage", "--packaged", dumps.path)
    assert app.records(name).keys() == {"a"}
    sample.put_record(name, {"id": "b"})
    assert app.sync(name).code == rsdump.DONE
    assert app.records(name).keys() == {"a", "b"}
    assert app.get(name, "--explain").says("signature   none")
    # Without those words, neither what is packaged nor what is stored.
    outcome = plain.get(name)
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("it has no signature"), str(outcome)
