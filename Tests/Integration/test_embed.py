"""Bundles as a part of a program."""
import json
import re
import subprocess
import zipfile

import pytest

import rsdump
import toolchain
from dumps import Dumps
from git_tree import GitTree
from publishing import Team
from test_snippets import compiler

SETTINGS, REGIONS = "main/settings", "main/regions"
EXAMPLE = rsdump.REPOSITORY / "Examples/OfflineExample"
WOULD_CHANGE = 6
# What an app's compiler sees, which is in another package.
OUTSIDE = ("-package-name", "app")


def embed(dumps, folder, *arguments, **options):
    return rsdump.run("embed", "--dumps", dumps.path, "--output", folder, *arguments, **options)


def compiles(folder):
    """Whether the C source compiles, and what it has read."""
    subprocess.run(
        [toolchain.clang(), "-c", f"{folder.name}.c", "-I", "include", "-o", "/dev/null", "-MD", "-MF", "out.d"], cwd=folder,
        check=True)
    found = (folder / "out.d").read_text()
    (folder / "out.d").unlink()
    return found


def test_the_example_is_what_the_command_writes():
    outcome = embed(
        Dumps(EXAMPLE / "dumps"), EXAMPLE / "Sources/EmbeddedDumps", "--check", "--swift",
        EXAMPLE / "Sources/offline-example/PackagedSource+EmbeddedDumps.swift")
    assert outcome.code == rsdump.DONE, str(outcome)


