"""Repositories of which git has only a part here: bundles in Git LFS, and clones without old files or old commits."""
import json
import subprocess

import pytest

import large_files
import rsdump
from git import ENVIRONMENT, Repository
from git import GitTree
from nightly import BRANCH, Nightly
from test_changes import ICONS, MARKETS, SETTINGS
from test_nightly import check, value

ATTRIBUTES = "*.zip filter=lfs diff=lfs merge=lfs -text\n"


@pytest.fixture
def tree(dumps, sample, tmp_path):
    """Two states of the dumps in a repository with Git LFS: `v1` and the current one."""
    tree = GitTree(dumps.path.parent)
    large_files.set_up(tree.git, tmp_path / "lfs")
    (dumps.path.parent / ".gitattributes").write_text(ATTRIBUTES)
    tree.commit("first")
    tree.git("tag", "v1")
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    assert dumps.refresh().code == rsdump.DONE
    tree.commit("second")
    assert tree.git("cat-file", "blob", f"HEAD:dumps/{SETTINGS}.zip").startswith("version https://git-lfs")
    return tree


def reads(dumps):
    """The commands that read a commit, with what they print if they can."""
    return {
        ("diff", "git:v1", dumps.path): "telemetry", ("diff", "git:v1", "git:HEAD"): "telemetry",
        ("verify", "--dumps", f"git:v1:{dumps.path}"): "verified", ("log", SETTINGS): "telemetry",
        ("show", f"git:v1:{SETTINGS}"): SETTINGS, ("status", "--offline", "--dumps", f"git:v1:{dumps.path}"): SETTINGS,
        ("pin", SETTINGS, "--at", "v1"): "verified at"}


def run(dumps, command):
    return rsdump.run(*command, *(() if "--dumps" in command else ("--dumps", dumps.path)))


def test_lfs_history_is_read_through_the_filter(dumps, tree):
    for command, text in reads(dumps).items():
        outcome = run(dumps, command)
        assert outcome.code == rsdump.DONE and text in outcome.out, f"{command}: {outcome}"
    assert dumps.bundle(SETTINGS).records == json.loads(dumps.bundle(SETTINGS).payload)["data"]


@pytest.mark.parametrize("is_broken", [False, True])
def test_missing_lfs_filter_is_named(dumps, tree, tmp_path, is_broken):
    if is_broken:
        for each in (tmp_path / "lfs").iterdir():
            each.unlink()
    else:
        tree.git("config", "--remove-section", "filter.lfs")
    before = dumps.files()
    for command in reads(dumps):
        if command[0] == "status":
            continue  # it checks no bundle's bytes out if the lock file is there
        outcome = run(dumps, command)
        assert outcome.code != rsdump.DONE, f"{command}: {outcome}"
        assert outcome.says("Git LFS", "git lfs fetch --all"), f"{command}: {outcome}"
        assert "fsck" not in outcome.err, str(outcome)
    assert dumps.files() == before


def test_lfs_pointer_in_work_tree_is_named(dumps):
    path = dumps.bundle_path(SETTINGS)
    path.write_bytes(large_files.pointer(path.read_bytes()))
    for command in (["verify"], ["show", SETTINGS], ["diff", dumps.path, dumps.path, SETTINGS], ["embed", "--output", "E"]):
        outcome = run(dumps, command)
        assert outcome.code == rsdump.VERIFICATION and outcome.says("Git LFS", "git lfs pull"), f"{command}: {outcome}"
    planned = dumps.refresh("--dry-run")
    assert planned.says(SETTINGS, "Git LFS pointer", "git lfs pull"), str(planned)
    lock = dumps.path / "dumps.lock.json"
    lock.write_bytes(large_files.pointer(lock.read_bytes()))
    for command in (["verify"], ["status", "--offline"], ["refresh"]):
        outcome = run(dumps, command)
        assert outcome.code == rsdump.VERIFICATION and outcome.says("Git LFS", "git lfs pull"), f"{command}: {outcome}"


def test_lfs_pointer_is_refused_as_attachment(team, refreshed_sample, tmp_path):
    """It would be published, signed and packaged in place of the file."""
    pointer = large_files.pointer(b"an image")
    icons = team.path / "sources/main/icons"
    (icons / "files").mkdir(parents=True)
    (icons / "files/a.svg").write_bytes(pointer)
    (icons / "a.json").write_text('{"attachment": "files/a.svg"}')
    outcome = rsdump.run("check", "main/icons", "--sources", team.path / "sources", "--dumps", team.dumps.path)
    assert outcome.code == rsdump.USAGE and outcome.says("Git LFS", "git lfs pull"), str(outcome)

    for layout, folder in (("files", "attachments"), ("changesets", "attachments"), ("application-services", "main")):
        tree = tmp_path / layout
        exported = rsdump.run("export", ICONS, "--to", layout, "--output", tree, "--dumps", refreshed_sample.path)
        assert exported.code == rsdump.DONE, str(exported)
        file = next(each for each in sorted((tree / folder).rglob("*")) if each.is_file() and each.suffix != ".json")
        file.write_bytes(large_files.pointer(file.read_bytes()))
        form = "changeset" if layout == "changesets" else layout
        outcome = rsdump.run("import", tree, "--from", form, "--dumps", tmp_path / f"{layout}-dumps")
        assert outcome.code != rsdump.DONE and outcome.says("Git LFS", "git lfs pull"), f"{layout}: {outcome}"


