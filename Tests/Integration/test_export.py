"""Exports in the formats of other projects, as those projects read them. commands/export.txt covers existing outputs."""
import hashlib
import io
import json
import re
import shutil
import subprocess
import tarfile

import pytest

import rsdump
from conftest import FOREIGN, REAL_COLLECTIONS
from dumps import Dumps

SETTINGS, MARKETS, ICONS = "main/settings", "main/markets", "main/icons"
BLOOM, TIMES = "blocklists/addons-bloomfilters", "last_modified.json"


def export(layout, dumps, output, *arguments, **options):
    return rsdump.run("export", "--to", layout, "--dumps", dumps.path, "--output", output, *arguments, **options)


def exported(layout, dumps, output, *arguments, **options):
    outcome = export(layout, dumps, output, *arguments, **options)
    assert outcome.code == rsdump.DONE, str(outcome)
    return output


def tree(path):
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def contents(dumps):
    return {name: entry["content"] for name, entry in dumps.lock["collections"].items()}


# The real collections


def orphans(given, dumps):
    """Files that belong to no record, although Firefox ships them."""
    ids = {name: {r["id"] for r in dumps.bundle(name).records} for name in dumps.names}
    sidecars = {
        path for path in given if path.endswith(".meta.json")
        and json.loads(given[path])["id"] not in ids[path.rsplit("/", 1)[0]]}
    return sidecars | {path.removesuffix(".meta.json") for path in sidecars}


def test_firefox_export_round_trip(imported_real, tmp_path):
    written = tree(exported("firefox", imported_real, tmp_path / "settings"))
    given = tree(REAL_COLLECTIONS)
    times, known = json.loads(written.pop(TIMES)), json.loads(given.pop(TIMES))
    # Firefox's list and tree each have collections that the other lacks; those times cannot be compared.
    assert set(times) == set(imported_real.names)
    assert all(times[name] == known[name] for name in times.keys() & known.keys())
    assert set(written) == set(given) - orphans(given, imported_real) and len(written) > 100
    assert [path for path, content in written.items() if content != sorted_members(given[path])] == [], FOREIGN


def sorted_members(content):
    """A file as written by Firefox's script since version 153, with members sorted at all levels. Older files, files with unchanged
    data, and main/doh-* are not sorted. A sorted file is returned unchanged."""
    try:
        document = json.loads(content)
    except ValueError:
        return content
    is_indented = b"\n" in content.strip()
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, **(
        {"indent": 2} if is_indented else {"separators": (",", ":")}))
    end = b"\n" if content.endswith(b"\n") else b""
    return text.encode() + end if has_other_order(document) else content


def has_other_order(value):
    if isinstance(value, list):
        return any(map(has_other_order, value))
    return isinstance(value, dict) and (list(value) != sorted(value) or any(map(has_other_order, value.values())))


def test_firefox_export_updates_tree_in_place(imported_real, tmp_path):
    given, settings = tree(REAL_COLLECTIONS), tmp_path / "settings"
    given = {path: content if path == TIMES else sorted_members(content) for path, content in given.items()}
    shutil.copytree(REAL_COLLECTIONS, settings)
    # An older tree in which every file of a bundle is out of date, and which also contains other files.
    names = imported_real.names
    kept = {
        "moz.build": b"x", f"{BLOOM}/moz.build": b"y", "main/unknown.json": b"{}", "main/unknown/a": b"1",
        f"{BLOOM}-more/a": b"2"}
    gone = {f"{BLOOM}/gone": b"3", f"{BLOOM}/gone.meta.json": b"4"}
    for path, content in {**dict.fromkeys(given, b"old"), **kept, **gone}.items():
        (settings / path).parent.mkdir(exist_ok=True)
        (settings / path).write_bytes(content)
    listed = json.loads(given[TIMES])
    (settings / TIMES).write_text(json.dumps({name: 1 if name in names else at for name, at in listed.items()}))
    exported("firefox", imported_real, settings, BLOOM, "--update")
    assert (settings / f"{BLOOM}.json").read_bytes() == given[f"{BLOOM}.json"]
    assert (settings / "main/top-sites.json").read_bytes() == b"old" and (settings / f"{BLOOM}-more/a").exists()
    outcome = export("firefox", imported_real, settings, "--update")
    assert outcome.code == rsdump.DONE and not outcome.says(f"{BLOOM}/gone"), str(outcome)
    # Every file is correct, including the list of times; an icon's two files without a record are removed and reported.
    gone = orphans(given, imported_real)
    assert tree(settings) == {path: content for path, content in given.items() if path not in gone} | kept, FOREIGN
    assert all(outcome.says(f"{path}: removed, because no record uses this attachment") for path in gone)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["settings"]


