"""Names that are not UTF-8, which Linux and git take, and which no path of a Swift string leads to."""
import os
import subprocess

import pytest

import rsdump

NAME = b"\xff"


def make(folder, is_folder=False):
    folder.mkdir(parents=True, exist_ok=True)
    path = os.path.join(os.fsencode(folder), NAME)
    if is_folder:
        os.mkdir(path)
    else:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    return path


@pytest.mark.parametrize("place", ["staging", "staging/main.settings", "import", "x.zip.tmp"])
@pytest.mark.parametrize("is_folder", [False, True])
def test_refresh_removes_non_utf8_work_files(dumps, sample, place, is_folder):
    make(dumps.path / ".rsdump" / place, is_folder)
    outcome = dumps.refresh("--full")
    assert outcome.code == rsdump.DONE, str(outcome)
    assert not (dumps.path / ".rsdump").exists()


def test_export_replaces_non_utf8_output_names(dumps, tmp_path):
    output = tmp_path / "export"
    command = ("export", "--to", "changesets", "--dumps", dumps.path, "--output", output)
    assert rsdump.run(*command).code == rsdump.DONE
    make(output)
    outcome = rsdump.run(*command, "--force")
    assert outcome.code == rsdump.DONE, str(outcome)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("export")] == ["export"]


def test_mirror_removes_non_utf8_leftovers(dumps, tmp_path):
    output = tmp_path / "mirror"
    command = ("export", "--to", "mirror", "--url", "http://mirror.example", "--dumps", dumps.path, "--output", output)
    assert rsdump.run(*command).code == rsdump.DONE
    make(output / ".new-tree.0123456789abcdef/a")
    os.mkdir(os.path.join(os.fsencode(output), b".new-" + NAME))
    outcome = rsdump.run(*command)
    assert outcome.code == rsdump.DONE, str(outcome)
    assert not any(name.startswith(b".new-") for name in os.listdir(os.fsencode(output)))


def test_non_utf8_input_names_are_refused(dumps, tmp_path):
    make(dumps.path)
    outcome = rsdump.run("verify", "--locked", "--dumps", dumps.path)
    assert outcome.code == rsdump.VERIFICATION, str(outcome)
    assert outcome.says("\ufffd  failed: it is not in the lock file"), str(outcome)
    files = tmp_path / "files"
    assert rsdump.run("export", "--to", "files", "--dumps", dumps.path, "--output", files).code == rsdump.DONE
    folder = next(path for path in files.rglob("*") if path.is_dir() and path.name == "icons")
    make(folder)
    outcome = rsdump.run("import", files, "--from", "files", "--dumps", tmp_path / "imported")
    assert outcome.says("its name is not UTF-8; rename it"), str(outcome)


def test_non_utf8_argument_is_refused(tmp_path):
    finished = subprocess.run(
        [rsdump.BINARY, b"add", b"main/a", b"--dumps", os.fsencode(tmp_path) + b"/" + NAME], capture_output=True,
        text=True, env=rsdump.environment())
    assert finished.returncode == rsdump.USAGE and "is not UTF-8" in finished.stderr, finished.stderr
    assert not os.listdir(tmp_path)
