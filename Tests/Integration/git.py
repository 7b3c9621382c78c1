"""A git repository as the tests use it: real git, its own identity and settings, nothing of this machine's."""
import os
import pathlib
import subprocess

from git_tree import AUTHOR, NO_SETTINGS

ENVIRONMENT = NO_SETTINGS | AUTHOR


class Repository:
    def __init__(self, path):
        self.path = pathlib.Path(path)

    @classmethod
    def create(cls, path, bare=False):
        path.mkdir(parents=True, exist_ok=True)
        repository = cls(path)
        repository("init", "-q", "-b", "main", *(["--bare"] if bare else []))
        return repository

    def clone(self, path):
        subprocess.run(["git", "clone", "-q", self.path, path], check=True, env={**os.environ, **ENVIRONMENT})
        return Repository(path)

    def __call__(self, *arguments):
        """What git prints, without the line's end."""
        finished = subprocess.run(
            ["git", "-C", self.path, *map(str, arguments)], capture_output=True, text=True,
            env={**os.environ, **ENVIRONMENT})
        assert finished.returncode == 0, f"git {arguments}: {finished.stdout}{finished.stderr}"
        return finished.stdout.rstrip("\n")

    def commit(self, message):
        self("add", "-A")
        self("commit", "-q", "-m", message)
        return self("rev-parse", "HEAD")

    def commits(self, revisions="main"):
        """Commits, the oldest first."""
        return self("rev-list", "--reverse", revisions).split()

    def changed_files(self, commit):
        return self("diff-tree", "--no-commit-id", "--name-only", "-r", "--root", commit).split("\n")