def test_unchanged_export_update_writes_nothing(imported_real, tmp_path):
    """Neither the order of members (as before Firefox 153) nor the order of records counts as a change."""
    settings = tmp_path / "settings"
    shutil.copytree(REAL_COLLECTIONS, settings)
    rules = settings / "main/password-rules.json"
    document = json.loads(rules.read_text())
    rules.write_text(json.dumps({"timestamp": document["timestamp"], "data": document["data"][::-1]}))
    before = tree(settings)
    exported("firefox", imported_real, settings, "--update")
    gone = orphans(before, imported_real)
    assert tree(settings) == {path: content for path, content in before.items() if path not in gone}
    # A changed value is written.
    document["data"][0]["Domain"] = "old.example"
    rules.write_text(json.dumps(document))
    exported("firefox", imported_real, settings, "--update")
    assert rules.read_bytes() == sorted_members((REAL_COLLECTIONS / "main/password-rules.json").read_bytes()), FOREIGN


def test_export_update_adds_new_timestamps(dumps, tmp_path):
    settings = exported("firefox", dumps, tmp_path / "settings", SETTINGS)
    at = {name: entry["timestamp"] for name, entry in dumps.lock["collections"].items()}
    (settings / TIMES).write_text(json.dumps({SETTINGS: 1, "main/elsewhere": 2}))
    exported("firefox", dumps, settings, "--update")
    assert (settings / TIMES).read_text() == json.dumps({**at, "main/elsewhere": 2}, sort_keys=True)
    # Without a list, as in Firefox's sources, none is created.
    (settings / TIMES).unlink()
    exported("firefox", dumps, settings, "--update")
    assert set(tree(settings)) == set(tree(exported("firefox", dumps, tmp_path / "new", "--update"))) - {TIMES}
    for wrong in ("[]", "{", '{"a": 1}', '{"main/a": "1"}'):
        (settings / TIMES).write_text(wrong)
        before = tree(settings)
        outcome = export("firefox", dumps, settings, "--update")
        assert outcome.code == rsdump.USAGE and outcome.says(TIMES), str(outcome)
        assert tree(settings) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dumps", "new", "settings"]


@pytest.mark.parametrize("layout, folder", [
    ("application-services", "main/attachments/icons"), ("firefox", "main/icons")])
def test_export_update_keeps_omitted_attachments(dumps, sample, tmp_path, layout, folder):
    output = exported(layout, dumps, tmp_path / "out")
    before = tree(output)
    text = dumps.config.read_text()
    dumps.config.write_text(text.replace(f"{ICONS}:\n    attachments: all", f"{ICONS}:\n    attachments: none"))
    sample.delete_record(ICONS, "petals-03")
    assert dumps.refresh().code == rsdump.DONE and not dumps.bundle(ICONS).attachments
    (output / folder / "petals-04").write_bytes(b"damaged")
    exported(layout, dumps, output, "--update")
    left = {path for path in before if path.startswith(f"{folder}/") and not re.search("petals-0[34]", path)}
    assert left and {path: tree(output)[path] for path in left} == {path: before[path] for path in left}
    assert {path for path in tree(output) if path.startswith(folder + "/")} == left


