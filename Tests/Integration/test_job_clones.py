"""rsdump nightly and rsdump publish --push in developers' clones: they ignore git settings and leave the clone unchanged."""
import hashlib
import os
import shutil

import pytest

import rsdump
from nightly import BRANCH, Nightly
from test_changes import SETTINGS
from test_nightly import check

# Settings that change git's output, prevent its work, or run a program.
ODD = """
core.autocrlf=true core.safecrlf=true core.eol=crlf core.fileMode=false core.symlinks=false core.ignoreCase=true core.abbrev=4
core.quotePath=true core.commentChar=x core.fsmonitor=true core.untrackedCache=true core.splitIndex=true core.checkStat=minimal
core.logAllRefUpdates=always core.trustctime=false core.preloadIndex=false core.sparseCheckout=true core.pager=false
commit.gpgSign=true commit.template=/none commit.cleanup=verbatim gpg.program=false tag.gpgSign=true user.useConfigOnly=true
push.gpgSign=if-asked push.default=nothing push.followTags=true push.recurseSubmodules=only push.negotiate=true pull.rebase=true
fetch.prune=true fetch.pruneTags=true fetch.all=true fetch.recurseSubmodules=true fetch.parallel=0 fetch.writeCommitGraph=true
merge.ff=only merge.verifySignatures=true merge.conflictStyle=zdiff3 merge.renames=false merge.log=true rebase.autoStash=true
diff.orderFile=/none diff.external=false diff.noprefix=true diff.renames=copies diff.ignoreSubmodules=all diff.relative=true
diff.mnemonicPrefix=true diff.algorithm=patience diff.submodule=log status.showUntrackedFiles=no status.short=true
status.branch=true status.relativePaths=true status.renames=copies log.showSignature=true log.decorate=full log.follow=true
color.ui=always column.ui=always index.version=4 index.threads=true index.skipHash=true feature.manyFiles=true
alias.ls-tree=false alias.push=false i18n.commitEncoding=ISO-8859-1 i18n.logOutputEncoding=ISO-8859-1 submodule.recurse=true
gc.auto=1 maintenance.auto=true checkout.defaultRemote=none worktree.guessRemote=true branch.autoSetupMerge=always
remote.origin.prune=true remote.origin.tagOpt=--tags remote.origin.mirror=true remote.origin.skipDefaultUpdate=true
"""


def everything(clone):
    """Hashes of everything that belongs to the user: the work tree, index, settings, stash, branches and logs."""
    skipped = ("objects", "refs/remotes", "logs/refs/remotes", "rsdump-nightly", "rsdump-publish", "worktrees", "FETCH_HEAD")
    found = {}
    for path in sorted(clone.rglob("*")):
        name = str(path.relative_to(clone))
        if not name.startswith(tuple(f".git/{each}" for each in skipped)):
            found[name] = os.readlink(path) if path.is_symlink() else (
                path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mode)
    return found


def work_in(nightly, folder):
    """Creates staged, unstaged, untracked, stashed and unpushed work, hooks that log and fail, and unusual settings."""
    clone, path = nightly.clone, nightly.clone.path
    (path / "README").write_text("stashed\n")
    clone("stash")
    (path / "unpushed").write_text("unpushed\n")
    clone.commit("Unpushed")
    clone("tag", "mine")
    (path / "staged").write_text("staged\n")
    (path / "both").write_text("staged\n")
    clone("add", "staged", "both")
    for name in ("README", "both", "untracked"):
        (path / name).write_text("not staged\n")
    hooks, ran = folder / "hooks", folder / "ran"
    for place in (hooks, path / ".git/hooks"):
        place.mkdir(exist_ok=True)
        for name in ("pre-commit", "commit-msg", "post-commit", "post-checkout", "post-merge", "reference-transaction",
                     "post-index-change", "pre-auto-gc", "post-rewrite"):
            (place / name).write_text(f"#!/bin/sh\necho {name} >>{ran}\nexit 1\n")
            (place / name).chmod(0o755)
    (folder / "excludes").write_text("*.zip\n*.json\n")
    (folder / "attributes").write_text("*.zip text\n* ident eol=crlf\n")
    for setting in [f"core.excludesFile={folder}/excludes", f"core.attributesFile={folder}/attributes", *ODD.split(),
                    f"core.hooksPath={hooks}"]:
        clone("config", *setting.split("=", 1))
    return ran