def test_missing_blobs_of_partial_clone_are_named(dumps, sample, tmp_path):
    tree = GitTree(dumps.path.parent)
    tree.commit("first")
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    assert dumps.refresh().code == rsdump.DONE
    tree.commit("second")
    tree.git("config", "uploadpack.allowFilter", "true")
    tree.git("clone", "-q", "--filter=blob:none", f"file://{tree.root}", tmp_path / "clone")
    clone = tmp_path / "clone/dumps"
    commands = [("diff", "git:HEAD~1", clone, "--dumps", clone), ("verify", "--dumps", f"git:HEAD~1:{clone}"),
                ("log", SETTINGS, "--dumps", clone), ("show", f"git:HEAD~1:{SETTINGS}", "--dumps", clone)]
    for command in commands:
        outcome = rsdump.run(*command)
        assert outcome.code != rsdump.DONE, f"{command}: {outcome}"
        assert outcome.says("git clone --filter", "git fetch --refetch --no-filter"), f"{command}: {outcome}"
        assert "fsck" not in outcome.err and "treated as empty" not in outcome.err, str(outcome)
    # What a commit never had is still told as such, and what is here is read.
    assert rsdump.run("show", "git:HEAD:main/nothing", "--dumps", clone).says("this commit has no")
    assert rsdump.run("diff", "git:HEAD", clone, "--dumps", clone, "--exit-code").code == rsdump.DONE
    tree.git("fetch", "-q", "--refetch", "--no-filter", cwd=tmp_path / "clone")
    for command in commands:
        outcome = rsdump.run(*command)
        assert outcome.code == rsdump.DONE, f"{command}: {outcome}"


def test_merge_in_shallow_clone_is_refused(dumps, sample, tmp_path):
    """Without the common ancestor, a setting that one side changed would be taken for one that both did."""
    tree = GitTree(dumps.path.parent)
    tree.commit("first")
    tree.git("checkout", "-q", "-b", "side")
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    assert dumps.refresh().code == rsdump.DONE
    tree.commit("side")
    tree.git("checkout", "-q", "main")
    sample.delete_record(MARKETS, "nowhere")
    assert dumps.refresh(MARKETS).code == rsdump.DONE
    tree.commit("main")
    tree.git("clone", "-q", "--depth=1", "--no-single-branch", f"file://{tree.root}", tmp_path / "clone")
    outcome = rsdump.run("merge", "--with", "origin/side", "--dumps", tmp_path / "clone/dumps")
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("git fetch --unshallow"), str(outcome)


class LargeNightly(Nightly):
    """The job in a repository whose bundles are in Git LFS."""

    def __init__(self, folder, dumps):
        super().__init__(folder, dumps)
        large_files.set_up(self.seed, folder / "lfs")

        def track(path):
            (path / ".gitattributes").write_text(ATTRIBUTES)
            self.seed("add", "--renormalize", ".")

        self.on_main(track)
        large_files.set_up(self.clone, folder / "lfs")
        self.clone("pull", "-q")


def test_nightly_with_lfs(dumps, sample, tmp_path):
    nightly = LargeNightly(tmp_path, dumps)
    check(nightly.run())
    assert nightly.new_commits() == []
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run())
    [request] = nightly.requests
    assert "`telemetry`" in request["body"]
    assert nightly.origin("cat-file", "blob", f"{BRANCH}:dumps/{SETTINGS}.zip").startswith("version https://git-lfs")
    # Without the filter it would commit the bundles themselves.
    nightly.clone("config", "--remove-section", "filter.lfs")
    sample.patch_record(SETTINGS, "telemetry", {"value": "newer"})
    before = nightly.branches()
    run = check(nightly.run(), rsdump.USAGE)
    assert "git lfs install" in run.summary and nightly.branches() == before


def test_nightly_in_partial_clone(dumps, sample, tmp_path):
    nightly = Nightly(tmp_path, dumps)
    nightly.origin("config", "uploadpack.allowFilter", "true")

    def run_in(name):
        """In continuous integration, each night has its own clone, which has checked out the branch and not the base's files."""
        subprocess.run(
            ["git", "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{nightly.origin.path}", tmp_path / name],
            check=True, env=rsdump.environment(ENVIRONMENT))
        nightly.clone = Repository(tmp_path / name)
        check(nightly.run())

    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    run_in("first")
    nightly.on_main(lambda path: (path / "README").write_text("Another\n"))
    sample.delete_record(MARKETS, "nowhere")
    run_in("second")
    [request] = nightly.requests
    assert "`telemetry`" in request["body"] and "`nowhere`" in request["body"]
    assert value(nightly.checkout(BRANCH, "landed")) is True
