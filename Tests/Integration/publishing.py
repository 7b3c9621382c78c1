"""A small team that publishes: sources of two collections, keys, and the directory of dumps."""
import rsdump
from dumps import Dumps


class Team:
    """Sources with keys, published into a directory of dumps."""

    def __init__(self, path):
        self.path = path
        self.dumps = Dumps(path / "dumps")
        (path / "sources/main").mkdir(parents=True)
        assert rsdump.run("keys", "create", path / "keys").code == rsdump.DONE
        self.values = {"one": 1, "two": 2}

    def change(self, name):
        self.values[name] += 1

    def arguments(self, *options):
        for name, value in self.values.items():
            (self.path / f"sources/main/{name}.yaml").write_text(f"records:\n  - {{id: a, value: {value}}}\n")
        return ("publish", "--sources", self.path / "sources", "--keys", self.path / "keys", "--dumps", self.dumps.path,
                "--format", "json", *(() if "--origin" in options else ("--no-release",)), *options)

    def publish(self, *options, env=None):
        outcome = rsdump.run(*self.arguments(*options), env=env)
        assert outcome.code == rsdump.DONE, str(outcome)
        return outcome

    @property
    def timestamps(self):
        return {name: entry["timestamp"] for name, entry in self.dumps.lock["collections"].items()}

    @property
    def kept(self):
        return self.dumps.path / ".rsdump/notify.json"
