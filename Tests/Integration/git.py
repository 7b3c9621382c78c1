"""A git repository for tests: real git with a fixed identity, independent of this machine's settings."""
import os
import pathlib
import subprocess

# The tests ignore this machine's git settings. No file can exist at this path: with /dev/null, git config --global, run as root,
# would replace /dev/null itself with a regular file for the whole machine.
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
        """Git's output without the final newline."""
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
        """The commits, oldest first."""
        return self("rev-list", "--reverse", revisions).split()

    def changed_files(self, commit):
        return self("diff-tree", "--no-commit-id", "--name-only", "-r", "--root", commit).split("\n")


class GitTree(Repository):
    """A git repository that contains a dumps directory."""

    def __init__(self, root):
        super().__init__(root)
        self.root = root
        self("init", "-q", "-b", "main")