def test_the_projects_own_dumps_are_embedded_as_they_are():
    outcome = subprocess.run(
        [rsdump.REPOSITORY / "scripts/embed-dumps", "--check"], env={**rsdump.environment(), "RSDUMP": rsdump.BINARY},
        capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    dumps = Dumps(rsdump.REPOSITORY / "dumps")
    assert dumps.verify().code == rsdump.DONE
    assert len(dumps.names) == 5 and len(dumps.bundle("blocklists/addons-bloomfilters").attachments) == 2


def test_bundles_in_place(dumps, tmp_path):
    folder = tmp_path / "Sources/Embedded"
    outcome = embed(dumps, folder, "--swift", tmp_path / "Sources/App/Embedded.swift")
    assert outcome.code == rsdump.DONE, str(outcome)
    read = compiles(folder)
    assert all(f"{name}.zip" in read for name in dumps.names) and "dumps.lock.json" in read
    assert '#embed "../../dumps/dumps.lock.json"' in (folder / "Embedded.c").read_text()
    assert "static let embedded: PackagedSource" in (tmp_path / "Sources/App/Embedded.swift").read_text()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert embed(dumps, folder).code == rsdump.DONE
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_check_notices_what_is_stale(dumps, sample, tmp_path):
    folder = tmp_path / "Sources/Embedded"
    assert embed(dumps, folder, "--check").code == WOULD_CHANGE and not folder.exists()
    assert embed(dumps, folder).code == rsdump.DONE
    assert embed(dumps, folder, "--check").code == rsdump.DONE
    # New data in the same collections needs no new source: the compiler reads the bundles.
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    assert dumps.refresh().code == rsdump.DONE
    assert embed(dumps, folder, "--check").code == rsdump.DONE
    assert dumps.remove(SETTINGS).code == rsdump.DONE
    outcome = embed(dumps, folder, "--check")
    assert outcome.code == WOULD_CHANGE and outcome.says("Embedded.c"), str(outcome)
    assert embed(dumps, folder).code == rsdump.DONE
    assert embed(dumps, folder, "--check").code == rsdump.DONE


def test_data_of_another_server_is_not_shipped(dumps, tmp_path):
    folder = tmp_path / "Sources/Embedded"
    own = dumps.lock["collections"][REGIONS]["server"]
    # However its URL is written, and before anything is written.
    assert embed(dumps, folder, "--server", own.replace("http", "HTTP", 1).replace("/v2", "/v1")).code == rsdump.DONE
    for check in ((), ("--check",)):
        outcome = embed(dumps, folder, "--server", "prod", *check)
        assert outcome.code == rsdump.VERIFICATION and outcome.says(
            "expected data of https://firefox.settings.services.mozilla.com"), str(outcome)
    outcome = embed(dumps, tmp_path / "Sources/Other", "--server", "prod")
    assert outcome.code == rsdump.VERIFICATION and not (tmp_path / "Sources/Other").exists(), str(outcome)


def test_some_collections_have_a_lock_of_their_own(dumps, tmp_path):
    folder = tmp_path / "Sources/Embedded"
    assert embed(dumps, folder, REGIONS).code == rsdump.DONE
    lock = json.loads((folder / "dumps.lock.json").read_text())
    assert lock["collections"] == {REGIONS: dumps.lock["collections"][REGIONS]}
    read = compiles(folder)
    assert f"{REGIONS}.zip" in read and f"{SETTINGS}.zip" not in read
    assert embed(dumps, folder).code == rsdump.DONE
    assert not (folder / "dumps.lock.json").exists()


def test_stored_records(dumps, tmp_path):
    folder = tmp_path / "Sources/Embedded"
    assert embed(dumps, folder, "--stored").code == rsdump.DONE
    lock = json.loads((folder / "dumps.lock.json").read_text())
    for name in dumps.names:
        with zipfile.ZipFile(folder / f"bundles/{name}.zip") as archive:
            assert archive.getinfo("records.json").compress_type == zipfile.ZIP_STORED
            assert archive.read("records.json") == dumps.bundle(name).payload
        assert lock["collections"][name]["content"] == dumps.lock["collections"][name]["content"]
    assert all(f"bundles/{name}.zip" in compiles(folder) for name in dumps.names)
    own = Dumps(tmp_path / "own")
    own.path.mkdir()
    (own.path / "dumps.yaml").write_text(dumps.config.read_text())
    (own.path / "dumps.lock.json").write_bytes((folder / "dumps.lock.json").read_bytes())
    (folder / "bundles/main").rename(own.path / "main")
    assert own.verify().code == rsdump.DONE
    (own.path / "main").rename(folder / "bundles/main")
    assert embed(dumps, folder, "--stored", "--check").code == rsdump.DONE
    assert embed(dumps, folder).code == rsdump.DONE
    assert not (folder / "bundles").exists() and not (folder / "dumps.lock.json").exists()


def test_only_what_is_needed_in_another_form_is_copied(dumps, sample, tmp_path):
    dumps.config.write_text(dumps.config.read_text().replace(f"  {SETTINGS}:\n", f"  {SETTINGS}:\n    compression: stored\n"))
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    assert dumps.refresh().code == rsdump.DONE
    folder = tmp_path / "Sources/Embedded"
    assert embed(dumps, folder).code == rsdump.DONE
    assert [each.name for each in (folder / "bundles").rglob("*.zip")] == ["settings.zip"]
    read = compiles(folder)
    assert f"bundles/{SETTINGS}.zip" in read and f"../../dumps/{REGIONS}.zip" in read
    assert embed(dumps, folder, "--check").code == rsdump.DONE


def test_a_commit_is_embedded_with_all_that_it_needs(dumps, tmp_path):
    """It is checked out into a directory that is gone when the compiler runs."""
    GitTree(dumps.path.parent).commit("first")
    folder = tmp_path / "Sources/Embedded"
    outcome = rsdump.run("embed", "--dumps", f"git:HEAD:{dumps.path}", "--output", folder)
    assert outcome.code == rsdump.DONE, str(outcome)
    read = compiles(folder)
    assert all(f"bundles/{name}.zip" in read for name in dumps.names) and "dumps.lock.json" in read
    assert (folder / f"bundles/{REGIONS}.zip").read_bytes() == dumps.bundle_path(REGIONS).read_bytes()
    assert json.loads((folder / "dumps.lock.json").read_text()) == dumps.lock


def test_nothing_of_the_machine_is_in_it(dumps, tmp_path):
    def files(root):
        return {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    assert embed(dumps, tmp_path / "Sources/Embedded", "--stored").code == rsdump.DONE
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    dumps.copy(elsewhere / "dumps")
    outcome = rsdump.run(
        "embed", "--stored", "--output", "Sources/Embedded", cwd=elsewhere, umask=0o077,
        env={"TZ": "Asia/Tokyo", "LC_ALL": "C", "LANG": "C"})
    assert outcome.code == rsdump.DONE, str(outcome)
    assert files(tmp_path / "Sources") == files(elsewhere / "Sources")


@pytest.mark.parametrize("name", ["7up", "with-hyphen", "a b"])
def test_a_folder_that_is_no_modules_name(dumps, tmp_path, name):
    outcome = embed(dumps, tmp_path / name)
    assert outcome.code == rsdump.USAGE and outcome.says(name), str(outcome)
    assert not (tmp_path / name).exists()


def test_what_is_not_from_here_is_left_alone(dumps, tmp_path):
    """Neither the lock of the dumps nor somebody's file is overwritten, or taken for what an old run left."""
    before = dumps.files()
    outcome = embed(dumps, dumps.path)
    assert outcome.code == rsdump.USAGE and outcome.says("the dumps directory"), str(outcome)
    assert dumps.files() == before
    for path in ("App/App.c", "App/include/App.h", "App/dumps.lock.json", "App/bundles/main/mine"):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("mine")
        outcome = embed(dumps, tmp_path / "App", "--stored")
        assert outcome.code == rsdump.USAGE and outcome.says(path), str(outcome)
        assert [each.read_text() for each in (tmp_path / "App").rglob("*") if each.is_file()] == ["mine"]
        file.unlink()
    swift = tmp_path / "main.swift"
    swift.write_text("mine")
    outcome = embed(dumps, tmp_path / "App", "--swift", swift)
    assert outcome.code == rsdump.USAGE and outcome.says("main.swift") and swift.read_text() == "mine", str(outcome)
    assert embed(dumps, tmp_path / "App", "--swift", tmp_path / "New.swift").code == rsdump.DONE
    assert embed(dumps, tmp_path / "App", "--stored", "--swift", tmp_path / "New.swift").code == rsdump.DONE


@pytest.mark.parametrize("place", ["main", "new", "new/deeper", "../link/inside"])
def test_nothing_is_embedded_into_the_dumps_directory(dumps, tmp_path, place):
    """What is there and not in the lock is a file too many, for verify --locked and for who reviews."""
    (tmp_path / "link").symlink_to(dumps.path)
    before = dumps.files()
    for arguments in ((dumps.path / place,), (tmp_path / "Embedded", "--swift", dumps.path / place / "X.swift")):
        outcome = embed(dumps, *arguments)
        assert outcome.code == rsdump.USAGE and outcome.says("the dumps directory"), str(outcome)
        assert dumps.files() == before
    assert dumps.verify("--locked").code == rsdump.DONE


@pytest.mark.parametrize("name", ['a"b', "a\nb", "a\\b", 'x"\n#include "/etc/passwd'.replace("/", "_")])
def test_a_path_cannot_be_more_than_a_path_in_the_source(dumps, tmp_path, name):
    (tmp_path / name).mkdir()
    moved = dumps.copy(tmp_path / name / "dumps")
    outcome = embed(moved, tmp_path / "Embedded")
    assert outcome.code == rsdump.USAGE and outcome.says("a C source cannot name this path"), str(outcome)
    assert not (tmp_path / "Embedded").exists()


def test_names_that_differ_only_in_a_separator(tmp_path):
    team = Team(tmp_path)
    swift = tmp_path / "Embedded.swift"
    team.values = {name: 1 for name in ("a-b", "a_b", "aB", "self", "init", "Type", "2", "default", "a-b_2")}
    team.publish()
    outcome = embed(team.dumps, tmp_path / "AppDumps", "--swift", swift)
    assert outcome.code == rsdump.DONE, str(outcome)
    assert swift.read_text().count("static let") == len(team.values) + 1
    (tmp_path / "AppDumps/include/module.modulemap").write_text('module AppDumps { header "AppDumps.h" export * }\n')
    assert compiler("-typecheck", "-swift-version", "6", *OUTSIDE, "-I", tmp_path / "AppDumps/include", swift) == []


def test_records_have_the_types_that_their_data_has(tmp_path):
    """From the sources of a team to the compiler's message after a member's type has changed."""
    team = Team(tmp_path)
    records = tmp_path / "sources/main/sites.yaml"
    records.write_text(
        "records:\n"
        "- {id: a, name: A, rank: 1, tags: [x], 'hashValue': h, 'é\\u{301}': 1, 'class': c, side: left}\n"
        "- {id: b, name: B, rank: 2, tags: [], 'hashValue': h, 'é\\u{301}': 2, 'class': c, note: hello, side: left}\n")
    team.publish()
    schema = '{"properties": {"side": {"enum": ["left", "right"]}}, "required": ["side", "name", "rank", "tags"]}'
    configuration = team.dumps.path / "dumps.yaml"
    configuration.write_text(configuration.read_text() + f"guards:\n  schema: {schema}\n")
    swift = tmp_path / "Embedded.swift"
    arguments = (team.dumps, tmp_path / "AppDumps", "--swift", swift, "--types")
    assert embed(*arguments).code == rsdump.DONE
    assert embed(*arguments, "--check").code == rsdump.DONE
    app = tmp_path / "App.swift"
    app.write_text("""
import RemoteSettings
func ranks(_ service: RemoteSettingsService) -> [Int64] {
    let sites = service.makeClient(.sites).records
    for site in sites where site.side == .right { print(site.name.uppercased(), site.note ?? "", site.tags.count) }
    return sites.map { $0.rank }
}
""")
    (tmp_path / "AppDumps/include/module.modulemap").write_text('module AppDumps { header "AppDumps.h" export * }\n')
    compiled = ("-typecheck", "-parse-as-library", "-swift-version", "6", *OUTSIDE, "-I", tmp_path / "AppDumps/include",
                swift, app)
    assert compiler(*compiled) == []

    records.write_text(records.read_text().replace("rank: 2", "rank: second"))
    team.publish()
    outcome = embed(*arguments, "--check")
    assert outcome.code == WOULD_CHANGE
    assert outcome.says("main/sites: the record b has a string as rank, and SitesRecord expects an integer"), str(outcome)
    assert embed(*arguments).says("the record b has a string as rank")
    assert any("RemoteSettingsJSON" in line and "Int64" in line for line in compiler(*compiled))
    assert embed(*arguments, "--check").code == rsdump.DONE


def test_the_code_that_keys_create_prints(tmp_path):
    for arguments in ((), ("--signer", "settings.example.org")):
        outcome = rsdump.run("keys", "create", tmp_path / f"keys{len(arguments)}", *arguments)
        code = re.search(r"In the app:\n(.*?)\n\n", outcome.out, re.DOTALL)[1].replace("…", ".prod")
        source = tmp_path / "Printed.swift"
        source.write_text(f"import RemoteSettings\nfunc printed() throws -> RemoteSettingsConfig {{\n{code}\nreturn config\n}}\n")
        assert compiler("-typecheck", "-parse-as-library", "-swift-version", "6", *OUTSIDE, source) == []
