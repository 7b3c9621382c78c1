"""A small team of publishers: sources of two collections, keys, and the dumps directory."""
import base64
import json
import random

import rsdump
from dumps import Dumps

# Commands for --on-change.
ON_CHANGE = rsdump.REPOSITORY / "Examples/on-change"


class Team:
    """Sources and keys, published into a dumps directory."""

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
                "--format", "json", *options)

    def publish(self, *options, env=None):
        outcome = rsdump.run(*self.arguments(*options), env=env)
        assert outcome.code == rsdump.DONE, str(outcome)
        return outcome

    @property
    def timestamps(self):
        return {name: entry["timestamp"] for name, entry in self.dumps.lock["collections"].items()}

    @property
    def kept(self):
        return self.dumps.path / ".rsdump/on-change.json"


class Origin:
    """A directory with sources, keys and dumps for one collection of parameters. `source` is the source file's text, with a
    placeholder for a value."""

    def __init__(self, path, source, value, name="app-config"):
        self.path, self.dumps, self.source = path, path / "dumps", source
        self.file = path / f"sources/main/{name}.yaml"
        self.file.parent.mkdir(parents=True)
        assert rsdump.run("keys", "create", "keys", cwd=path).code == rsdump.DONE
        self.root = rsdump.run("keys", "status", "keys", "--format", "json", cwd=path).json()["root"]
        self.publish(value)

    def publish(self, value):
        self.file.write_text(self.source.format(value))
        outcome = rsdump.run("publish", cwd=self.path)
        assert outcome.code == rsdump.DONE, str(outcome)


class Hook:
    """A command for `--on-change` that records its notifications, and fails while the file `fails` exists."""

    def __init__(self, folder):
        self.log, self.fails = folder / "told", folder / "fails"
        self.command = f"test ! -e {self.fails} && cat >>{self.log}"

    def take(self):
        """Returns the changes so far and clears them."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return [json.loads(line) for line in lines]


class LargeFiles:
    """Dumps with 1.1 MB of records and two attachments that are too large to be kept in memory, one of which is compressed in the
    bundle. `targets` are their paths on a server, `files` the contents of the attachments."""

    def __init__(self, path, size=20_000_000):
        team = Team(path)
        sources = path / "sources/main"
        noise = random.Random(1).randbytes(size)
        self.files = {"stored": noise, "deflated": base64.b64encode(noise)[:size]}
        for name, content in self.files.items():
            (sources / f"{name}.bin").write_bytes(content)
        (sources / "files.yaml").write_text(
            "records:\n" + "".join(f"- {{id: {name}, attachment: {name}.bin}}\n" for name in self.files))
        (sources / "many.yaml").write_text(
            "records:\n" + "".join(f"- {{id: r{number}, text: {'x' * 500}}}\n" for number in range(2_000)))
        team.publish()
        self.dumps = team.dumps
        locations = {each["id"]: each["attachment"]["location"] for each in self.dumps.bundle("main/files").records}
        self.targets = {name: f"/attachments/{location}" for name, location in locations.items()} | {
            "changeset": "/v1/buckets/main/collections/many/changeset?_expected=0",
            # Rendered for each request.
            "page": "/collections/main/many?show=all",
        }
