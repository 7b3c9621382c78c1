"""Importing collections from sources other than a server. The archives are real files, and some of them are malicious."""
import gzip
import hashlib
import json
import lzma
import random
import shutil
import struct
import subprocess
import tarfile
import time
import zipfile

import pytest

import rsdump
import samples
from conftest import FOREIGN, REAL_COLLECTIONS
from dumps import Dumps

SETTINGS, MARKETS, ICONS = "main/settings", "main/markets", "main/icons"
BLOOM = "blocklists/addons-bloomfilters"


def import_(source, path, dumps, *arguments, **options):
    return rsdump.run("import", "--from", source, path, "--dumps", dumps, *arguments, **options)


def contents(dumps):
    return {name: entry["content"] for name, entry in dumps.lock["collections"].items()}


def document(records, timestamp):
    return json.dumps({"data": records, "timestamp": timestamp}, indent=2) + "\n"


@pytest.fixture
def tree(tmp_path):
    """A small defaults/settings with one attachment."""
    root = tmp_path / "tree"
    (root / "main/icons").mkdir(parents=True)
    content = samples.svg(5)
    attachment = {
        "hash": hashlib.sha256(content).hexdigest(), "size": len(content), "filename": "a.svg",
        "location": "main-workspace/icons/a.svg", "mimetype": "image/svg+xml"}
    record = {"attachment": attachment, "id": "a", "last_modified": 1700000000001}
    (root / "main/icons.json").write_text(document([record], 1700000000001))
    (root / "main/icons/a").write_bytes(content)
    (root / "main/icons/a.meta.json").write_text(json.dumps(record))
    (root / "main/settings.json").write_text(document([{"value": 1.5, "id": "x", "last_modified": 5}], 1700000000002))
    return root


def zip_of(tree, path, prefix="defaults/settings/"):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(tree.rglob("*")):
            if file.is_file():
                archive.write(file, prefix + file.relative_to(tree).as_posix())
    return path


def packed(tree, path):
    """An archive of the tree, made by bsdtar in the format of its file name extension."""
    subprocess.run(["bsdtar", "-a", "-cf", path, "-C", tree, "main"], check=True)
    return path


# The real collections


def test_all_real_collections_are_taken_and_verify(imported_real):
    names = sorted(p.relative_to(REAL_COLLECTIONS).as_posix()[:-5] for p in REAL_COLLECTIONS.glob("*/*.json"))
    assert len(names) > 20 and imported_real.names == names, FOREIGN
    assert all(entry["trust"] == "imported" for entry in imported_real.lock["collections"].values())
    outcome = imported_real.verify()
    assert outcome.code == rsdump.DONE, str(outcome)
    bloom = imported_real.bundle(BLOOM)
    assert len(bloom.attachments) == sum("attachment" in record for record in bloom.records) > 0
    for name in (BLOOM, "main/ai-window-prompts", "main/search-config-v2"):
        given = json.loads((REAL_COLLECTIONS / f"{name}.json").read_text())
        bundle = imported_real.bundle(name)
        assert bundle.timestamp == given["timestamp"]
        assert bundle.records == sorted(given["data"], key=lambda record: record["id"])


def test_import_from_omni_ja_and_debian_package(imported_real, tmp_path):
    omni = zip_of(REAL_COLLECTIONS, tmp_path / "omni.ja")
    with zipfile.ZipFile(omni, "a") as archive:
        archive.writestr("chrome/main/other.json", "{}")
    package = tmp_path / "package"
    (package / "usr/lib/firefox-esr/browser").mkdir(parents=True)
    shutil.copy(omni, package / "usr/lib/firefox-esr/browser/omni.ja")
    (package / "usr/bin").mkdir()
    (package / "usr/bin/firefox").symlink_to("../lib/firefox-esr/firefox")
    (package / "DEBIAN").mkdir()
    (package / "DEBIAN/control").write_text(
        "Package: firefox-esr\nVersion: 1\nArchitecture: all\nMaintainer: Nobody <nobody@example.org>\n"
        "Description: a test\n")
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Zxz", "-z0", "--build", package, tmp_path / "firefox-esr.deb"],
        check=True, stdout=subprocess.DEVNULL)
    for path in (omni, tmp_path / "firefox-esr.deb"):
        dumps = Dumps(tmp_path / f"dumps-{path.suffix[1:]}")
        outcome = import_("firefox", path, dumps.path, BLOOM, "main/search-config-icons")
        assert outcome.code == rsdump.DONE, str(outcome)
        assert dumps.names == [BLOOM, "main/search-config-icons"]
        for name in dumps.names:
            assert dumps.bundle_path(name).read_bytes() == imported_real.bundle_path(name).read_bytes()


