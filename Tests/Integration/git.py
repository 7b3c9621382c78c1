"""A git repository as the tests use it: real git, its own identity and settings, nothing of this machine's."""
import os
import pathlib
import subprocess

# Whoever's settings are on this machine, they are not the tests'. It is a place where no file can be: git config --global would
# replace /dev/null itself with a file, for the whole machine, if root runs it.
NOWHERE = f"{os.devnull}/none"
NO_SETTINGS = {"GIT_CONFIG_GLOBAL": NOWHERE, "GIT_CONFIG_SYSTEM": NOWHERE}
AUTHOR = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "Test"), ("EMAIL", "test@example.org"))}
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

    def clone(self, path, *options):
        self.git("clone", "-q", *options, f"file://{self.path}" if options else self.path, path)
        return Repository(path)

    def __call__(self, *arguments):
        """What git prints, without the line's end."""
        return self.git(*arguments).rstrip("\n")

    def git(self, *arguments, cwd=None):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        finished = subprocess.run(
            ["git", *map(str, arguments)], cwd=cwd or self.path, env=kept | ENVIRONMENT, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=120)
        assert finished.returncode == 0, f"git {arguments}: {finished.stdout}{finished.stderr}"
        return finished.stdout

    def commit(self, message):
        self("add", "-A")
        self("commit", "-q", "-m", message)
        return self("rev-parse", "HEAD")

    def commits(self, revisions="main"):
        """Commits, the oldest first."""
        return self("rev-list", "--reverse", revisions).split()

    def changed_files(self, commit):
        return self("diff-tree", "--no-commit-id", "--name-only", "-r", "--root", commit).split("\n")


class GitTree(Repository):
    """One that a dumps directory lies in."""

    def __init__(self, root):
        super().__init__(root)
        self.root = root
        self("init", "-q", "-b", "main")
