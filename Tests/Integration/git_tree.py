"""A git repository that a dumps directory lies in, made with the real git."""
import os
import subprocess


# Whoever's settings are on this machine, they are not the tests'. It is a place where no file can be: git config --global would
# replace /dev/null itself with a file, for the whole machine, if root runs it.
NOWHERE = f"{os.devnull}/none"
NO_SETTINGS = {"GIT_CONFIG_GLOBAL": NOWHERE, "GIT_CONFIG_SYSTEM": NOWHERE}
AUTHOR = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "Test"), ("EMAIL", "test@example.org"))}


class GitTree:
    def __init__(self, root):
        self.root = root
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments, cwd=None):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        finished = subprocess.run(
            ["git", *map(str, arguments)], cwd=cwd or self.root, env=kept | AUTHOR | NO_SETTINGS,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    def commit(self, message):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD").strip()