# Formats


@pytest.mark.parametrize("name", ["t.tar", "t.tar.gz", "t.tar.xz", "t.tar.zst", "t.zip", "t.7z"])
def test_archives(tree, tmp_path, name):
    plain, dumps = Dumps(tmp_path / "plain"), Dumps(tmp_path / "dumps")
    assert import_("firefox", tree, plain.path).code == rsdump.DONE
    outcome = import_("firefox", packed(tree, tmp_path / name), dumps.path)
    assert outcome.code == rsdump.DONE, str(outcome)
    assert contents(dumps) == contents(plain) and set(contents(dumps)) == {ICONS, SETTINGS}
    assert dumps.verify().code == rsdump.DONE
    assert not (dumps.path / ".rsdump").exists()


def test_a_list_of_changesets(sample, tmp_path):
    changesets = [sample.changeset(SETTINGS), sample.changeset(MARKETS)]
    path = tmp_path / "changesets.json"
    path.write_text(json.dumps(changesets))
    dumps = Dumps(tmp_path / "dumps")
    outcome = import_("changeset", path, dumps.path)
    assert outcome.code == rsdump.DONE and outcome.says("--chain"), str(outcome)
    assert dumps.lock["collections"][SETTINGS]["trust"] == "imported"
    assert dumps.bundle(MARKETS).records == sorted(changesets[1]["changes"], key=lambda record: record["id"])
    path.write_bytes(path.read_bytes()[:-1])
    outcome = import_("changeset", path, tmp_path / "cut")
    assert outcome.code == rsdump.USAGE and outcome.says(path.name), str(outcome)
    assert not (tmp_path / "cut").exists()


def test_a_signed_changeset_with_its_chain(dumps, sample, tmp_path):
    path, chain = tmp_path / "settings.json", tmp_path / "chain.pem"
    path.write_text(json.dumps(sample.changeset(SETTINGS)))
    chain.write_bytes(dumps.bundle(SETTINGS).chain)
    trust = ("--server", sample.url, "--trust-root", sample.root, "--chain", chain)
    taken = Dumps(tmp_path / "taken")
    outcome = import_("changeset", path, taken.path, *trust)
    assert outcome.code == rsdump.DONE, str(outcome)
    assert "signed" in taken.lock["collections"][SETTINGS]["trust"]
    assert taken.verify().code == rsdump.DONE
    outcome = import_(
        "changeset", path, tmp_path / "a", "--server", sample.url, "--trust-root", sample.other_root, "--chain", chain)
    assert outcome.code == rsdump.VERIFICATION and not (tmp_path / "a").exists(), str(outcome)
    changed = sample.changeset(SETTINGS)
    changed["changes"][0]["value"] = "another"
    path.write_text(json.dumps(changed))
    outcome = import_("changeset", path, tmp_path / "b", *trust)
    assert outcome.code == rsdump.VERIFICATION and not (tmp_path / "b").exists(), str(outcome)
    path.write_text(json.dumps(sample.changeset(SETTINGS)))
    outcome = import_("changeset", path, tmp_path / "c", *trust, "--verify-at", "2150-01-01")
    assert outcome.code == rsdump.VERIFICATION and not (tmp_path / "c").exists(), str(outcome)


def test_server_zip_adds_missing_attachments(dumps, tmp_path):
    before = contents(dumps)[ICONS]
    bundle = dumps.bundle(ICONS)
    lean = Dumps(tmp_path / "lean")
    lean.path.mkdir()
    lean.config.write_text(dumps.config.read_text().replace("attachments: all", "attachments: none"))
    assert lean.refresh().code == rsdump.DONE and not lean.bundle(ICONS).attachments
    lean.config.write_text(dumps.config.read_text())
    path = tmp_path / "main--icons.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for record in bundle.records:
            archive.writestr(record["id"], bundle.attachments[record["attachment"]["hash"]])
    outcome = import_("server-zip", path, lean.path)
    assert outcome.code == rsdump.DONE, str(outcome)
    assert contents(lean)[ICONS] == before
    assert lean.verify().code == rsdump.DONE


