"""How a refresh handles changes on the server."""

import rsdump
import samples
from dumps import Dumps
from serve import Serving

ICONS, SETTINGS, MARKETS = "main/icons", "main/settings", "main/markets"


def changed_paths(before, after):
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def refresh(dumps, *options):
    outcome = dumps.refresh(*options)
    assert outcome.code == rsdump.DONE, str(outcome)
    return outcome


def identifiers(dumps, name):
    return {record["id"] for record in dumps.bundle(name).records}


def test_new_signatures_change_no_bundle(dumps, sample):
    before = dumps.stats()
    sample.sign_again()
    position = sample.log_position()
    refresh(dumps)
    assert dumps.stats() == before
    assert len(sample.requests(position)) == 1


def test_added_edited_and_deleted_records_arrive(dumps, sample):
    before = dumps.files()
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    sample.put_attachment(ICONS, "petals-23", "petals-23.svg", samples.svg(23), "image/svg+xml")
    sample.delete_record(MARKETS, "nowhere")
    position = sample.log_position()
    refresh(dumps)
    assert changed_paths(before, dumps.files()) == {
        "main/icons.zip", "main/settings.zip", "main/markets.zip", "dumps.lock.json"}
    assert samples.svg(23) in dumps.bundle(ICONS).attachments.values()
    assert "nowhere" not in identifiers(dumps, MARKETS)
    assert {r["id"]: r for r in dumps.bundle(SETTINGS).records}["telemetry"]["value"] is True
    fetched = [each["path"] for each in sample.requests(position) if "/attachments/" in each["path"]]
    assert len(fetched) == 1, fetched
    assert dumps.verify().code == rsdump.DONE


def test_signature_without_chain_counts_as_unsigned(sample, tmp_path):
    """As on a local server set up by Mozilla's documentation: x5u is empty."""
    dumps = Dumps(tmp_path / "dumps")
    for name in samples.NAMES:
        sample.signing(name, {"nochain": True})
    assert dumps.add(sample, *samples.NAMES).code == rsdump.DONE
    position = sample.log_position()
    outcome = dumps.refresh()
    assert outcome.code == rsdump.SOME_FAILED, str(outcome)
    assert outcome.says("no certificate chain", "accept-unsigned: true"), str(outcome)
    asked = [each["path"] for each in sample.requests(position)]
    # The root document gives the base URL of attachments. No certificate chain is requested.
    assert all("changeset" in path or path == "/v1/" for path in asked), asked
    text = dumps.config.read_text()
    assert text.count("trust:\n") == 1, text
    dumps.config.write_text(text.replace("trust:\n", "trust:\n  accept-unsigned: true\n"))
    refresh(dumps)
    assert {entry["trust"] for entry in dumps.lock["collections"].values()} == {"unsigned"}, dumps.lock
    assert dumps.verify("--locked").code == rsdump.DONE
    accepting = dumps.config.read_text()
    dumps.config.write_text(text)
    outcome = dumps.verify("--locked")
    assert outcome.code == rsdump.VERIFICATION and outcome.says("no longer accepts unsigned data"), str(outcome)
    dumps.config.write_text(accepting)
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    synced = rsdump.run("get", "--sync", SETTINGS, "--storage", tmp_path / "storage", "--packaged", dumps.path)
    assert synced.code == rsdump.DONE and synced.says("updated"), str(synced)
    refresh(dumps)
    assert {r["id"]: r for r in dumps.bundle(SETTINGS).records}["telemetry"]["value"] is True
    with Serving("--dumps", dumps.path) as serving:
        answer = serving.ask("/v1/buckets/main/collections/settings/changeset?_expected=0").json()
        assert [each["x5u"] for each in answer["metadata"]["signatures"]] == [""]
        assert len(answer["changes"]) == len(dumps.bundle(SETTINGS).records)


def test_signed_collection_refuses_missing_chain(dumps, sample):
    before = dumps.files()
    text = dumps.config.read_text()
    dumps.config.write_text(text.replace("trust:\n", "trust:\n  accept-unsigned: true\n"))
    sample.signing(SETTINGS, {"nochain": True})
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    outcome = dumps.refresh()
    assert outcome.code == rsdump.SOME_FAILED and outcome.says(SETTINGS, "signed before"), str(outcome)
    assert dumps.files()["main/settings.zip"] == before["main/settings.zip"]


def test_an_alert_is_shown(dumps, sample):
    sample.kinto(eos="2999-01-01", eos_url="https://example.org/end", eos_message="Move to the next server")
    outcome = dumps.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    assert outcome.says("Move to the next server"), str(outcome)