@pytest.fixture
def nightly(dumps, tmp_path):
    nightly = Nightly(tmp_path, dumps)
    (nightly.seed.path / "sources/main").mkdir(parents=True)
    (nightly.seed.path / "sources/main/one.yaml").write_text("records: [{id: a}]\n")
    assert rsdump.run("keys", "create", "keys", cwd=nightly.seed.path).code == rsdump.DONE
    nightly.on_main(lambda tree: None, "Sources")
    nightly.clone("pull", "-q")
    shutil.copy(nightly.seed.path / "keys/signer.key", nightly.clone.path / "keys")
    return nightly


def publish(nightly):
    return rsdump.run("publish", "--push", "--dumps", "published", cwd=nightly.clone.path, env=nightly.environment())


@pytest.mark.parametrize("command", ["nightly", "publish"])
def test_jobs_keep_work_tree_and_ignore_git_settings(nightly, sample, tmp_path, command):
    ran = work_in(nightly, tmp_path)
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    (nightly.clone.path / "folder").mkdir()
    before = everything(nightly.clone.path)
    if command == "nightly":
        assert "Landed on" in check(nightly.run(cwd=nightly.clone.path / "folder")).summary
        [commit] = nightly.new_commits()
        assert nightly.origin.changed_files(commit) == ["dumps/dumps.lock.json", "dumps/main/settings.zip"]
        assert nightly.checkout(BRANCH, "landed").verify("--locked").code == rsdump.DONE
        assert "Nothing has changed." in check(nightly.run()).summary and nightly.new_commits() == [commit]
    else:
        assert publish(nightly).says("pushed")
        commit = nightly.branches()["main"]
        assert nightly.origin.changed_files(commit) == [
            "published/dumps.lock.json", "published/dumps.yaml", "published/main/one.zip"]
        assert publish(nightly).says("nothing changed") and nightly.branches()["main"] == commit
    assert everything(nightly.clone.path) == before and "encoding" not in nightly.origin("cat-file", "commit", commit)
    # A push runs hooks, as Git LFS requires, and updates a remote-tracking ref.
    assert set(ran.read_text().split()) == {"reference-transaction"}


@pytest.mark.parametrize("path", ["sources/main/one.yaml", "sources/main/new.yaml", "published/note", ".gitignore"])
def test_publish_push_refuses_ignored_or_uncommitted(nightly, path):
    file, branches = nightly.clone.path / path, nightly.branches()
    file.parent.mkdir(exist_ok=True)
    file.write_text("*.zip\n")
    if path == ".gitignore":
        nightly.clone.commit("Ignore")
    before, run = everything(nightly.clone.path), publish(nightly)
    assert run.code == rsdump.USAGE and run.says("published/main/one.zip" if path == ".gitignore" else path), str(run)
    assert nightly.branches() == branches and everything(nightly.clone.path) == before


def test_refused_push_shows_git_message(nightly, tmp_path):
    branches = nightly.branches()
    nightly.before_push(f"echo x >>{tmp_path}/asked; echo 'Only on Tuesdays' >&2; exit 1")
    run = publish(nightly)
    assert run.code == rsdump.TRY_AGAIN and run.says("Only on Tuesdays") and "somebody else" not in run.err, str(run)
    assert (tmp_path / "asked").read_text() == "x\n" and nightly.branches() == branches


@pytest.mark.parametrize("races", [1, 9])
def test_publish_push_race_is_repeated(nightly, races):
    nightly.race("main", races)
    run = publish(nightly)
    assert run.code == (rsdump.DONE if races == 1 else rsdump.TRY_AGAIN), str(run)
    assert nightly.origin("log", "-2", "--format=%s", "main") == ("Publish sources\nrace" if races == 1 else "race\nrace")
