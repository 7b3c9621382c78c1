"""Bundles in the forms of other projects."""
import hashlib
import io
import json
import plistlib
import re
import shutil
import subprocess
import tarfile

import pytest

import rsdump
import samples
from conftest import REAL_COLLECTIONS
from dumps import Dumps

SETTINGS, REGIONS, ICONS = "main/settings", "main/regions", "main/icons"
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
    """Files that no record names: they are part of no collection, though Firefox ships them."""
    ids = {name: {r["id"] for r in dumps.bundle(name).records} for name in dumps.names}
    sidecars = {
        path for path in given if path.endswith(".meta.json")
        and json.loads(given[path])["id"] not in ids[path.rsplit("/", 1)[0]]}
    return sidecars | {path.removesuffix(".meta.json") for path in sidecars}


def test_firefox_files_come_out_as_they_went_in(imported_real, tmp_path):
    written = tree(exported("firefox", imported_real, tmp_path / "settings"))
    given = tree(REAL_COLLECTIONS)
    times, known = json.loads(written.pop(TIMES)), json.loads(given.pop(TIMES))
    # Firefox's own list has collections that the tree lacks, and lacks some that the tree has: those cannot be known.
    assert set(times) == set(imported_real.names)
    assert all(times[name] == known[name] for name in times.keys() & known.keys())
    assert set(written) == set(given) - orphans(given, imported_real) and len(written) > 100
    assert [path for path in written if written[path] != given[path]] == []


def test_firefoxs_tree_is_updated_in_place(imported_real, tmp_path):
    given, settings = tree(REAL_COLLECTIONS), tmp_path / "settings"
    shutil.copytree(REAL_COLLECTIONS, settings)
    # An older tree of which nothing that has a bundle is right, and in which there is more than collections.
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
    # Every file, the list of times too; the two of an icon that no record names any more are gone, and that is said.
    gone = orphans(given, imported_real)
    assert tree(settings) == {path: content for path, content in given.items() if path not in gone} | kept
    assert all(outcome.says(f"{path}: removed, because no record has this attachment") for path in gone)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["settings"]


def test_an_updated_list_gets_what_is_new(dumps, tmp_path):
    settings = exported("firefox", dumps, tmp_path / "settings", SETTINGS)
    at = {name: entry["timestamp"] for name, entry in dumps.lock["collections"].items()}
    (settings / TIMES).write_text(json.dumps({SETTINGS: 1, "main/elsewhere": 2}))
    exported("firefox", dumps, settings, "--update")
    assert (settings / TIMES).read_text() == json.dumps({**at, "main/elsewhere": 2}, sort_keys=True)
    # Without a list, as in Firefox's sources, there is none afterwards.
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
def test_an_attachment_that_the_bundle_has_left_out_stays_in_an_updated_tree(dumps, sample, tmp_path, layout, folder):
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


def test_update_is_for_trees(dumps, tmp_path):
    for arguments in (("changesets",), ("tar.zst",), ("firefox", "--force"), ("mirror", "--url", "https://example.org")):
        outcome = export(arguments[0], dumps, tmp_path / "out", "--update", *arguments[1:])
        assert outcome.code == rsdump.USAGE and outcome.says("--update"), str(outcome)
    (tmp_path / "out").write_text("mine")
    assert export("firefox", dumps, tmp_path / "out", "--update").code == rsdump.USAGE
    assert (tmp_path / "out").read_text() == "mine"


def test_application_services_can_load_it(imported_real, tmp_path):
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
def test_what_was_exported_comes_back(imported_real, tmp_path, layout, source):
    path = exported(layout, imported_real, tmp_path / f"out.{layout}")
    back = Dumps(tmp_path / "back")
    outcome = rsdump.run("import", "--from", source, path, "--dumps", back.path)
    assert outcome.code == rsdump.DONE, str(outcome)
    assert contents(back) == contents(imported_real)
    assert {n: back.bundle_path(n).read_bytes() for n in back.names} == {
        n: imported_real.bundle_path(n).read_bytes() for n in imported_real.names}


# Signed collections


@pytest.mark.parametrize("layout, source", [("changesets", "changeset"), ("tar.zst", "dumps")])
def test_signatures_come_along(dumps, sample, tmp_path, layout, source):
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


