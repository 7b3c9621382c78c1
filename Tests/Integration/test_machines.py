"""Two machines: whatever may differ between them does, and what they make is the same to the byte.

The second one has another user, umask, time zone, locale and path. diffoscope, which looks
into archives and bundles, has the last word.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import zipfile

import pytest

import rsdump
import samples
from conftest import REAL_COLLECTIONS
from dumps import Dumps

SETTINGS = "main/settings"
IMPORTED = ("blocklists/addons-bloomfilters", "main/password-rules", "main/search-config-icons")
TREES = ("firefox", "application-services", "changesets")
FILES = ("tar.zst", "plist", "json")
NOBODY = 65534
LOCALE = "tr_TR.ISO-8859-9"


class Machine:
    def __init__(self, folder, umask, **environment):
        self.folder, self.umask = pathlib.Path(folder), umask
        self.environment = rsdump.environment({"HOME": str(folder), **environment})
        self.binary, self.prefix, self.user = rsdump.BINARY, [], {}

    def copy_in(self, source, name):
        shutil.copytree(source, self.folder / name)
        if self.user:
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", self.folder / name], check=True)
            subprocess.run(["chmod", "-R", "go-rwx", self.folder / name], check=True)

    def __call__(self, *arguments):
        finished = subprocess.run(
            [*self.prefix, self.binary, *map(str, arguments)], cwd=self.folder, env=self.environment, umask=self.umask,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=rsdump.TIMEOUT, **self.user)
        assert finished.returncode == rsdump.DONE, f"{arguments}: {finished.stdout}{finished.stderr}"
        return finished.stdout


@pytest.fixture
def machines(tmp_path):
    (tmp_path / "machine").mkdir()
    first = Machine(tmp_path / "machine", umask=0o022, TZ="America/St_Johns", LC_ALL="C.UTF-8", USER="root")
    # Not below the folder of the tests, where another user may not look.
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="another machine \u00e9 ") as folder:
        second = Machine(
            folder, umask=0o077, TZ="Asia/Kathmandu", LC_ALL=LOCALE, LOCPATH=f"{folder}/locales",
            USER="nobody")
        (second.folder / "locales").mkdir()
        subprocess.run(
            ["localedef", "-i", "tr_TR", "-f", "ISO-8859-9", f"{folder}/locales/{LOCALE}"], check=True)
        # It is in effect, or it would be no difference.
        charmap = subprocess.run(["locale", "charmap"], env=second.environment, capture_output=True, text=True)
        assert charmap.stdout.strip() == "ISO-8859-9", charmap.stderr
        if os.getuid() == 0:
            second.binary = shutil.copy(rsdump.BINARY, second.folder)
            second.user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            os.chown(folder, NOBODY, NOBODY)
        else:
            # The same owner of the files, but rsdump is told that it runs as root.
            second.prefix = ["unshare", "--user", "--map-root-user"]
        yield first, second


def tree(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def diffoscope(left, right):
    """What diffoscope finds to differ; the metadata of files outside of archives is the umask's business."""
    judged = subprocess.run(
        ["diffoscope", "--text-color", "never", "--exclude-directory-metadata", "recursive", left, right],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert judged.returncode == (1 if judged.stdout else 0), judged.stderr
    return judged.stdout


def same(machines, name):
    left, right = (machine.folder / name for machine in machines)
    if left.is_dir():
        assert tree(left) == tree(right) and tree(left), name
    else:
        assert left.read_bytes() == right.read_bytes(), name
    assert diffoscope(left, right) == ""


def test_a_refresh_gives_the_same_bundles(machines, sample):
    for machine in machines:
        machine("add", *samples.NAMES, "--server", sample.url, "--trust-root", sample.root, "--attachments", "all")
        machine("refresh")
        machine("verify", "--rebuild", "--output", "bundles")
        assert sorted(tree(machine.folder / "bundles")) == sorted(f"{name}.zip" for name in samples.NAMES)
    same(machines, "bundles")
    first, second = (Dumps(machine.folder / "dumps") for machine in machines)
    assert first.bundle_path(SETTINGS).stat().st_mode & 0o777 == 0o644
    assert second.bundle_path(SETTINGS).stat().st_mode & 0o777 == 0o600
    if os.getuid() == 0:
        assert second.bundle_path(SETTINGS).stat().st_uid == NOBODY
    same(machines, "dumps/main")
    assert first.config.read_bytes() == second.config.read_bytes()
    # The time of verification is what a lock is about; nothing else in it may differ.
    locks = first.lock, second.lock
    for lock in locks:
        for entry in lock["collections"].values():
            assert entry["trust"]["signed"].pop("verifiedAt")
    assert locks[0] == locks[1]


def test_an_import_gives_the_same_directory(machines):
    for machine in machines:
        machine.copy_in(REAL_COLLECTIONS, "settings")
        machine("import", "--from", "firefox", "settings", *IMPORTED)
        assert sorted(Dumps(machine.folder / "dumps").names) == sorted(IMPORTED)
    same(machines, "dumps")


def test_exports_and_embedded_sources_are_the_same(machines, dumps):
    for machine in machines:
        machine.copy_in(dumps.path, "dumps")
        for layout in TREES:
            machine("export", "--to", layout, "--output", f"out/{layout}")
        for layout in FILES:
            fields = ["--key", "id", "--value", "value", SETTINGS] if layout in ("plist", "json") else []
            machine("export", "--to", layout, "--output", f"out/dumps.{layout}", *fields)
        machine("embed", "--output", "out/Embedded", "--swift", "out/App/Embedded.swift")
        machine("embed", "--output", "out/Stored", "--stored")
        machine("export", "--to", "mirror", "--url", "https://settings.example.org", "--output", "mirror")
    assert len(list((machines[0].folder / "out").iterdir())) == len(TREES) + len(FILES) + 3
    same(machines, "out")
    assert len({os.readlink(machine.folder / "mirror/current") for machine in machines}) == 1
    same(machines, "mirror/current")


def test_diffoscope_sees_one_byte(dumps, tmp_path):
    """What it says of a byte that differs deep inside, so that its silence means something."""
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder, value in zip(folders, (b'"top"', b'"tip"')):
        shutil.copytree(dumps.path / "main", folder)
        with zipfile.ZipFile(folder / "settings.zip", "w") as archive:
            for name, content in dumps.bundle(SETTINGS).entries.items():
                archive.writestr(zipfile.ZipInfo(name), content.replace(b'"top"', value))
    found = diffoscope(*folders)
    assert "settings.zip" in found and "records.json" in found and '"tip"' in found
    assert "icons.zip" not in found