def test_application_services_export_layout(imported_real, tmp_path):
    output = exported("application-services", imported_real, tmp_path / "dumps")
    for name in imported_real.names:
        bucket, collection = name.split("/")
        text = (output / f"{name}.json").read_text()
        document, bundle = json.loads(text), imported_real.bundle(name)
        assert list(document) == ["data", "timestamp"] and document["data"] == bundle.records
        assert (output / f"{name}.timestamp").read_text() == str(document["timestamp"]) == str(bundle.timestamp)
        if document["data"]:
            assert text == json.dumps(document, indent=2, ensure_ascii=False, sort_keys=True)
        packaged = {r["id"]: r["attachment"] for r in bundle.records
                    if r.get("attachment", {}).get("hash") in bundle.attachments}
        folder = output / bucket / "attachments" / collection
        assert {path.name for path in folder.glob("*") if path.suffix != ".json"} == set(packaged)
        for record, attachment in packaged.items():
            content = (folder / record).read_bytes()
            assert hashlib.sha256(content).hexdigest() == attachment["hash"]
            sidecar = (folder / f"{record}.meta.json").read_text()
            assert sidecar == json.dumps({key: attachment[key] for key in ("location", "hash", "size")}, indent=2)


@pytest.mark.parametrize("layout, source", [
    ("firefox", "firefox"), ("application-services", "application-services"), ("changesets", "changeset"),
    ("tar.zst", "dumps")])
def test_export_then_import_round_trip(imported_real, tmp_path, layout, source):
    path = exported(layout, imported_real, tmp_path / f"out.{layout}")
    back = Dumps(tmp_path / "back")
    outcome = rsdump.run("import", "--from", source, path, "--dumps", back.path)
    assert outcome.code == rsdump.DONE, str(outcome)
    assert contents(back) == contents(imported_real)
    assert {n: back.bundle_path(n).read_bytes() for n in back.names} == {
        n: imported_real.bundle_path(n).read_bytes() for n in imported_real.names}


# Signed collections


@pytest.mark.parametrize("layout, source", [("changesets", "changeset"), ("tar.zst", "dumps")])
def test_export_then_import_keeps_signatures(dumps, sample, tmp_path, layout, source):
    path = exported(layout, dumps, tmp_path / f"out.{layout}")
    back = Dumps(tmp_path / "back")
    outcome = rsdump.run(
        "import", "--from", source, path, "--dumps", back.path, "--server", sample.url, "--trust-root", sample.root)
    assert outcome.code == rsdump.DONE, str(outcome)
    assert contents(back) == contents(dumps)
    assert all("signed" in entry["trust"] for entry in back.lock["collections"].values())
    assert back.verify().code == rsdump.DONE
    outcome = rsdump.run(
        "import", "--from", source, path, "--dumps", tmp_path / "other", "--server", sample.url, "--trust-root",
        sample.other_root)
    assert outcome.code == rsdump.VERIFICATION and not (tmp_path / "other").exists(), str(outcome)


# The output


def test_lost_signed_bundle_refuses_unsigned_import(dumps, tmp_path):
    tree = exported("firefox", dumps, tmp_path / "tree", SETTINGS)
    dumps.bundle_path(SETTINGS).unlink()
    outcome = rsdump.run("import", "--from", "firefox", tree, SETTINGS, "--dumps", dumps.path)
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("the new state is unsigned, but the current bundle is signed"), str(outcome)
    assert not dumps.bundle_path(SETTINGS).exists()


def test_export_dumps_keeps_configuration(dumps, sample, tmp_path):
    """Rules, accepted violations, server and roots are all kept, so they need not be given again."""
    text = dumps.config.read_text()
    dumps.config.write_text(
        text.replace(f"  {SETTINGS}:\n", f"  # why\n  {SETTINGS}:\n    guards: {{min-records: 1000}}\n"))
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    assert dumps.refresh().code == rsdump.SOME_FAILED
    assert dumps.refresh("--accept", SETTINGS).code == rsdump.DONE
    assert dumps.lock["collections"][SETTINGS]["accepted"]
    archive = exported("tar.zst", dumps, tmp_path / "dumps.tar.zst")
    for source in (archive, dumps.path):
        arrived = Dumps(tmp_path / f"arrived-{source.name}")
        outcome = rsdump.run("import", "--from", "dumps", source, "--dumps", arrived.path)
        assert outcome.code == rsdump.DONE, str(outcome)
        assert arrived.files() == dumps.files()
        assert arrived.verify("--locked").code == rsdump.DONE
        assert arrived.refresh("--locked").code == rsdump.DONE
        # Missing bundles are restored too.
        for path in arrived.path.rglob("*.zip"):
            path.unlink()
        assert rsdump.run("import", "--from", "dumps", source, "--dumps", arrived.path).code == rsdump.DONE
        assert arrived.files() == dumps.files()
    # An archive from a foreign root is rejected.
    wrong = "--trust-root=" + ":".join(["00"] * 32)
    outcome = rsdump.run("import", "--from", "dumps", archive, "--dumps", tmp_path / "other", wrong)
    assert outcome.code == rsdump.VERIFICATION and not list((tmp_path / "other").rglob("*.zip")), str(outcome)