# Attachment rules and budgets


def test_default_attachment_rule_applies_to_import(tmp_path):
    dumps = Dumps(tmp_path / "dumps")
    dumps.path.mkdir()
    dumps.config.write_text("version: 1\nattachments: none\ncollections:\n")
    assert import_("firefox", REAL_COLLECTIONS, dumps.path, BLOOM).code == rsdump.DONE
    assert not dumps.bundle(BLOOM).attachments and dumps.lock["collections"][BLOOM]["attachmentRule"] == "none"


@pytest.mark.parametrize("budget, words", [
    ("bundle: 100 kB", ["{largest} KiB", "unchanged"]), ("attachment: 100 kB", ["{largest} KiB", "unchanged"]),
    ("total: 100 kB", [f"largest: {BLOOM} "])])
def test_import_over_budget_is_refused(tmp_path, budget, words):
    records = json.loads((REAL_COLLECTIONS / f"{BLOOM}.json").read_text())["data"]
    # These files change often, with Debian's package.
    largest = round(max(record["attachment"]["size"] for record in records if "attachment" in record) / 1024)
    words = ["over the budget of 97.6 KiB", *(word.format(largest=largest) for word in words)]
    dumps = Dumps(tmp_path / "dumps")
    assert import_("firefox", REAL_COLLECTIONS, dumps.path, "main/password-rules").code == rsdump.DONE
    dumps.config.write_text(f"{dumps.config.read_text()}budget:\n  {budget}\n")
    before = dumps.files()
    outcome = import_("firefox", REAL_COLLECTIONS, dumps.path, BLOOM, "main/password-rules")
    assert outcome.code == rsdump.SOME_FAILED and outcome.says(*words), str(outcome)
    assert dumps.files() == before and not (dumps.path / ".rsdump").exists()


# Rejected archives


def refused(source, path, tmp_path, *words, code=rsdump.USAGE):
    target = tmp_path / "refused"
    outcome = import_(source, path, target)
    assert outcome.code == code and outcome.says(*words), str(outcome)
    assert not target.exists(), sorted(target.rglob("*"))
    return outcome


@pytest.mark.parametrize("name", ["../evil.json", "/evil.json", "main/../../evil.json", "main//x.json"])
def test_archive_paths_that_escape_are_refused(tree, tmp_path, name):
    path = zip_of(tree, tmp_path / "t.zip", prefix="")
    with zipfile.ZipFile(path, "a") as archive:
        info = zipfile.ZipInfo("placeholder")
        info.filename = name
        archive.writestr(info, "{}")
    refused("firefox", path, tmp_path, name.split("/")[-1], "not a relative path without .., control characters")
    assert not (tmp_path / "evil.json").exists()


@pytest.mark.parametrize("name", ["main/\x1b[2Jx.json", "main/a\nrsdump: all is well.json", "main/\u202ex/../y.json"])
def test_archive_names_are_escaped_in_messages(tree, tmp_path, name):
    path = packed(tree, tmp_path / "t.tar")
    with tarfile.open(path, "a") as archive:
        archive.addfile(tarfile.TarInfo(name))
    outcome = refused("firefox", path, tmp_path, "not a relative path without .., control characters", "\\u{")
    assert outcome.err.removesuffix("\n").isprintable(), repr(outcome.err)


def test_deeply_nested_archive_folders_are_refused(tree, tmp_path):
    """2,000 nested folders in 759 bytes once took two minutes."""
    path = packed(tree, tmp_path / "t.tar")
    with tarfile.open(path, "a", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("main/" + "a/" * 1000 + "x.json"))
    started = time.monotonic()
    refused("firefox", path, tmp_path, "folders are nested")
    assert time.monotonic() - started < 10


