"""Locked runs: nothing may change. What verify --locked and --rebuild say is in commands/locked.txt."""
import fcntl
import json
import os
import re
import shutil
import subprocess
import zipfile

import pytest

import rsdump
from git import GitTree
from test_changes import ICONS, MARKETS, SETTINGS
from test_merge import import_unsigned
from test_pins import everything, flip_in_chain, pinned

WOULD_CHANGE = 6


def locked(dumps, *arguments, code, **options):
    """A locked refresh, which must leave every byte of the directory as it is."""
    before, stats = everything(dumps), dumps.stats()
    names = sorted(path.name for path in dumps.path.iterdir())
    outcome = dumps.refresh("--locked", *arguments, **options)
    assert outcome.code == code, str(outcome)
    assert everything(dumps) == before and dumps.stats() == stats
    assert sorted(path.name for path in dumps.path.iterdir()) == names
    return outcome


def test_nothing_changed(dumps, sample):
    position = sample.log_position()
    assert locked(dumps, code=rsdump.DONE).says("nothing would change")
    assert len(sample.requests(position)) == 1


def test_locked_refresh_with_newer_server_state(dumps, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    assert locked(dumps, code=WOULD_CHANGE).says(SETTINGS, "would be updated", "something would change")
    report = locked(dumps, "--format", "json", code=WOULD_CHANGE).json()
    assert report["locked"] is True and report["exitCode"] == WOULD_CHANGE
    # Other collections than the changed one may be named.
    locked(dumps, MARKETS, code=rsdump.DONE)


def test_locked_refresh_with_damaged_bundle(dumps):
    path = dumps.bundle_path(SETTINGS)
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    assert locked(dumps, code=WOULD_CHANGE).says(SETTINGS)
    path.unlink()
    assert locked(dumps, code=WOULD_CHANGE).says(SETTINGS, "missing")
    path.write_bytes(content)
    locked(dumps, code=rsdump.DONE)


def test_locked_refresh_with_changed_configuration(dumps, sample):
    text = dumps.config.read_text()
    dumps.config.write_text(text.replace(f"  {ICONS}:\n    attachments: all\n", f"  {ICONS}:\n    attachments: none\n"))
    assert dumps.config.read_text() != text
    assert locked(dumps, code=WOULD_CHANGE).says(ICONS, "attachment rule")
    dumps.config.write_text(text)
    sample.put_collection("main/another")
    assert dumps.add(sample, "main/another").code == rsdump.DONE
    assert locked(dumps, code=WOULD_CHANGE).says("main/another", "would be created")


def test_locked_refresh_after_interrupted_refresh(dumps, sample):
    lock = dumps.path / "dumps.lock.json"
    before = lock.read_bytes()
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    assert dumps.refresh().code == rsdump.DONE
    dumps.interrupt(before, SETTINGS)
    locked(dumps, code=WOULD_CHANGE)


def test_locked_refresh_accepts_pinned_collection(dumps, sample):
    pinned(dumps, SETTINGS)
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    locked(dumps, code=rsdump.DONE)


def test_locked_refresh_of_unlisted_collection(dumps, sample):
    unlisted = json.dumps({"timestamp": 1, "metadata": {}, "changes": []})
    sample.faults({"path": "monitor", "body": unlisted})
    locked(dumps, code=rsdump.DONE)
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    assert locked(dumps, code=WOULD_CHANGE).says(SETTINGS)


def test_failed_locked_refresh_writes_no_state(dumps, sample):
    sample.faults({"path": "monitor", "status": 503, "headers": {"Retry-After": "3600"}})
    locked(dumps, code=rsdump.BACKOFF)
    sample.faults()
    # What no file keeps does not hold the next run up.
    locked(dumps, code=rsdump.DONE)
    sample.faults({"path": "monitor", "status": 404})
    locked(dumps, code=rsdump.SOME_FAILED)


def test_locked_excludes_other_modes(dumps):
    for flag in ("--dry-run", "--full"):
        assert dumps.refresh("--locked", flag).code == rsdump.USAGE
    assert dumps.verify("--locked", SETTINGS).code == rsdump.USAGE


# verify --locked


@pytest.mark.parametrize("is_pinned", [False, True])
def test_verify_locked_finds_unmet_configuration(dumps, is_pinned):
    if is_pinned:
        pinned(dumps, ICONS)
    assert "would be" not in dumps.status("--offline").out
    text = dumps.config.read_text()
    dumps.config.write_text(re.sub(rf"(  {ICONS}:\n(    pin:.*\n      at.*\n)?    attachments:) all", r"\1 none", text))
    assert dumps.config.read_text() != text
    assert dumps.verify().code == rsdump.DONE
    outcome = dumps.verify("--locked")
    assert outcome.code == rsdump.VERIFICATION, str(outcome)
    assert re.search(rf"^{ICONS} +failed: dumps.yaml and the lock file differ.*attachment rule", outcome.out, re.MULTILINE), str(outcome)
    assert dumps.verify("--locked", "--format", "json").json()["disagreements"] == [
        {"collection": ICONS, "action": "repack"}]
    offline = dumps.status("--offline")
    assert offline.code == rsdump.DONE and offline.says("would be packed again"), str(offline)
    assert dumps.refresh().code == rsdump.DONE
    assert dumps.verify("--locked").code == rsdump.DONE


@pytest.mark.parametrize("find, put, word", [
    ("trust:\n", "trust:\n  accept-unsigned: true\n", "accept-unsigned"), (None, "", "has new data without a signature"), ("server: http://", "server: https://", "it changes server"),
    ("  roots:\n", f"  roots:\n    - {'a' * 64}\n", f"it adds the root {'a' * 64}"), (None, "# a comment\n", None)],
    ids=["unsigned", "pinned", "server", "root", "same"])
def test_verify_uses_trust_of_the_base(dumps, sample, find, put, word):
    GitTree(dumps.path.parent).commit("main")
    text = dumps.config.read_text()
    dumps.config.write_text(text.replace(find, put, 1) if find else text + put)
    if word in ("accept-unsigned", "has new data without a signature"):
        import_unsigned(dumps, sample)
        # A refresh would replace the data, but not that of a pin.
        pinned(dumps, SETTINGS)
        # What the proposal itself trusts is of no use.
        assert dumps.verify("--locked", "--trust-root", sample.root).code == rsdump.DONE
    outcome = dumps.verify("--locked", "--trust-from", "git:main")
    assert outcome.code == (rsdump.VERIFICATION if word else rsdump.DONE) and outcome.says(word or ""), str(outcome)


# rebuild


def rebuild(dumps, *arguments, **options):
    return rsdump.run("verify", "--rebuild", *arguments, "--dumps", dumps.path, **options)


def compress_otherwise(dumps, name):
    """Writes a bundle again with another compressor's choices, and locks it."""
    path = dumps.bundle_path(name)
    with zipfile.ZipFile(path) as archive:
        entries = [(each.filename, each.compress_type, archive.read(each)) for each in archive.infolist()]
    with zipfile.ZipFile(path, "w") as archive:
        for filename, method, content in entries:
            info = zipfile.ZipInfo(filename, (1980, 1, 1, 0, 0, 0))
            info.create_system, info.external_attr = 3, 0o100644 << 16
            archive.writestr(info, content, compress_type=method, compresslevel=1)
    lock = dumps.path / "dumps.lock.json"
    old = dumps.lock["collections"][name]["bundle"]
    new_hash = dumps.files()[f"{name}.zip"]
    text = lock.read_text().replace(old["sha256"], new_hash)
    text = text.replace(f'"size": {old["size"]},\n        "sha256": "{new_hash}"',
                        f'"size": {path.stat().st_size},\n        "sha256": "{new_hash}"')
    lock.write_text(text)


def test_rebuild_with_other_compressor(dumps):
    compress_otherwise(dumps, "main/large")
    verified = dumps.verify("--locked")
    assert verified.code == rsdump.DONE, str(verified)
    outcome = rebuild(dumps)
    assert outcome.code == rsdump.VERIFICATION and outcome.says("same content, different bytes", "4 of 5"), str(outcome)
    outcome = rebuild(dumps, "main/large", "--format", "json")
    report = outcome.json()["rebuild"]
    (large,) = report["collections"]
    assert outcome.code == rsdump.VERIFICATION and report["identical"] is False and large["status"] == "same-content"
    assert large["rebuiltBundle"]["size"] < large["lockedBundle"]["size"]


def test_a_damaged_bundle_is_not_rebuilt(dumps, tmp_path):
    flip_in_chain(dumps.bundle_path(SETTINGS))
    outcome = rebuild(dumps, env={"TMPDIR": str(tmp_path)})
    assert outcome.code == rsdump.VERIFICATION and outcome.says(SETTINGS, "failed", "4 of 5"), str(outcome)


def test_refresh_wait_option_waits_for_lock(dumps):
    directory = os.open(dumps.path, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        refused = dumps.refresh()
        assert refused.code == rsdump.TRY_AGAIN and refused.says("another rsdump is running"), str(refused)
        waiting = subprocess.Popen(
            [rsdump.BINARY, "refresh", "--wait", "5m", "--dumps", str(dumps.path)], env=rsdump.environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(timeout=1)
    finally:
        os.close(directory)
    assert waiting.wait(timeout=60) == rsdump.DONE


def test_collection_missing_in_dumps_yaml_is_refused(dumps, sample, tmp_path):
    text = dumps.config.read_text()
    dumps.config.write_text(re.sub(rf"  {MARKETS}:\n(    .*\n)*", "", text))
    assert MARKETS not in dumps.config.read_text() and MARKETS in dumps.lock["collections"]
    before = dumps.files()
    verified = dumps.verify("--locked")
    assert verified.code == rsdump.VERIFICATION and verified.says(MARKETS, "dumps.yaml does not list it"), str(verified)
    assert dumps.verify("--locked", "--format", "json").json()["unlisted"] == [MARKETS]
    locked = dumps.refresh("--locked")
    assert locked.code == rsdump.WOULD_CHANGE and locked.says(MARKETS, "would be removed"), str(locked)
    for command in (("embed", "--output", tmp_path / "out"), ("export", "--to", "changesets", "--output", tmp_path / "out")):
        refused = rsdump.run(*command, "--dumps", dumps.path)
        assert refused.code == rsdump.USAGE and refused.says(MARKETS, "does not list"), str(refused)
    assert not (tmp_path / "out").exists() and dumps.files() == before
    status = dumps.status()
    assert status.code == rsdump.DONE and status.says(MARKETS, "rsdump refresh would remove it"), str(status)
    assert dumps.status("--format", "json").json()["unlisted"] == [MARKETS]
    dry = dumps.refresh("--dry-run", "--format", "json").json()
    assert dry["removed"] == [MARKETS] and dumps.files() == before
    summary = tmp_path / "summary.md"
    refreshed = dumps.refresh("--summary", summary)
    assert refreshed.code == rsdump.DONE and refreshed.says(f"{MARKETS}: removed, because dumps.yaml does not list it")
    assert f"`{MARKETS}`" in summary.read_text()
    assert MARKETS not in dumps.lock["collections"] and not dumps.bundle_path(MARKETS).exists()
    assert dumps.verify("--locked").code == rsdump.DONE and dumps.refresh("--locked").code == rsdump.DONE


def test_waiting_refresh_keeps_added_collections(dumps, tmp_path):
    whole = dumps.copy(tmp_path / "whole")
    assert rsdump.run("remove", MARKETS, "--dumps", dumps.path).code == rsdump.DONE
    directory = os.open(dumps.path, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        waiting = subprocess.Popen(
            [rsdump.BINARY, "refresh", "--wait", "5m", "--dumps", str(dumps.path)], env=rsdump.environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(timeout=2)
        # Another process adds the collection while the refresh waits.
        for name in (f"{MARKETS}.zip", "dumps.lock.json", "dumps.yaml"):
            shutil.copy(whole.path / name, dumps.path / name)
    finally:
        os.close(directory)
    assert waiting.wait(timeout=60) == rsdump.DONE
    assert MARKETS in dumps.lock["collections"] and dumps.bundle_path(MARKETS).exists()
