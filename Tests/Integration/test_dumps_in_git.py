"""What the article "Dumps in git" says: bundles that git can store as deltas, and bundles that are not compressed."""
import json
import random
import subprocess
import zipfile

import pytest

import rsdump
from dumps import Dumps
from git import GitTree

NAME = "main/nights"


def records(count):
    numbers = random.Random(5)
    return [
        {"id": f"record-{number:05}", "last_modified": 1000 + number, "text": f"{numbers.getrandbits(1000):x}"}
        for number in range(count)]


def imported(dumps, each, time, *arguments):
    changeset = dumps.path.parent / "changeset.json"
    changeset.write_text(json.dumps({"metadata": {"bucket": "main", "id": "nights"}, "timestamp": time, "changes": each}))
    outcome = rsdump.run("import", changeset, "--from", "changeset", "--dumps", dumps.path, *arguments)
    assert outcome.code == rsdump.DONE, str(outcome)
    return outcome


def configure(dumps, text):
    dumps.path.mkdir(exist_ok=True)
    dumps.config.write_text(f"version: 1\n{text}")


def methods(dumps):
    with zipfile.ZipFile(dumps.bundle_path(NAME)) as archive:
        assert archive.testzip() is None
        return {each.filename: each.compress_type for each in archive.infolist()}


@pytest.fixture
def nights(tmp_path):
    return Dumps(tmp_path / "dumps")


def blocks(dumps):
    """The parts of the stream of records, which end with an empty stored block."""
    with zipfile.ZipFile(dumps.bundle_path(NAME)) as archive:
        entry = archive.getinfo("records.json")
        begin = entry.header_offset + 30 + len(entry.filename) + 20
    return dumps.bundle_path(NAME).read_bytes()[begin:begin + entry.compress_size].split(b"\0\0\xff\xff")


def test_changed_record_changes_one_compressed_block(nights):
    each = records(2000)
    imported(nights, each, 10_000)
    before = blocks(nights)
    each[1000] |= {"text": "changed", "last_modified": 10_001}
    imported(nights, each, 10_002)
    after = blocks(nights)
    assert len(after) > 8 and len(set(after) - set(before)) == 2, "not one block and the timestamp"


def test_compression_setting_per_collection(nights):
    configure(nights, f"compression: stored\ncollections:\n  {NAME}:\n")
    each = records(300)
    imported(nights, each, 10_000)
    assert set(methods(nights).values()) == {zipfile.ZIP_STORED}
    stored = nights.lock["collections"][NAME]
    assert rsdump.run("verify", "--rebuild", "--dumps", nights.path).says("1 of 1 bundle rebuilt")
    assert nights.verify().code == rsdump.DONE

    # What is there stays as it is until its data changes.
    configure(nights, f"compression: stored\ncollections:\n  {NAME}:\n    compression: deflate\n")
    assert imported(nights, each, 10_000).says("unchanged")
    assert nights.lock["collections"][NAME] == stored
    imported(nights, each[1:], 10_001)
    assert methods(nights)["records.json"] == zipfile.ZIP_DEFLATED

    nights.bundle_path(NAME).unlink()
    (nights.path / "dumps.lock.json").unlink()
    imported(nights, each, 10_000)
    assert nights.lock["collections"][NAME]["content"] == stored["content"]


def test_embed_compresses_stored_bundles(nights, tmp_path):
    configure(nights, f"compression: stored\ncollections:\n  {NAME}:\n")
    imported(nights, records(300), 10_000)
    folder = tmp_path / "Embedded"
    for arguments in ((), ("--stored",)):
        outcome = rsdump.run("embed", "--dumps", nights.path, "--output", folder, *arguments)
        assert outcome.code == rsdump.DONE, str(outcome)
        if arguments:  # the bundle in the directory is what the program needs
            assert not (folder / "bundles").exists() and not (folder / "dumps.lock.json").exists()
        else:
            with zipfile.ZipFile(folder / f"bundles/{NAME}.zip") as archive:
                assert archive.getinfo("records.json").compress_type == zipfile.ZIP_DEFLATED
        assert rsdump.run("embed", "--dumps", nights.path, "--output", folder, *arguments, "--check").code == rsdump.DONE


def test_add_writes_attributes_for_a_new_directory_in_a_repository(tmp_path):
    tree = GitTree(tmp_path)
    dumps = Dumps(tmp_path / "new/dumps")
    outcome = rsdump.run("add", "main/markets", "--dumps", dumps.path)
    assert outcome.code == rsdump.DONE and outcome.says(".gitattributes: written"), str(outcome)
    (dumps.path / "main").mkdir()
    (dumps.path / "main/markets.zip").write_bytes(b"PK")
    assert ": text: unset" in tree.git("check-attr", "text", "new/dumps/main/markets.zip")
    assert ": text: unset" in tree.git("check-attr", "text", "new/dumps/dumps.lock.json")
    (dumps.path / ".gitattributes").unlink()
    rsdump.run("add", "main/more", "--dumps", dumps.path)
    assert not (dumps.path / ".gitattributes").exists(), "whoever removed it does not want it"
    assert rsdump.run("merge", "--setup", "--dumps", dumps.path).says(".gitattributes was written")


def test_add_outside_git_writes_no_attributes(tmp_path):
    outcome = rsdump.run("add", "main/markets", "--dumps", tmp_path / "dumps")
    assert outcome.code == rsdump.DONE and sorted(path.name for path in (tmp_path / "dumps").iterdir()) == ["dumps.yaml"]


@pytest.mark.parametrize("arguments, most", [((), 2_000_000), (("--compression", "stored"), 1_000_000)])
def test_nights_in_git(arguments, most):
    outcome = subprocess.run(
        [rsdump.REPOSITORY / "Tests/Benchmark/nights", "--nights", "6", "--records", "2500", *arguments],
        env=rsdump.environment() | {"RSDUMP": str(rsdump.BINARY)}, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stderr
    aggressive = outcome.stdout.split("--aggressive: ")[1].split()[0]
    assert int(aggressive) < most, outcome.stdout


def test_add_keeps_existing_gitattributes(tmp_path):
    GitTree(tmp_path)
    dumps = Dumps(tmp_path / "dumps")
    dumps.path.mkdir()
    before = b"*.bin -text\r\n# gr\xfc\xdfe an alle\r\n"
    (dumps.path / ".gitattributes").write_bytes(before)
    assert rsdump.run("add", "main/markets", "--dumps", dumps.path).code == rsdump.DONE
    after = (dumps.path / ".gitattributes").read_bytes()
    assert after == before + b"dumps.lock.json -text merge=rsdump\r\n*.zip -text merge=rsdump diff=rsdump\r\n"
    assert rsdump.run("merge", "--setup", "--dumps", dumps.path).says("already has the attributes")
    assert (dumps.path / ".gitattributes").read_bytes() == after
