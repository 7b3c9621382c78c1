"""A server error affects only its own collection. CollectionRefreshTests covers each response, FormatTests covers signatures and
chains, and ServerLieTests covers transports."""
import json
import re
import time

import pytest

import rsdump
import samples
from dumps import Dumps
from test_changes import ICONS, MARKETS, SETTINGS

CHANGESET = r"collections/settings/changeset"
MONITOR = r"monitor/collections/changes/changeset"
DAY = 86_400_000


def edit(sample):
    """Changes the collection that will fail and one that will not."""
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    sample.delete_record(MARKETS, "nowhere")


def check_isolated(dumps, outcome, before, failed):
    """Checks that `failed` is reported and unchanged, and that main/markets is refreshed."""
    assert outcome.code == rsdump.SOME_FAILED, str(outcome)
    assert outcome.says(failed), str(outcome)
    after = dumps.files()
    assert after[f"{failed}.zip"] == before[f"{failed}.zip"]
    assert after[f"{MARKETS}.zip"] != before[f"{MARKETS}.zip"], str(outcome)
    assert "nowhere" not in {record["id"] for record in dumps.bundle(MARKETS).records}
    assert dumps.verify().code == rsdump.DONE


@pytest.mark.parametrize("fault", [
    {"status": 503},
    {"endless": True},
    {"redirect": "file:///etc/passwd"},
    {"body": "{}"},
    {"corrupt": True},
], ids=lambda fault: next(f"{key} {str(value)[:12]}" for key, value in fault.items()))
def test_unusable_changeset_isolates_collection(dumps, sample, fault):
    before = dumps.files()
    edit(sample)
    sample.faults({"path": CHANGESET, **fault})
    check_isolated(dumps, dumps.refresh(), before, SETTINGS)


@pytest.mark.parametrize("signature", [
    {"tampered": True}, {"chain": "expired"}, {"chain": "otherroot"},
], ids=lambda signature: " ".join(map(str, signature.values())))
def test_invalid_signature_isolates_collection(dumps, sample, signature):
    before = dumps.files()
    sample.signing(SETTINGS, signature)
    edit(sample)
    check_isolated(dumps, dumps.refresh(), before, SETTINGS)


@pytest.mark.parametrize("fault", [
    {"status": 404}, {"body": "no certificate"},
], ids=lambda fault: next(f"{key} {str(value)[:12]}" for key, value in fault.items()))
def test_unusable_chain_isolates_collection(dumps, sample, fault):
    before = dumps.files()
    sample.signing(SETTINGS, {"key": "next"})
    edit(sample)
    sample.faults({"path": "chains/next.pem", **fault})
    check_isolated(dumps, dumps.refresh(), before, SETTINGS)


def test_chain_server_backoff(sample, empty):
    """The signature is not at fault: the underlying cause determines the exit code."""
    empty.add(sample, SETTINGS, MARKETS)
    sample.faults({"path": "chains/", "status": 503, "headers": {"Retry-After": "70"}})
    outcome = empty.refresh()
    assert outcome.code == rsdump.BACKOFF and not outcome.says("no valid signature"), str(outcome)
    again = empty.refresh()
    assert again.code == rsdump.BACKOFF and empty.names == [], str(again)


def test_chain_server_error_is_unreachable(sample, empty):
    empty.add(sample, SETTINGS)
    sample.faults({"path": "chains/", "status": 500})
    outcome = empty.refresh()
    assert outcome.code == rsdump.UNREACHABLE and outcome.says("500", "chains/"), str(outcome)


@pytest.mark.parametrize("fault", [
    {"corrupt": True}, {"status": 404},
], ids=lambda fault: next(f"{key} {value}" for key, value in fault.items()))
def test_unusable_attachment_isolates_collection(dumps, sample, fault):
    before = dumps.files()
    edit(sample)
    sample.put_attachment(ICONS, "petals-23", "petals-23.svg", samples.svg(23), "image/svg+xml")
    record = next(each for each in sample.changeset(ICONS)["changes"] if each["id"] == "petals-23")
    sample.faults({"path": record["attachment"]["location"], **fault})
    check_isolated(dumps, dumps.refresh(), before, ICONS)


