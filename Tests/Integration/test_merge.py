"""Two branches that refreshed the same directory: what is not taken, and what git itself is told. The rest is in commands/merge.txt."""
import json
import shutil
import subprocess

import pytest

import rsdump
from git import GitTree
from test_changes import MARKETS, SETTINGS
from test_pins import pinned, refreshed


@pytest.fixture
def tree(dumps):
    tree = GitTree(dumps.path.parent)
    tree.git("config", "user.name", "Test")
    tree.git("config", "user.email", "test@example.org")
    return tree


def made(path, name):
    (path / name).mkdir()
    return path / name


def set_up(dumps, tree):
    outcome = rsdump.run("merge", "--setup", "--dumps", dumps.path)
    assert outcome.code == rsdump.DONE and outcome.says(".gitattributes was written"), str(outcome)
    again = rsdump.run("merge", "--setup", "--dumps", dumps.path)
    assert again.code == rsdump.DONE and again.says("already has the attributes"), str(again)
    tree.commit("first")


def diverge(dumps, tree, sample, *pins):
    """Another branch refreshes the settings, and then this one the settings, newer, and the markets. Returns both locks."""
    tree.git("checkout", "--quiet", "-b", "other")
    for name in pins:
        pinned(dumps, name, "--reason", "as released")
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    refreshed(dumps)
    tree.commit("other")
    theirs = dumps.lock
    tree.git("checkout", "--quiet", "main")
    sample.patch_record(SETTINGS, "telemetry", {"note": "newer"})
    sample.delete_record(MARKETS, "nowhere")
    refreshed(dumps)
    tree.commit("main")
    return dumps.lock, theirs


def verified(dumps):
    outcome = dumps.verify("--locked")
    assert outcome.code == rsdump.DONE, str(outcome)
    assert not (dumps.path / "dumps.lock.json").read_text().count("<<<<")


