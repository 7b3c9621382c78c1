"""A clone for rsdump nightly, its bare origin repository, and GitHub's API."""
import copy
import dataclasses
import os
import subprocess

import rsdump
from dumps import Dumps
from forge import GitHub
from git import ENVIRONMENT, Repository

BRANCH = "remote-settings-dumps"


@dataclasses.dataclass(repr=False)
class Run:
    code: int
    out: str
    err: str
    summary: str

    def __repr__(self):
        return f"exit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}\n--- summary\n{self.summary}"


class Nightly:
    def __init__(self, folder, dumps):
        """A repository that has the files of `dumps` under dumps/ on main, and a clone of it."""
        self.folder = folder
        self.origin = Repository.create(folder / "origin.git", bare=True)
        seed = self.origin.clone(folder / "seed")
        (seed.path / "README").write_text("An app\n")
        dumps.copy(seed.path / "dumps")
        seed.commit("An app with dumps")
        seed("push", "-q", "origin", "HEAD:main")
        self.seed = seed
        self.clone = self.origin.clone(folder / "clone")
        self.github = GitHub()
        self.bin = folder / "bin"
        self.bin.mkdir()

    def environment(self, changes=None):
        return rsdump.environment({
            **ENVIRONMENT, "PATH": f"{self.bin}:{os.environ['PATH']}", **self.github.environment, **(changes or {})})

    def run(self, *arguments, env=None, cwd=None, fails=None):
        self.github.fails = fails
        summary = self.folder / "summary.md"
        summary.unlink(missing_ok=True)
        finished = subprocess.run(
            [rsdump.BINARY, "nightly", "--summary", summary, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=rsdump.TIMEOUT, env=self.environment(env), cwd=cwd or self.clone.path)
        text = summary.read_text() if summary.exists() else ""
        return Run(finished.returncode, finished.stdout, finished.stderr, text)

    def start(self, *arguments, env=None):
        """Starts it in a separate process group and does not wait."""
        return subprocess.Popen(
            [rsdump.BINARY, "nightly", *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=self.environment(env), cwd=self.clone.path, start_new_session=True)

    # The result of a run

    @property
    def requests(self):
        return copy.deepcopy(self.github.requests)

    def edit_requests(self, change):
        change(self.github.requests)

    def branches(self):
        """The commits of the origin's branches."""
        lines = self.origin("for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads").split("\n")
        return dict(line.split() for line in lines)

    def new_commits(self, branch=BRANCH):
        """The commits on the branch that are not on main, oldest first."""
        return self.origin.commits(f"main..{branch}") if branch in self.branches() else []

    def checkout(self, revision, name):
        """The dumps of a commit, in a separate directory."""
        target = self.folder / name
        self.origin("worktree", "add", "-q", "--detach", target, revision)
        return Dumps(target / "dumps")

    def merge(self, squash=False):
        """Merges the pull request as a person would."""
        self.seed("fetch", "-q", "origin")
        self.seed("checkout", "-q", "-B", "main", "origin/main")
        self.seed("merge", "-q", *(["--squash"] if squash else ["--no-edit"]), f"origin/{BRANCH}")
        if squash:
            self.seed("commit", "-q", "-m", "Dumps")
        self.seed("push", "-q", "origin", "main")
        self.edit_requests(lambda requests: requests[-1].update(state="MERGED"))

    def on_main(self, edit, message="Somebody's work"):
        self.on("main", edit, message)

    def on(self, branch, edit, message="Somebody's work"):
        """Adds a commit by someone else; `edit` gets the work tree's path."""
        self.seed("fetch", "-q", "origin")
        self.seed("checkout", "-q", "-B", branch, f"origin/{branch}")
        edit(self.seed.path)
        self.seed.commit(message)
        self.seed("push", "-q", "origin", branch)

    def before_push(self, script):
        """Installs a script that the remote runs before it accepts a push."""
        hook = self.origin.path / "hooks/pre-receive"
        hook.write_text(f"#!/bin/sh -e\n{script}\n")
        hook.chmod(0o755)
        return hook

    def race(self, branch, times):
        """Adds someone else's commit just before each of the next pushes."""
        count = self.folder / "races"
        count.write_text("0")
        self.before_push(f"""
n=$(cat {count})
[ "$n" -lt {times} ] || exit 0
echo $((n + 1)) >{count}
unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
export GIT_INDEX_FILE={self.folder}/race-index
git read-tree {branch}
git update-index --add --cacheinfo "100644,$(echo $n | git hash-object -w --stdin),raced-$n"
git update-ref refs/heads/{branch} "$(git commit-tree -m race -p {branch} "$(git write-tree)")"
""")

    def is_untouched(self, before):
        """Whether the clone's files and branch are unchanged."""
        return self.state() == before

    def state(self):
        return (self.clone("status", "--porcelain", "--ignored"), self.clone("symbolic-ref", "HEAD"),
                self.clone("rev-parse", "HEAD"))