def test_server_zip_of_many_large_records_is_refused(tmp_path):
    """Each record is within its limit, but 1.15 MB of them once took 4 GB."""
    path = tmp_path / "main--icons.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(320):
            record = {"id": f"r{number}", "last_modified": 1, "pad": " " * (1000 << 10)}
            archive.writestr(f"r{number}.meta.json", json.dumps(record))
    assert path.stat().st_size < 1_000_000
    outcome = refused("server-zip", path, tmp_path, "Limits.changesetBytes", code=rsdump.SOME_FAILED)
    assert outcome.peak < 600 << 20


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_archive_links_and_special_files_are_refused(tree, tmp_path, kind):
    path = packed(tree, tmp_path / "t.tar")
    with tarfile.open(path, "a") as archive:
        info = tarfile.TarInfo("main/linked.json")
        info.type, info.linkname = kind, "/etc/passwd" if kind == tarfile.SYMTYPE else "main/icons.json"
        archive.addfile(info)
    refused("firefox", path, tmp_path, "main/linked.json", "a regular file")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicate_archive_names_are_refused(tree, tmp_path):
    path = zip_of(tree, tmp_path / "t.zip", prefix="")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("main/settings.json", document([], 1700000000009))
    refused("firefox", path, tmp_path, "main/settings.json", "another entry would be extracted to the same file")


BOMB, PIECE, TEN_GIGABYTES = "main/settings.json", 64 << 20, 10 << 30


def tar_header(name, size):
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT)


def small_and_large():
    """The start of a tar: a valid collection, then the header of 10 GiB of zeros."""
    text = document([], 1).encode()
    return tar_header("main/first.json", len(text)) + text.ljust(512, b"\0") + tar_header(BOMB, TEN_GIGABYTES)