def test_merge_refuses_unverified_state(dumps, sample, tree):
    tree.commit("first")
    ours, theirs = diverge(dumps, tree, sample)
    content = bytearray(dumps.bundle_path(SETTINGS).read_bytes())
    content[len(content) // 2] ^= 1
    dumps.bundle_path(SETTINGS).write_bytes(content)
    tree.commit("damaged")
    outcome = rsdump.run("merge", "--with", "other", "--dumps", dumps.path)
    assert outcome.code == rsdump.DONE and outcome.says(f"{SETTINGS}: kept theirs", "does not verify"), str(outcome)
    assert dumps.lock["collections"][SETTINGS] == theirs["collections"][SETTINGS]
    assert dumps.lock["collections"][MARKETS] == ours["collections"][MARKETS]
    verified(dumps)


def import_unsigned(dumps, sample):
    """Replaces the settings by newer ones that nobody signed."""
    changeset = sample.changeset(SETTINGS)
    for key in ("signature", "signatures"):
        changeset["metadata"].pop(key, None)
    changeset["timestamp"] += 10_000
    changeset["changes"] = changeset["changes"][:1]
    lock = dumps.lock
    del lock["collections"][SETTINGS]
    (dumps.path / "dumps.lock.json").write_text(json.dumps(lock, indent=2))
    dumps.bundle_path(SETTINGS).unlink()
    document = dumps.path.parent / ".git/settings.json"
    document.write_text(json.dumps(changeset))
    outcome = rsdump.run("import", "--from", "changeset", document, "--dumps", dumps.path)
    assert outcome.code == rsdump.DONE and dumps.lock["collections"][SETTINGS]["trust"] == "imported", str(outcome)


def forge(dumps, sample):
    dumps.edit_bundle(SETTINGS, "records.json", b'"id":"telemetry"', b'"id":"telemetrx"')


@pytest.mark.parametrize("by", ["git", "rsdump"])
@pytest.mark.parametrize("accepts", [False, True])
@pytest.mark.parametrize("change, word", [(import_unsigned, "the other state is unsigned"), (forge, "does not verify")])
def test_merge_keeps_signed_state_over_unverified(dumps, sample, tree, change, word, accepts, by):
    """Only the other branch has changed it, so git alone would take it."""
    if accepts:
        text = dumps.config.read_text()
        dumps.config.write_text(text.replace("trust:\n", "trust:\n  accept-unsigned: true\n"))
    set_up(dumps, tree)
    before, bundle = dumps.lock, dumps.bundle_path(SETTINGS).read_bytes()
    tree.git("checkout", "--quiet", "-b", "other")
    change(dumps, sample)
    tree.commit("other")
    tree.git("checkout", "--quiet", "main")
    # Without a commit of its own, git would move the branch and merge nothing.
    (tree.root / "code").write_text("1")
    tree.commit("main")
    if by == "git":
        tree.git("merge", "--quiet", "--no-edit", "other")
    else:
        outcome = rsdump.run("merge", "--with", "other", "--dumps", dumps.path)
        assert outcome.code == rsdump.DONE and outcome.says(f"{SETTINGS}: kept ours", word), str(outcome)
    assert dumps.lock == before and dumps.bundle_path(SETTINGS).read_bytes() == bundle
    verified(dumps)


def test_merge_hook_ignores_unrelated_merges(dumps, sample, tree):
    """The hook runs in every merge: in one that touches nothing here, over work that is not committed, and without dumps."""
    set_up(dumps, tree)
    tree.git("checkout", "--quiet", "-b", "code")
    (tree.root / "code").write_text("1")
    tree.commit("code")
    tree.git("checkout", "--quiet", "main")
    (tree.root / "other").write_text("1")
    tree.commit("other")
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    refreshed(dumps)
    before = {path: path.read_bytes() for path in dumps.path.rglob("*") if path.is_file()}
    tree.git("merge", "--quiet", "--no-edit", "code")
    assert {path: path.read_bytes() for path in dumps.path.rglob("*") if path.is_file()} == before
    changed = tree.git("diff", "--name-only", "HEAD").split()
    assert f"dumps/{SETTINGS}.zip" in changed and "dumps/dumps.lock.json" in changed
    tree.git("checkout", "--quiet", "--orphan", "bare", "--force")
    tree.git("rm", "-r", "--quiet", "--force", ".")
    (tree.root / "bare").write_text("1")
    tree.commit("bare")
    tree.git("checkout", "--quiet", "-b", "side")
    (tree.root / "side").write_text("1")
    tree.commit("side")
    tree.git("checkout", "--quiet", "bare")
    (tree.root / "more").write_text("1")
    tree.commit("more")
    tree.git("merge", "--quiet", "--no-edit", "side")


def test_git_log_with_invalid_bundles(dumps, sample, tree):
    set_up(dumps, tree)
    (dumps.path / "main/broken.zip").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    (dumps.path / "main/empty.zip").touch()
    (dumps.path / "main/cut.zip").write_bytes(dumps.bundle_path(SETTINGS).read_bytes()[:-100])
    tree.commit("garbage")
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    refreshed(dumps)
    tree.commit("second")
    (dumps.path / "main/broken.zip").write_bytes(b"")
    tree.commit("third")
    shown = tree.git("log", "-p")
    assert '+{"id":"telemetry"' in shown and "first" in shown and "+broken.zip: " in shown, shown
    assert "+cut.zip: " in shown and "/tmp" not in shown, shown


def test_git_setup_with_any_path_of_the_program(dumps, sample, tree, tmp_path_factory):
    program = tmp_path_factory.mktemp("programs") / "100%A of 'it'/rsdump"
    program.parent.mkdir()
    shutil.copy(rsdump.BINARY, program)
    ran = subprocess.run([program, "merge", "--setup", "--dumps", dumps.path], env=rsdump.environment(), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    tree.commit("first")
    ours, _ = diverge(dumps, tree, sample)
    tree.git("merge", "--quiet", "--no-edit", "other")
    assert dumps.lock == ours
    verified(dumps)


def test_git_setup_in_path_with_line_feed(tmp_path):
    tree = GitTree(made(tmp_path, "a\nb"))
    outcome = rsdump.run("add", "main/markets", "--dumps", tree.root / "dumps")
    assert outcome.code == rsdump.DONE, str(outcome)
    for _ in range(2):
        assert rsdump.run("merge", "--setup", "--dumps", tree.root / "dumps").code == rsdump.DONE
    hook = tree.root / ".git/hooks/pre-merge-commit"
    assert hook.read_text().count("--dumps 'dumps'") == 1 and sorted(each.name for each in tmp_path.iterdir()) == ["a\nb"]
