"""Pins: a collection stays where it is whatever its server has, and what nobody signed stays what it is. How one goes back is in
commands/pins.txt."""
import datetime
import json
import pathlib
import re
import shutil
import zipfile

import pytest

import rsdump
from dumps import Dumps
from git import GitTree
from test_changes import ICONS, MARKETS, SETTINGS

DAY = 86_400_000


def pin(dumps, *arguments, **options):
    return rsdump.run("pin", *arguments, "--dumps", dumps.path, **options)


def pinned(dumps, *arguments, **options):
    outcome = pin(dumps, *arguments, **options)
    assert outcome.code == rsdump.DONE, str(outcome)
    return outcome


def unpin(dumps, *names):
    return rsdump.run("pin", *names, "--remove", "--dumps", dumps.path)


def refreshed(dumps, *arguments):
    outcome = dumps.refresh(*arguments)
    assert outcome.code == rsdump.DONE, str(outcome)
    return outcome


def of(report, name):
    return next(each for each in report["collections"] if each["collection"] == name)


def timestamp(dumps, name):
    return dumps.lock["collections"][name]["timestamp"]


def everything(dumps):
    """Every file, hidden ones too."""
    return {path.relative_to(dumps.path): path.read_bytes() for path in dumps.path.rglob("*") if path.is_file()}


@pytest.fixture
def history(dumps, sample):
    """The directory in a git repository, with a commit of the first state and one of a later state."""
    tree = GitTree(dumps.path.parent)
    tree.commit("first")
    first = dumps.copy(dumps.path.parent.parent / f"{dumps.path.parent.name}-first")
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    sample.delete_record(MARKETS, "nowhere")
    refreshed(dumps)
    tree.commit("second")
    dumps.tree, dumps.first = tree, first
    return dumps


def day(milliseconds):
    return f"{datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc):%Y-%m-%d}"