def test_rollback_of_the_server_is_refused(dumps, sample):
    """The monitor announces a new state, but the changeset is older and correctly signed."""
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    assert dumps.refresh().code == rsdump.DONE
    held = dumps.bundle(SETTINGS).timestamp
    sample.restore("seeded")
    older = sample.changeset(SETTINGS)
    assert older["timestamp"] < held
    edit(sample)
    before = dumps.files()
    sample.faults({"path": CHANGESET, "body": json.dumps(older)})
    check_isolated(dumps, dumps.refresh(), before, SETTINGS)


@pytest.mark.parametrize("timestamp", [lambda: int(time.time() * 1000) + 2 * DAY, lambda: 4_102_444_800_000],
                         ids=["in two days", "in 2100"])
def test_state_with_future_timestamp_is_refused(dumps, sample, timestamp):
    """It is signed, and once accepted it would make all later states look like rollbacks."""
    before = dumps.files()
    sample.put_record(SETTINGS, {"id": "late", "value": True, "last_modified": timestamp()})
    sample.delete_record(MARKETS, "nowhere")
    outcome = dumps.refresh()
    check_isolated(dumps, outcome, before, SETTINGS)
    assert outcome.says("from the future"), str(outcome)


def test_state_hours_ahead_is_accepted(dumps, sample):
    """Clocks may differ."""
    ahead = int(time.time() * 1000) + DAY // 2
    sample.put_record(SETTINGS, {"id": "late", "value": True, "last_modified": ahead})
    assert dumps.refresh().code == rsdump.DONE
    assert dumps.bundle(SETTINGS).timestamp == ahead
    assert dumps.verify().code == rsdump.DONE


def written(dumps):
    """The stats of all files. The directory itself is excluded, because work in .rsdump/ changes its modification time."""
    return {path: each for path, each in dumps.stats().items() if path != "."}


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_older_monitor_is_no_rollback(sample, tmp_path, version):
    """The monitor is stale, because of a cache or an export before the publication: the client bypasses the cache."""
    dumps = Dumps(tmp_path / "dumps")
    assert dumps.add(sample, *samples.NAMES, url=sample.v2 if version == "v2" else sample.url).code == rsdump.DONE
    stale = json.dumps(sample.monitor())
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    assert dumps.refresh().code == rsdump.DONE
    held, before = dumps.bundle(SETTINGS).timestamp, written(dumps)
    sample.faults({"path": MONITOR, "body": stale})
    for arguments in ((), ("--full",), ("--locked",)):
        position = sample.log_position()
        outcome = dumps.refresh(*arguments)
        assert outcome.code == rsdump.DONE, str(outcome)
        assert written(dumps) == before, str(outcome)
        asked = [each["path"] for each in sample.requests(position) if "/settings/changeset" in each["path"]]
        assert asked and all(f"_expected={held}" in path for path in asked), asked
    assert dumps.status().code == rsdump.DONE
    same = rsdump.run("diff", dumps.path, "server", "--dumps", dumps.path, "--exit-code")
    assert same.code == rsdump.DONE, str(same)
    # Changes that the monitor does not list yet are fetched anyway.
    sample.patch_record(SETTINGS, "telemetry", {"value": "newer"})
    assert dumps.refresh().code == rsdump.DONE
    assert {r["id"]: r for r in dumps.bundle(SETTINGS).records}["telemetry"]["value"] == "newer"


def test_changeset_cut_by_page_limit_is_refused(sample, empty):
    """A page limit drops records, but the signature covers all of them."""
    changeset = sample.changeset(MARKETS)
    total = len(changeset["changes"])
    changeset["changes"] = changeset["changes"][:3]
    empty.add(sample, MARKETS)
    sample.faults({
        "path": "markets/changeset", "body": json.dumps(changeset), "headers": {"Total-Records": total}})
    outcome = empty.refresh()
    assert outcome.code == rsdump.SOME_FAILED, str(outcome)
    assert outcome.says("the list of records is incomplete", f"the server announced {total} records but sent 3"), str(outcome)


