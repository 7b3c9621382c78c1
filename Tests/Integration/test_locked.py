"""Locked runs against a faulty server. Other cases are in commands/locked-refresh.txt and commands/locked.txt."""
import json
import zipfile

import rsdump
from test_changes import SETTINGS


def locked(dumps, code):
    """Runs a locked refresh, which must leave the directory unchanged."""
    names, stats = sorted(path.name for path in dumps.path.iterdir()), dumps.stats()
    outcome = dumps.refresh("--locked")
    assert outcome.code == code, str(outcome)
    assert dumps.stats() == stats and sorted(path.name for path in dumps.path.iterdir()) == names
    return outcome


def test_locked_refresh_of_unlisted_collection(dumps, sample):
    unlisted = json.dumps({"timestamp": 1, "metadata": {}, "changes": []})
    sample.faults({"path": "monitor", "body": unlisted})
    locked(dumps, rsdump.DONE)
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    assert locked(dumps, rsdump.WOULD_CHANGE).says(SETTINGS)


def test_failed_locked_refresh_writes_no_state(dumps, sample):
    sample.faults({"path": "monitor", "status": 503, "headers": {"Retry-After": "3600"}})
    locked(dumps, rsdump.BACKOFF)
    sample.faults()
    # The backoff was not saved, so it does not delay the next run.
    locked(dumps, rsdump.DONE)
    sample.faults({"path": "monitor", "status": 404})
    locked(dumps, rsdump.SOME_FAILED)


def test_rebuild_with_other_compressor(dumps):
    name = "main/large"
    dumps.rewrite(name, dumps.bundle(name).entries, compress_type=zipfile.ZIP_DEFLATED, compresslevel=1)
    verified = dumps.verify("--locked")
    assert verified.code == rsdump.DONE, str(verified)
    outcome = dumps.verify("--rebuild")
    assert outcome.code == rsdump.VERIFICATION and outcome.says("same content, different bytes", "4 of 5"), str(outcome)
    outcome = dumps.verify("--rebuild", name, "--format", "json")
    report = outcome.json()["rebuild"]
    (large,) = report["collections"]
    assert outcome.code == rsdump.VERIFICATION and report["identical"] is False and large["status"] == "same-content"
    assert large["rebuiltBundle"]["size"] < large["lockedBundle"]["size"]