def test_changesets_are_what_the_server_answers(dumps, sample, tmp_path):
    output = exported("changesets", dumps, tmp_path / "out", SETTINGS, ICONS)
    written, served = json.loads((output / f"{SETTINGS}.json").read_text()), sample.changeset(SETTINGS)
    assert written["timestamp"] == served["timestamp"]
    assert written["changes"] == sorted(served["changes"], key=lambda record: record["id"])
    assert written["metadata"] == dumps.bundle(SETTINGS).metadata
    assert (output / f"{SETTINGS}.pem").read_bytes() == dumps.bundle(SETTINGS).chain
    assert {path.name for path in (output / "attachments").iterdir()} == set(dumps.bundle(ICONS).attachments)
    assert not (output / f"{REGIONS}.json").exists()


# The output


def test_a_lost_bundle_is_not_replaced_by_one_without_a_signature(dumps, tmp_path):
    tree = exported("firefox", dumps, tmp_path / "tree", SETTINGS)
    dumps.bundle_path(SETTINGS).unlink()
    outcome = rsdump.run("import", "--from", "firefox", tree, SETTINGS, "--dumps", dumps.path)
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("it has no signature, but the current bundle has one"), str(outcome)
    assert not dumps.bundle_path(SETTINGS).exists()


def test_a_directory_arrives_as_it_was(dumps, sample, tmp_path):
    """With its rules, what was accepted, its server and its roots: nothing has to be given again."""
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
        # What was lost is brought back, too.
        for path in arrived.path.rglob("*.zip"):
            path.unlink()
        assert rsdump.run("import", "--from", "dumps", source, "--dumps", arrived.path).code == rsdump.DONE
        assert arrived.files() == dumps.files()
    # Without the roots of its own dumps.yaml, nothing of a foreign archive is taken.
    wrong = "--trust-root=" + ":".join(["00"] * 32)
    outcome = rsdump.run("import", "--from", "dumps", archive, "--dumps", tmp_path / "other", wrong)
    assert outcome.code == rsdump.VERIFICATION and not list((tmp_path / "other").rglob("*.zip")), str(outcome)


@pytest.mark.parametrize("layout", ["firefox", "application-services", "changesets", "tar.zst"])
def test_nothing_of_the_machine_is_in_it(dumps, tmp_path, layout):
    first = exported(layout, dumps, tmp_path / "first")
    (tmp_path / "else where").mkdir()
    copy = dumps.copy(tmp_path / "else where/dumps")
    second = exported(
        layout, copy, "second", cwd=tmp_path / "else where", umask=0o077,
        env={"TZ": "Asia/Tokyo", "LC_ALL": "C", "LANG": "C"})
    second = tmp_path / "else where/second"
    if first.is_file():
        assert first.read_bytes() == second.read_bytes()
    else:
        assert tree(first) == tree(second) and tree(first)


def test_one_is_not_a_plural(dumps, tmp_path):
    assert export("firefox", dumps, tmp_path / "one", SETTINGS).says("1 collection in 2 files, ")
    assert export("tar.zst", dumps, tmp_path / "two", SETTINGS, REGIONS).says("2 collections in 1 file, ")
    for command, words in (
            (("verify", SETTINGS), "1 of 1 bundle verified"), (("verify", "--rebuild", SETTINGS), "1 of 1 bundle rebuilt")):
        assert rsdump.run(*command, "--dumps", dumps.path).says(words)


