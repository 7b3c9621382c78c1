"""What earlier versions wrote is read by this one."""
import json
import shutil

import pytest

import rsdump
from dumps import Dumps
from serve import Serving

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
    assert len(verified.json()["collections"]) == 2 and verified.says("catalogue: has no effect any more")
    files = Dumps(given / "dumps").files()
    again = rsdump.run("verify", "--rebuild", "--dumps", given / "dumps")
    assert again.code == rsdump.DONE, str(again)
    assert Dumps(given / "dumps").files() == files


def test_its_attachment_is_read(given, tmp_path):
    outcome = rsdump.run("show", "main/files", "a", "--attachment", "--dumps", given / "dumps", "-o", tmp_path / "ab.txt")
    assert outcome.code == rsdump.DONE, str(outcome)
    assert (tmp_path / "ab.txt").read_bytes() == b"hello\n"


def test_a_refresh_removes_its_catalogue(given, tmp_path):
    shutil.copytree(given / "dumps", tmp_path / "served")
    with Serving("--dumps", tmp_path / "served") as server:
        options = ("--dumps", given / "dumps", "--server", server.url)
        planned = rsdump.run("refresh", "--dry-run", *options)
        assert planned.code == rsdump.DONE and (given / "dumps/publisher/catalogue.zip").exists(), str(planned)
        refreshed = rsdump.run("refresh", *options)
        assert refreshed.code == rsdump.DONE and refreshed.says("publisher/catalogue: removed"), str(refreshed)
        files = Dumps(given / "dumps").files()
        assert not any("catalogue" in name for name in files) and "catalogue" not in (given / "dumps/dumps.lock.json").read_text()
        assert rsdump.run("verify", "--locked", "--dumps", given / "dumps").code == rsdump.DONE
        again = rsdump.run("refresh", *options)
        assert again.code == rsdump.DONE and not again.says("removed") and Dumps(given / "dumps").files() == files, str(again)


@pytest.mark.parametrize("storage", ["storage", "storage-catalogue"])
def test_its_storage_serves_records_offline(given, storage):
    root = next(line.split('"')[1] for line in (given / "dumps/dumps.yaml").read_text().splitlines() if '- "' in line)
    options = ("--storage", given / storage, "--trust-root", root)
    assert get("main/app-config", *options)["greeting"]["value"] == "Hello"
    assert set(get("main/files", *options)) == {"a", "b"}


def test_its_package_serves_records_offline(given, tmp_path):
    assert set(get("main/files", "--packaged", given / "dumps", "--storage", tmp_path / "new")) == {"a", "b"}