@pytest.mark.parametrize("headers", [{"Backoff": "3600"}, {"Retry-After": "3600"}], ids=lambda headers: next(iter(headers)))
def test_backoff_is_obeyed_by_next_run(dumps, sample, headers):
    sample.faults({"path": "monitor", "status": 503, "headers": headers})
    first = dumps.refresh()
    assert first.code == rsdump.BACKOFF, str(first)
    sample.faults()
    position = sample.log_position()
    second = dumps.refresh()
    assert second.code == rsdump.BACKOFF, str(second)
    assert any(str(seconds) in second.out + second.err for seconds in range(3500, 3601)), str(second)
    assert sample.requests(position) == []


def test_status_during_backoff_shows_local_state(dumps, sample):
    sample.faults({"path": "monitor", "status": 503, "headers": {"Retry-After": "3600"}})
    assert dumps.refresh().code == rsdump.BACKOFF
    outcome = dumps.status()
    assert outcome.code == rsdump.BACKOFF and "asked clients to wait" in outcome.err, str(outcome)
    # Ages in seconds may differ by 1.
    without_ages = [re.sub(r"\d+ s\b", "…", text) for text in (outcome.out, dumps.status("--offline").out)]
    assert without_ages[0] == without_ages[1] and SETTINGS in outcome.out
    assert dumps.status("--format", "json").json()["offline"] is True


@pytest.mark.parametrize("entry", ["records", "attachment", "chain"])
def test_edited_bundle_and_lock_fail_verification(dumps, entry):
    """Only verification detects the edit, a refresh does not, and the error says how to recreate the bundle."""
    before = dumps.bundle(ICONS).entries
    attachment = next(name for name in before if name.startswith("attachments/"))
    dumps.edit_bundle(ICONS, *{
        "records": ("records.json", b'"petals"', b'"sepals"'),
        "attachment": (attachment, b"<", b">"),
        "chain": ("chain.pem", b"M", b"N"),
    }[entry])
    assert dumps.refresh().code == rsdump.DONE
    outcome = dumps.verify("--locked")
    assert outcome.code == rsdump.VERIFICATION, str(outcome)
    assert re.search(f"^{ICONS} +failed: .*rsdump refresh --dumps \\S+ --full", outcome.out, re.MULTILINE), str(outcome)
    mended = dumps.refresh("--full", ICONS)
    assert mended.code == rsdump.DONE, str(mended)
    assert dumps.verify("--locked").code == rsdump.DONE
    assert dumps.bundle(ICONS).entries == before


@pytest.mark.parametrize("command", ["refresh", "status", "diff", "get"])
@pytest.mark.parametrize("fault, code", [
    ({"status": 503}, rsdump.UNREACHABLE),
    ({"status": 503, "headers": {"Retry-After": "3600"}}, rsdump.BACKOFF),
    ({"body": "no JSON"}, rsdump.SOME_FAILED),
], ids=str)
def test_exit_codes_agree_between_commands(dumps, sample, tmp_path, command, fault, code):
    sample.faults({"path": MONITOR, **fault})
    arguments = {
        "refresh": ["--dumps", dumps.path],
        "status": ["--dumps", dumps.path],
        "diff": [dumps.path, "server", "--dumps", dumps.path],
        "get": [SETTINGS, "--sync", "--storage", tmp_path / "storage", "--packaged", dumps.path],
    }[command]
    outcome = rsdump.run(command, *arguments)
    if command == "diff" and code == rsdump.SOME_FAILED:
        # For diff, exit code 1 means that the sides differ.
        code = rsdump.VERIFICATION
    assert outcome.code == code, str(outcome)


@pytest.mark.parametrize("status", [401, 403])
def test_refused_access_is_not_missing_collection(dumps, sample, status):
    """The monitor lists the collection, so its name is correct and it still exists."""
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    sample.faults({"path": "collections/settings/changeset", "status": status})
    outcome = dumps.refresh()
    assert outcome.code == rsdump.SOME_FAILED, str(outcome)
    assert outcome.says(f"answered {status}", "denies access"), str(outcome)
    assert not outcome.says("no longer has") and not outcome.says("no such collection"), str(outcome)