def test_pinned_collection_reports_newer_state(dumps, sample, tmp_path):
    text = dumps.config.read_text()
    outcome = pinned(dumps, SETTINGS, "--reason", 'until "bug 1" is fixed', "--until", "2999-12-31")
    assert outcome.says(str(timestamp(dumps, SETTINGS)), "its current state"), str(outcome)
    at, before = timestamp(dumps, SETTINGS), dumps.bundle_path(SETTINGS).read_bytes()
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    sample.delete_record(MARKETS, "nowhere")
    summary = tmp_path / "summary.md"
    outcome = refreshed(dumps, "--format", "json", "--summary", summary)
    report = outcome.json()
    assert of(report, MARKETS)["status"] == "updated"
    settings = of(report, SETTINGS)
    server = settings["serverTimestamp"]
    assert settings["status"] == "pinned" and server > at
    assert settings["pin"] == {
        "at": at, "reason": 'until "bug 1" is fixed', "until": "2999-12-31", "overdue": False,
        "serverTimestamp": server, "behindMilliseconds": server - at, "behindDays": (server - at) // DAY}
    assert dumps.bundle_path(SETTINGS).read_bytes() == before and timestamp(dumps, SETTINGS) == at
    behind = f"pinned at {at} ({day(at)}), older than the server's state of {day(server)}, until 2999-12-31"
    assert behind in summary.read_text().replace("`", "") and "### Pinned" in summary.read_text()
    text_outcome = refreshed(dumps)
    assert text_outcome.says(behind, 'until "bug 1"')
    status = dumps.status("--format", "json").json()
    assert of(status, SETTINGS)["pin"]["behindMilliseconds"] == server - at
    assert of(status, SETTINGS)["verdict"] == "fresh"
    assert dumps.verify().code == rsdump.DONE

    outcome = unpin(dumps, SETTINGS)
    assert outcome.code == rsdump.DONE and outcome.says(SETTINGS, str(at)), str(outcome)
    assert dumps.config.read_text() == text
    refreshed(dumps)
    assert timestamp(dumps, SETTINGS) == server


def flip_in_chain(path):
    """Changes a bit of the compressed chain, behind its first header."""
    data = bytearray(path.read_bytes())
    data[data.index(b"chain.pem") + 100] ^= 1
    path.write_bytes(data)


def test_expired_pin_warns_then_fails(dumps, sample):
    pinned(dumps, SETTINGS, "--until", "2999-12-31")
    dumps.config.write_text(dumps.config.read_text().replace("2999-12-31", "2020-12-31"))
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    outcome = refreshed(dumps)
    assert "warning: main/settings: its pin expired on 2020-12-31" in outcome.err, str(outcome)
    assert refreshed(dumps, "--max-age", "90d").says("2020-12-31")
    failed = dumps.refresh("--max-age", "0m")
    assert failed.code == rsdump.SOME_FAILED and failed.says("rsdump pin main/settings --remove"), str(failed)
    status = dumps.status()
    assert status.code == rsdump.DONE and status.says("warning", "2020-12-31"), str(status)
    assert dumps.status("--max-age", "0m").code == rsdump.SOME_FAILED
    for arguments in (["--until", "2020-12-31"], ["--until", "soon"], ["--at", "soon"], ["--reason", "a\nb"]):
        assert pin(dumps, SETTINGS, *arguments).code == rsdump.USAGE


def test_missing_pinned_bundle_is_not_replaced(history, sample):
    at = timestamp(history.first, SETTINGS)
    pinned(history, SETTINGS, "--at", at)
    history.bundle_path(SETTINGS).unlink()
    sample.delete_record(MARKETS, "jp")
    outcome = history.refresh("--format", "json")
    assert outcome.code == rsdump.SOME_FAILED, str(outcome)
    error = of(outcome.json(), SETTINGS)["error"]
    assert error["code"] == "pin" and f"rsdump pin {SETTINGS} --at {at}" in error["message"]
    assert of(outcome.json(), MARKETS)["status"] == "updated"
    assert not history.bundle_path(SETTINGS).exists()
    pinned(history, SETTINGS, "--at", at)
    assert history.verify("--locked").code == rsdump.DONE


@pytest.mark.parametrize("loss", ["gone", "edited"])
def test_restoring_pinned_bundle_keeps_the_pin(history, loss):
    """The command that the error names is run as it stands. It pins again."""
    at = timestamp(history.first, SETTINGS)
    pinned(history, SETTINGS, "--at", at, "--reason", "bug 1", "--until", "2999-12-31")
    text, content = history.config.read_text(), history.bundle_path(SETTINGS).read_bytes()
    if loss == "gone":
        history.bundle_path(SETTINGS).unlink()
        found = history.refresh()
        assert found.code == rsdump.SOME_FAILED, str(found)
    else:
        history.edit_bundle(SETTINGS, "records.json", b'"value":', b'"valve":')
        history.tree.commit("edited")
        refreshed(history)
        found = history.verify()
        assert found.code == rsdump.VERIFICATION, str(found)
        # The present state cannot be pinned.
        assert pin(history, SETTINGS).code == rsdump.VERIFICATION
    [advice] = re.findall(rf"rsdump (pin {SETTINGS} --at \d+)", found.out)
    outcome = rsdump.run(*advice.split(), "--dumps", history.path)
    assert outcome.code == rsdump.DONE and outcome.says("until 2999-12-31", "reason: bug 1"), str(outcome)
    assert history.config.read_text() == text and history.bundle_path(SETTINGS).read_bytes() == content
    assert history.verify("--locked").code == rsdump.DONE
    other = pinned(history, SETTINGS, "--reason", "bug 2")
    assert other.says("until 2999-12-31", "reason: bug 2") and "bug 1" not in history.config.read_text()


# What nobody signed


@pytest.fixture
def imported(sample, tmp_path):
    """A directory with one imported collection, in a git repository that has two states of it."""
    dumps, document = Dumps(tmp_path / "imported/dumps"), tmp_path / "settings.json"
    changeset = sample.changeset(SETTINGS)
    for key in ("signature", "signatures"):
        changeset["metadata"].pop(key, None)
    (tmp_path / "imported").mkdir()
    tree = GitTree(tmp_path / "imported")
    for step in (2, 1):
        changeset["timestamp"] -= step
        if step == 1:
            changeset["timestamp"] += 2
            changeset["changes"] = changeset["changes"][1:]
        document.write_text(json.dumps(changeset))
        outcome = rsdump.run(
            "import", "--from", "changeset", document, "--dumps", dumps.path, "--server", sample.url, "--trust-root",
            sample.root)
        assert outcome.code == rsdump.DONE, str(outcome)
        if step == 2:
            dumps.first = dumps.copy(tmp_path / "first")
        tree.commit(f"{step}")
    dumps.server_timestamp = sample.changeset(SETTINGS)["timestamp"]
    assert timestamp(dumps.first, SETTINGS) < timestamp(dumps, SETTINGS) < dumps.server_timestamp
    return dumps


def trust(dumps, name=SETTINGS):
    """What lock and manifest say, which must be the same."""
    manifest = json.loads(dumps.bundle(name).entries["manifest.json"])
    said = dumps.lock["collections"][name]["trust"]
    assert manifest["trust"] == said, (manifest["trust"], said)
    return said


@pytest.mark.parametrize("how", ["present", "git", "folder"])
def test_pinned_imported_bundle_stays_imported(imported, how):
    at = timestamp(imported if how == "present" else imported.first, SETTINGS)
    given = {"present": (), "git": ("--at", at), "folder": ("--at", at, "--from", imported.first.path)}[how]
    outcome = pinned(imported, SETTINGS, *given)
    assert how == "present" or outcome.says("imported without a signature"), str(outcome)
    assert timestamp(imported, SETTINGS) == at and trust(imported) == "imported"
    if how != "present":
        assert imported.bundle_path(SETTINGS).read_bytes() == imported.first.bundle_path(SETTINGS).read_bytes()
        assert imported.lock["collections"][SETTINGS] == imported.first.lock["collections"][SETTINGS]
    assert imported.verify("--locked").code == rsdump.DONE
    # The signed state of the server comes when the pin goes, and not before.
    assert of(refreshed(imported, "--format", "json").json(), SETTINGS)["status"] == "pinned"
    assert timestamp(imported, SETTINGS) == at and trust(imported) == "imported"
    assert unpin(imported, SETTINGS).code == rsdump.DONE
    refreshed(imported)
    assert "signed" in imported.lock["collections"][SETTINGS]["trust"]
    # From a signed state one may go back to the imported one in the history, which is then called what it is. From
    # elsewhere, only if dumps.yaml accepts that.
    signed, at = everything(imported), timestamp(imported.first, SETTINGS)
    refused = pin(imported, SETTINGS, "--at", at, "--from", imported.first.path)
    assert refused.code == rsdump.VERIFICATION, str(refused)
    assert refused.says("it is not signed, but the current bundle is", "accept-unsigned: true"), str(refused)
    assert everything(imported) == signed
    text = imported.config.read_text()
    imported.config.write_text(text.replace("trust:\n", "trust:\n  accept-unsigned: true\n"))
    taken = pinned(imported, SETTINGS, "--at", at, "--from", imported.first.path)
    assert taken.says("imported without a signature, replacing a signed state"), str(taken)
    assert unpin(imported, SETTINGS).code == rsdump.DONE
    imported.config.write_text(text)
    refreshed(imported)
    assert pinned(imported, SETTINGS, "--at", at).says("replacing a signed state") and trust(imported) == "imported"


def test_pin_refuses_imported_bundle_without_lock(imported, tmp_path):
    bare = tmp_path / "bare.zip"
    shutil.copy(imported.first.bundle_path(SETTINGS), bare)
    before = everything(imported)
    outcome = pin(imported, SETTINGS, "--from", bare)
    assert outcome.code == rsdump.VERIFICATION and outcome.says("bare.zip", "imported", "dumps.lock.json"), str(outcome)
    assert everything(imported) == before


UNSIGNED = "unsigned/things"


@pytest.fixture
def unsigned(sample, tmp_path):
    """A directory with a collection that its server does not sign, and what it was before."""
    dumps = Dumps(tmp_path / "unsigned/dumps")
    sample.put_collection(UNSIGNED)
    sample.put_record(UNSIGNED, {"id": "one", "value": 1})
    assert dumps.add(sample, UNSIGNED).code == rsdump.DONE
    dumps.config.write_text(dumps.config.read_text().replace("trust:\n", "trust:\n  accept-unsigned: true\n"))
    tree = GitTree(tmp_path / "unsigned")
    refreshed(dumps)
    tree.commit("first")
    dumps.first = dumps.copy(tmp_path / "first")
    sample.put_record(UNSIGNED, {"id": "two", "value": 2})
    refreshed(dumps)
    tree.commit("second")
    return dumps


@pytest.mark.parametrize("how", ["git", "folder", "bare"])
def test_pin_unsigned_bundle_needs_accept_unsigned(unsigned, tmp_path, how):
    at = timestamp(unsigned.first, UNSIGNED)
    bare = tmp_path / "bare.zip"
    shutil.copy(unsigned.first.bundle_path(UNSIGNED), bare)
    given = {"git": (), "folder": ("--from", unsigned.first.path), "bare": ("--from", bare)}[how]
    text = unsigned.config.read_text()
    unsigned.config.write_text(text.replace("  accept-unsigned: true\n", ""))
    before = everything(unsigned)
    outcome = pin(unsigned, UNSIGNED, "--at", at, *given)
    assert outcome.code == rsdump.VERIFICATION and outcome.says("accept-unsigned: true", "not signed"), str(outcome)
    assert everything(unsigned) == before
    unsigned.config.write_text(text)
    assert pinned(unsigned, UNSIGNED, "--at", at, *given).says("unsigned")
    assert timestamp(unsigned, UNSIGNED) == at and trust(unsigned, UNSIGNED) == "unsigned"
    assert unsigned.bundle_path(UNSIGNED).read_bytes() == bare.read_bytes()
    assert unsigned.verify("--locked").code == rsdump.DONE
    assert of(refreshed(unsigned, "--format", "json").json(), UNSIGNED)["status"] == "pinned"


def test_pin_refuses_signed_bundle_without_chain(history, tmp_path):
    """Also where what nobody signed is accepted: its manifest says that it is signed."""
    at, stripped = timestamp(history.first, SETTINGS), tmp_path / "stripped.zip"
    bundle = history.first.bundle(SETTINGS)
    entries = {name: content for name, content in bundle.entries.items() if name != "chain.pem"}
    with zipfile.ZipFile(stripped, "w") as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    before = everything(history)
    for text in (history.config.read_text(),
                 history.config.read_text().replace("trust:\n", "trust:\n  accept-unsigned: true\n")):
        history.config.write_text(text)
        outcome = pin(history, SETTINGS, "--at", at, "--from", stripped)
        assert outcome.code == rsdump.VERIFICATION and outcome.says("stripped.zip"), str(outcome)
    assert {**everything(history), pathlib.Path("dumps.yaml"): b""} == {**before, pathlib.Path("dumps.yaml"): b""}


def test_pin_to_tag_with_other_collections(history, sample):
    """What only the tag had is named, with the way back; what it did not have stays."""
    history.tree.git("tag", "v1.0", "HEAD~1")
    sample.put_collection("main/another")
    assert history.remove(MARKETS).code == rsdump.DONE
    assert history.add(sample, "main/another").code == rsdump.DONE
    refreshed(history)
    another = history.bundle_path("main/another").read_bytes()
    outcome = pin(history, "--all", "--at", "v1.0")
    assert outcome.code == rsdump.SOME_FAILED, str(outcome)
    assert f"warning: {MARKETS}: v1.0 has it" in outcome.err and "note: main/another: v1.0 does not have it" in outcome.err
    assert timestamp(history, SETTINGS) == timestamp(history.first, SETTINGS)
    assert history.bundle_path("main/another").read_bytes() == another
    # The two commands of the warning bring it back, and the directory has all of the tag.
    assert f"rsdump add {MARKETS} && rsdump pin {MARKETS} --at v1.0" in outcome.err
    assert history.add(sample, MARKETS).code == rsdump.DONE
    pinned(history, MARKETS, "--at", "v1.0")
    assert pin(history, "--all", "--at", "v1.0").code == rsdump.DONE
    assert {**history.lock["collections"], "main/another": None} == {
        **history.first.lock["collections"], "main/another": None}


def test_pin_warns_of_attachments_only_on_server(dumps):
    """The server deletes an attachment when no record names it any more; then the pinned state is no longer whole."""
    text = dumps.config.read_text()
    dumps.config.write_text(text.replace(f"{ICONS}:\n    attachments: all", f"{ICONS}:\n    attachments: none"))
    refreshed(dumps)
    assert "on the server" not in pinned(dumps, SETTINGS).err
    outcome = pinned(dumps, ICONS)
    assert outcome.says("warning: ", ICONS, "20 attachments", "only on the server", "rsdump refresh"), str(outcome)
    status = dumps.status("--offline")
    [line] = [line for line in status.out.splitlines() if line.startswith(ICONS)]
    assert status.code == rsdump.DONE and "warning: 20 attachments" in line, str(status)
    counts = {each["collection"]: each["omitted"] for each in dumps.status("--format", "json").json()["collections"]}
    assert counts[ICONS] == 20 and counts[SETTINGS] == 0
    # What the warning says helps, as long as the server has the state.
    dumps.config.write_text(dumps.config.read_text().replace("attachments: none", "attachments: all"))
    refreshed(dumps)
    assert len(dumps.bundle(ICONS).attachments) == 20 and "on the server" not in dumps.status("--offline").out
