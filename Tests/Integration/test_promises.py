"""What earlier versions wrote is read by this one."""
import json
import shutil

import pytest

import rsdump
from dumps import Dumps

KEPT = rsdump.REPOSITORY / "Tests/Promises"
VERSIONS = sorted(path.name for path in KEPT.iterdir() if (path / "dumps").is_dir())
SERVER = "http://127.0.0.1:18888/v2"

@pytest.fixture(params=VERSIONS)
def given(request, tmp_path):
    """What a version wrote; a copy."""
    shutil.copytree(KEPT / request.param, tmp_path / "given")
    return tmp_path / "given"


def get(collection, *options):
    outcome = rsdump.run("get", collection, "--server", SERVER, *options)
    assert outcome.code == rsdump.DONE, str(outcome)
    return {record["id"]: record for record in map(json.loads, outcome.out.splitlines())}


def test_its_dumps_are_verified_and_made_again(given):
    verified = rsdump.run("verify", "--locked", "--dumps", given / "dumps", "--format", "json")
    assert verified.code == rsdump.DONE, str(verified)
    assert len(verified.json()["collections"]) == 3
    files = Dumps(given / "dumps").files()
    again = rsdump.run("verify", "--rebuild", "--dumps", given / "dumps")
    assert again.code == rsdump.DONE, str(again)
    assert Dumps(given / "dumps").files() == files


def test_its_attachment_is_read(given, tmp_path):
    outcome = rsdump.run("show", "main/files", "a", "--attachment", "--dumps", given / "dumps", "-o", tmp_path / "ab.txt")
    assert outcome.code == rsdump.DONE, str(outcome)
    assert (tmp_path / "ab.txt").read_bytes() == b"hello\n"


@pytest.mark.parametrize("storage, origin", [("storage", ()), ("storage-catalogue", ("--publisher", "golden.example.org"))])
def test_its_storage_serves_records_offline(given, storage, origin):
    root = next(line.split('"')[1] for line in (given / "dumps/dumps.yaml").read_text().splitlines() if '- "' in line)
    options = ("--storage", given / storage, "--trust-root", root, *origin)
    assert get("main/app-config", *options)["greeting"]["value"] == "Hello"
    assert set(get("main/files", *options)) == {"a", "b"}


def test_its_package_serves_records_offline(given, tmp_path):
    assert set(get("main/files", "--packaged", given / "dumps", "--storage", tmp_path / "new")) == {"a", "b"}
