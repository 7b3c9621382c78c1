"""On a machine without libarchive, all works but what is about archives, and that says what is missing."""
import pathlib
import subprocess

import pytest

import rsdump
import toolchain
from conftest import REAL_COLLECTIONS


@pytest.fixture
def without_libarchive(tmp_path):
    library = tmp_path / "missing_library.so"
    subprocess.run(
        [toolchain.clang(), "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library,
         pathlib.Path(__file__).with_name("missing_library.c"), "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "MISSING_LIBRARY": "libarchive"}


def test_without_libarchive(without_libarchive, dumps, sample, tmp_path):
    def run(*arguments):
        return rsdump.run(*arguments, env=without_libarchive)

    archive, copy, tree = tmp_path / "dumps.tar.zst", tmp_path / "copy", tmp_path / "tree"
    assert rsdump.run("export", "--to", "tar.zst", "--dumps", dumps.path, "--output", archive).code == rsdump.DONE
    before = archive.read_bytes()
    for outcome in (
        run("export", "--to", "tar.zst", "--dumps", dumps.path, "--output", archive, "--force"),
        run("import", "--from", "dumps", archive, "--dumps", copy, "--trust-root", sample.root),
    ):
        assert outcome.code == rsdump.SOME_FAILED, str(outcome)
        assert outcome.says(str(archive), "libarchive.so.13", "libarchive13"), str(outcome)
    assert archive.read_bytes() == before
    assert not list(copy.glob("*")) and not list(tmp_path.glob("dumps.tar.zst?*"))

    sample.patch_record("main/settings", "telemetry", {"value": True})
    for arguments in (
        ("refresh", "--dumps", dumps.path),
        ("verify", "--locked", "--dumps", dumps.path),
        ("rebuild", "--dumps", dumps.path),
        ("export", "--to", "firefox", "--dumps", dumps.path, "--output", tree),
        ("import", "--from", "firefox", REAL_COLLECTIONS, "main/password-rules", "--dumps", tmp_path / "imported"),
    ):
        outcome = run(*arguments)
        assert outcome.code == rsdump.DONE, str(outcome)