def repeated(compress):
    """A tar of 10 GiB, compressed piece by piece and then as a whole."""
    return compress(compress(compress(small_and_large()) + compress(bytes(PIECE)) * (TEN_GIGABYTES // PIECE)))


def zstd_bomb(head=b""):
    """One frame: a raw block, then blocks that each repeat one byte 131,072 times."""
    def block(kind, size, content, last=0):
        return (last | kind << 1 | size << 3).to_bytes(3, "little") + content

    zeros = block(1, 128 << 10, b"\0")
    return bytes.fromhex("28b52ffd0038") + block(0, len(head), head) + zeros * (TEN_GIGABYTES >> 17) + block(0, 0, b"", 1)


def zip_bomb():
    """Deflate cannot compress this much, but zstd, also allowed in a ZIP, can."""
    data, name = zstd_bomb(), BOMB.encode()
    sizes = struct.pack("<HHQQ", 1, 16, TEN_GIGABYTES, len(data))
    common = struct.pack("<HHHHHIIIHH", 45, 0, 93, 0, 0x21, 0, 2 ** 32 - 1, 2 ** 32 - 1, len(name), len(sizes))
    local = b"PK\3\4" + common + name + sizes + data
    central = b"PK\1\2" + struct.pack("<H", 45) + common + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name + sizes
    return local + central + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)


@pytest.fixture(scope="module")
def seven_zip(tmp_path_factory):
    """An archive of 256 MiB, far over the limit. The 10 GiB of the other archives would take 7z minutes to compress."""
    folder = tmp_path_factory.mktemp("content")
    (folder / "main").mkdir()
    (folder / "main/first.json").write_text(document([], 1))
    with (folder / BOMB).open("wb") as file:
        file.truncate(256 << 20)
    subprocess.run(
        ["bsdtar", "--format=7zip", "--options=compression=bzip2,compression-level=1", "-cf", folder / "made.7z", "-C",
         folder, "main/first.json", BOMB], check=True)
    return (folder / "made.7z").read_bytes()


@pytest.mark.parametrize("name, make, most", [
    ("bomb.tar.gz", lambda: gzip.compress(repeated(lambda content: gzip.compress(content, mtime=0)), mtime=0), 12_000),
    ("bomb.tar.xz", lambda: repeated(lambda content: lzma.compress(content, preset=1)), 12_000),
    ("bomb.tar.zst", lambda: zstd_bomb(small_and_large()), 400_000),
    ("bomb.zip", zip_bomb, 400_000),
])
def test_compression_bomb_is_refused(tmp_path, name, make, most):
    bomb_is_refused(tmp_path, name, make(), most)


@pytest.mark.parametrize("name", ["bomb.7z", "bomb.ja"])
def test_compression_bomb_in_7z_is_refused(tmp_path, name, seven_zip):
    """With Firefox's extension .ja the entry would be skipped, but it is decompressed anyway."""
    bomb_is_refused(tmp_path, name, seven_zip, 20_000)


def bomb_is_refused(tmp_path, name, content, most):
    assert len(content) < most
    path = tmp_path / name
    path.write_bytes(content)
    outcome = refused("firefox", path, tmp_path, f"{name}: {BOMB}: the archive expands to more than")
    assert outcome.peak < 200 << 20
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_zip_with_wrong_size_is_refused(tree, tmp_path):
    path = zip_of(tree, tmp_path / "t.zip", prefix="")
    content = bytearray(path.read_bytes())
    for find, header, signature, size in (
            (content.index, 30, b"PK\3\4", 22), (content.rindex, 46, b"PK\1\2", 24)):
        place = find(b"main/settings.json") - header
        assert content[place:place + 4] == signature
        content[place + size:place + size + 4] = struct.pack("<I", 7)
    path.write_bytes(content)
    refused("firefox", path, tmp_path, "settings.json")


@pytest.mark.parametrize("name", ["t.zip", "t.tar.gz", "t.tar.xz", "t.tar.zst", "t.7z"])
def test_truncated_archives_are_refused(tree, tmp_path, name):
    path = packed(tree, tmp_path / name)
    whole = path.read_bytes()
    for length in sorted({0, 1, 20, len(whole) // 4, len(whole) // 2, len(whole) - 30, len(whole) - 1}):
        path.write_bytes(whole[:length])
        refused("firefox", path, tmp_path, name)


@pytest.mark.parametrize("compress", [lambda c: c, lambda c: gzip.compress(c, 1), lzma.compress])
def test_truncated_archive_names_the_entry(tmp_path, compress):
    noise = random.Random(1).randbytes(400_000)
    text = document([], 1).encode()
    tar = (tar_header("main/first.json", len(text)) + text.ljust(512, b"\0")
           + tar_header("main/icons/a", len(noise)) + noise + bytes(1024))
    path = tmp_path / "t.tar"
    path.write_bytes(compress(tar))
    path.write_bytes(path.read_bytes()[:path.stat().st_size * 2 // 3])
    refused("firefox", path, tmp_path, "t.tar: main/icons/a: not a complete archive")


def test_imported_attachment_must_match_record(tree, tmp_path):
    for content, word in ((b"short", "5 bytes"), (bytes(len(samples.svg(5))), "SHA-256")):
        (tree / "main/icons/a").write_bytes(content)
        dumps = Dumps(tmp_path / "dumps")
        outcome = import_("firefox", tree, dumps.path)
        assert outcome.code == rsdump.VERIFICATION and outcome.says("main/icons/a", word), str(outcome)
        assert dumps.names == [SETTINGS]


def test_import_errors_name_archive_and_entry(tree, tmp_path):
    """Errors do not show the temporary path of the extracted file."""
    (tree / "main/settings.json").write_text("[]")
    (tree / "main/icons/a").write_bytes(b"short")
    path, target = zip_of(tree, tmp_path / "t.zip"), tmp_path / "dumps"
    outcome = import_("firefox", path, target)
    assert outcome.says(f"{path}: main/settings.json: not the records", f"{path}: main/icons/a: expected"), str(outcome)
    assert str(target) not in outcome.out + outcome.err and "found found" not in outcome.out


def test_damaged_bundle_in_archive_is_named(dumps, sample, tmp_path):
    bundle = dumps.bundle_path(SETTINGS)
    bundle.write_bytes(bundle.read_bytes().replace(b"chain.pem", b"chain.pen"))
    path, target = tmp_path / "t.tar.xz", tmp_path / "target"
    subprocess.run(["bsdtar", "-a", "-cf", path, "-C", dumps.path.parent, "dumps"], check=True)
    outcome = import_("dumps", path, target, "--server", sample.url, "--trust-root", sample.root)
    assert outcome.code == rsdump.VERIFICATION and outcome.says(f"{path}: {SETTINGS}.zip"), str(outcome)
    assert str(target) not in outcome.out + outcome.err
    assert sorted(Dumps(target).names) == sorted(set(samples.NAMES) - {SETTINGS})