def test_archive_export_is_a_dumps_directory(dumps, tmp_path):
    path = exported("tar.zst", dumps, tmp_path / "dumps.tar.zst", SETTINGS, MARKETS)
    plain = subprocess.run(["bsdtar", "-cf", "-", "--format", "pax", f"@{path}"], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
        for member in archive:
            assert member.isreg() and (member.mode, member.uid, member.gid, member.mtime) == (0o644, 0, 0, 0)
    (tmp_path / "site").mkdir()
    subprocess.run(["bsdtar", "-xf", path, "-C", tmp_path / "site"], check=True)
    out = Dumps(tmp_path / "site/dumps")
    assert out.names == [MARKETS, SETTINGS]
    assert out.verify().code == rsdump.DONE


def as_python_writes(records):
    """Formats the server's list like firefox-ios's script: `json.dump(records, indent=4)`."""
    return json.dumps(records, indent=4)


def test_files_export_matches_firefox_ios(dumps, tmp_path):
    output = tmp_path / "assets"
    outcome = exported("files", dumps, output, ICONS, "--key", "id")
    records = json.loads((output / "icons.json").read_text())
    held = {record["id"]: record for record in dumps.bundle(ICONS).records}
    assert {record["id"]: record for record in records} == held, str(outcome)
    # Newest first, formatted like Python's json, in ASCII only.
    assert [record["last_modified"] for record in records] == sorted(
        (record["last_modified"] for record in records), reverse=True)
    assert (output / "icons.json").read_text() == as_python_writes(records)
    files = sorted((output / "attachments/icons").iterdir())
    named = {record["id"] for record in records if "attachment" in record}
    assert len(files) == len(named) > 0
    for record in records:
        if "attachment" not in record:
            continue
        ending = record["attachment"]["filename"].split(".")[-1]
        content = (output / "attachments/icons" / f"{record['id']}.{ending}").read_bytes()
        assert hashlib.sha256(content).hexdigest() == record["attachment"]["hash"]
    again = Dumps(tmp_path / "again")
    taken = rsdump.run("import", "--from", "files", output, "--dumps", again.path)
    assert taken.code == rsdump.DONE, str(taken)
    assert {record["id"]: record for record in again.bundle(ICONS).records} == held
    assert exported("files", again, tmp_path / "second", "--key", "id") and tree(tmp_path / "second") == tree(output)


@pytest.mark.parametrize("change, word", [
    (lambda records: [{**record, "name": "../x"} for record in records], "is not a valid file name for its attachment"),
    (lambda records: [{**record, "name": "same"} for record in records], "have the same file name"),
    (lambda records: records, "its field name is not a string"),
])
def test_files_export_refuses_paths_as_names(dumps, tmp_path, change, word):
    exported("files", dumps, tmp_path / "assets", ICONS, "--key", "id")
    changed = change(json.loads((tmp_path / "assets/icons.json").read_text()))
    (tmp_path / "assets/icons.json").write_text(json.dumps(changed))
    held = Dumps(tmp_path / "held")
    assert rsdump.run("import", "--from", "files", tmp_path / "assets", "--dumps", held.path).code == rsdump.DONE
    refused = rsdump.run("export", "--to", "files", "--key", "name", "--dumps", held.path, "--output", tmp_path / "out")
    assert refused.code == rsdump.USAGE and refused.says(word), str(refused)
    assert not (tmp_path / "out").exists()


def test_import_skips_unreferenced_files(dumps, tmp_path):
    exported("files", dumps, tmp_path / "assets", ICONS, "--key", "id")
    file = sorted((tmp_path / "assets/attachments/icons").iterdir())[0]
    file.write_bytes(b"another")
    taken = rsdump.run("import", "--from", "files", tmp_path / "assets", "--dumps", tmp_path / "held")
    assert taken.says(file.name, "no record has an attachment with this content"), str(taken)