def test_an_archive_is_a_directory_of_dumps(dumps, tmp_path):
    path = exported("tar.zst", dumps, tmp_path / "dumps.tar.zst", SETTINGS, REGIONS)
    plain = subprocess.run(["bsdtar", "-cf", "-", "--format", "pax", f"@{path}"], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
        for member in archive:
            assert member.isreg() and (member.mode, member.uid, member.gid, member.mtime) == (0o644, 0, 0, 0)
    (tmp_path / "site").mkdir()
    subprocess.run(["bsdtar", "-xf", path, "-C", tmp_path / "site"], check=True)
    out = Dumps(tmp_path / "site/dumps")
    assert out.names == [REGIONS, SETTINGS]
    assert out.verify().code == rsdump.DONE


@pytest.mark.parametrize("layout", ["application-services", "tar.zst"])
def test_what_is_there_is_replaced_only_when_told(dumps, tmp_path, layout):
    output = tmp_path / "output"
    output.write_text("mine")
    outcome = export(layout, dumps, output)
    assert outcome.code == rsdump.USAGE and outcome.says(str(output), "--force"), str(outcome)
    assert output.read_text() == "mine"
    exported(layout, dumps, output, "--force")
    exported(layout, dumps, output, "--force", SETTINGS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dumps", "output"]
    if layout == "application-services":
        assert set(tree(output)) == {f"{SETTINGS}.json", f"{SETTINGS}.timestamp"}


@pytest.mark.parametrize("command", [
    ("export", "--to", "firefox", "--force"), ("export", "--to", "changesets", "--force"),
    ("export", "--to", "tar.zst", "--force"), ("verify", "--rebuild")], ids=lambda command: "-".join(command))
def test_only_a_directory_of_its_own_is_replaced(dumps, tmp_path, command):
    """A mistyped --output must not cost anything."""
    output = tmp_path / "home"
    output.mkdir()
    arguments = (*command, "--dumps", dumps.path, "--output", output)
    # Empty, and then its own, with whatever was added since.
    for _ in range(2):
        outcome = rsdump.run(*arguments)
        assert outcome.code == rsdump.DONE and not (output / "stale").exists(), str(outcome)
        if output.is_dir():
            (output / "stale").write_text("")
    shutil.rmtree(output) if output.is_dir() else output.unlink()
    output.mkdir()
    (output / "thesis.txt").write_text("mine")
    (output / "main").mkdir()
    (output / "main/settings.zip").write_text("mine")
    before = tree(output)
    outcome = rsdump.run(*arguments)
    assert outcome.code == rsdump.USAGE, str(outcome)
    assert outcome.says(str(output), "rsdump did not create this directory"), str(outcome)
    assert tree(output) == before and sorted(path.name for path in tmp_path.iterdir()) == ["dumps", "home"]


def test_an_update_gives_no_right_to_replace(dumps, tmp_path):
    output = tmp_path / "tree"
    output.mkdir()
    (output / "kept").write_text("mine")
    exported("firefox", dumps, output, "--update")
    outcome = export("firefox", dumps, output, "--force")
    assert outcome.code == rsdump.USAGE and (output / "kept").read_text() == "mine", str(outcome)


@pytest.mark.parametrize("flag", ["--force", "--update"])
@pytest.mark.parametrize("output", ["dumps", "./dumps/", "link", ".", "main/.."])
def test_the_dumps_themselves_are_never_replaced(dumps, tmp_path, output, flag):
    (tmp_path / "link").symlink_to("dumps")
    (tmp_path / "main").mkdir()
    before = tree(tmp_path)
    outcome = rsdump.run("export", "--to", "firefox", "--output", output, flag, cwd=tmp_path)
    assert outcome.code == rsdump.USAGE and outcome.says("the dumps directory", "--output"), str(outcome)
    assert tree(tmp_path) == before and (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("layout", ["firefox", "tar.zst"])
@pytest.mark.parametrize("output", ["dumps/main", "link", "dumps/dumps.lock.json", "dumps/main/settings.zip"])
def test_no_part_of_the_dumps_is_replaced(dumps, tmp_path, layout, output):
    (tmp_path / "link").symlink_to("dumps/main")
    before = tree(tmp_path)
    outcome = rsdump.run("export", "--to", layout, "--output", output, "--force", cwd=tmp_path)
    assert outcome.code == rsdump.USAGE and outcome.says("the dumps directory", "--output"), str(outcome)
    assert tree(tmp_path) == before and (tmp_path / "link").is_symlink()


def test_a_damaged_bundle_is_not_exported(dumps, tmp_path):
    path = dumps.bundle_path(SETTINGS)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    (tmp_path / "there").mkdir()
    outcome = export("application-services", dumps, tmp_path / "there", "--force")
    assert outcome.code == rsdump.VERIFICATION and outcome.says(f"{SETTINGS}.zip"), str(outcome)
    assert list((tmp_path / "there").iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dumps", "there"]


def test_names_and_places_that_are_none(dumps, tmp_path):
    outcome = export("firefox", dumps, tmp_path / "out", "main/unheard-of")
    assert outcome.code == rsdump.USAGE and outcome.says("main/unheard-of"), str(outcome)
    assert export("nothing", dumps, tmp_path / "out").code == rsdump.USAGE
    for layout in ("firefox", "tar.zst"):
        assert export(layout, dumps, "/dev/null/out").code in (rsdump.USAGE, rsdump.TRY_AGAIN)
        exported(layout, dumps, tmp_path / f"made/for/{layout}")
    exported("json", dumps, tmp_path / "made/too/d.json", "--key", "id", "--value", "id", SETTINGS)
    assert not (tmp_path / "out").exists()


# Defaults


@pytest.fixture
def values(sample, tmp_path):
    """A collection with a value of each type."""
    sample.put_collection("main/values")
    given = {
        "text": "a < b & \"c\" > 'd' \u00e9\U0001f600\r\n", "whole": 7, "negative": -3, "real": 1.5, "large": 2 ** 53,
        "yes": True, "no": False, "list": [1, "two", [3.25]], "object": {"b": 1, "a": {"c": []}}, "empty": ""}
    for name, value in given.items():
        sample.put_record("main/values", {"id": name, "key": name, "value": value})
    dumps = Dumps(tmp_path / "values")
    assert dumps.add(sample, "main/values").code == rsdump.DONE
    assert dumps.refresh().code == rsdump.DONE
    return sample, dumps, given


FIELDS = ("--key", "key", "--value", "value", "main/values")


def test_defaults_as_json_and_plist(values, tmp_path):
    _, dumps, given = values
    assert json.loads(exported("json", dumps, tmp_path / "d.json", *FIELDS).read_text()) == given
    found = plistlib.loads(exported("plist", dumps, tmp_path / "d.plist", *FIELDS).read_bytes())
    assert found == given
    assert {key: type(value) for key, value in found.items()} == {key: type(value) for key, value in given.items()}


@pytest.mark.parametrize("record, layout, word", [
    ({"id": "bad", "key": "bad", "value": None}, "plist", "null"),
    ({"id": "bad", "key": "bad", "value": [None]}, "plist", "null"),
    ({"id": "bad", "key": "bad", "value": "\u0001"}, "plist", "XML"),
    ({"id": "bad", "key": "bad", "value": 2 ** 63}, "plist", "64 bits"),
    ({"id": "bad", "key": "\u0001", "value": "a"}, "plist", "XML"),
    ({"id": "bad", "key": 7, "value": "a"}, "json", "not a string"),
    ({"id": "bad", "value": "a"}, "json", "key"),
    ({"id": "bad", "key": "bad"}, "json", "value"),
    ({"id": "bad", "key": "whole", "value": "a"}, "json", "whole"),
])
def test_what_cannot_be_said_names_the_record(values, tmp_path, record, layout, word):
    sample, dumps, _ = values
    sample.put_record("main/values", record)
    assert dumps.refresh().code == rsdump.DONE
    outcome = export(layout, dumps, tmp_path / "out", *FIELDS)
    assert outcome.code == rsdump.USAGE and outcome.says("record", word), str(outcome)
    assert "record bad" in outcome.err or "record whole" in outcome.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("arguments", [("main/settings",), ("--key", "id", "--value", "value"), ("--key", "id", SETTINGS)])
def test_defaults_need_one_collection_and_two_fields(dumps, tmp_path, arguments):
    assert export("json", dumps, tmp_path / "out", *arguments).code == rsdump.USAGE
    assert export("firefox", dumps, tmp_path / "out", "--key", "id", "--value", "value").code == rsdump.USAGE


def as_python_writes(records):
    """What the script of firefox-ios writes: the server's list, by `json.dump(records, indent=4)`."""
    return json.dumps(records, indent=4)


def test_plain_files_are_those_of_firefox_ios_and_come_back(dumps, tmp_path):
    output = tmp_path / "assets"
    outcome = exported("files", dumps, output, ICONS, "--key", "id")
    records = json.loads((output / "icons.json").read_text())
    held = {record["id"]: record for record in dumps.bundle(ICONS).records}
    assert {record["id"]: record for record in records} == held, str(outcome)
    # The newest first, in the form of Python's json, with nothing but ASCII.
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
    (lambda records: [{**record, "name": "../x"} for record in records], "cannot be the file name of its attachment"),
    (lambda records: [{**record, "name": "same"} for record in records], "have the same file name"),
    (lambda records: records, "no string in the field name"),
])
def test_names_of_files_come_from_records_and_are_not_paths(dumps, tmp_path, change, word):
    exported("files", dumps, tmp_path / "assets", ICONS, "--key", "id")
    changed = change(json.loads((tmp_path / "assets/icons.json").read_text()))
    (tmp_path / "assets/icons.json").write_text(json.dumps(changed))
    held = Dumps(tmp_path / "held")
    assert rsdump.run("import", "--from", "files", tmp_path / "assets", "--dumps", held.path).code == rsdump.DONE
    refused = rsdump.run("export", "--to", "files", "--key", "name", "--dumps", held.path, "--output", tmp_path / "out")
    assert refused.code == rsdump.USAGE and refused.says(word), str(refused)
    assert not (tmp_path / "out").exists()


def test_a_file_that_no_record_names_is_not_imported(dumps, tmp_path):
    exported("files", dumps, tmp_path / "assets", ICONS, "--key", "id")
    file = sorted((tmp_path / "assets/attachments/icons").iterdir())[0]
    file.write_bytes(b"another")
    taken = rsdump.run("import", "--from", "files", tmp_path / "assets", "--dumps", tmp_path / "held")
    assert taken.says(file.name, "no record has an attachment with this content"), str(taken)
