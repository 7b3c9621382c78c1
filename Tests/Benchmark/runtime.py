"""Measures the library RemoteSettings with security-state/intermediates, in processes of rsbench-app.

The server is a real Kinto, one change ahead of the packaged data.
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import zipfile

from table import Row, measure, render

COLLECTION = "security-state/intermediates"


class RuntimeBenchmark:
    def __init__(self, rsdump, server, names, scratch):
        self.rsdump, self.server, self.scratch = rsdump, server, scratch
        self.app = rsdump.with_name("rsbench-app")
        self.packaged, self.stored, self.storage = scratch / "packaged", scratch / "stored", scratch / "storage"
        for dumps in (self.packaged, self.stored):
            self.run(rsdump, "add", *names, "--dumps", dumps, "--server", server.url, "--trust-root", server.root,
                     "--attachments", "all")
        with open(self.stored / "dumps.yaml", "a") as file:
            file.write("compression: stored\n")
        for dumps in (self.packaged, self.stored):
            self.run(rsdump, "refresh", "--dumps", dumps)
        first = server.changeset(COLLECTION)["changes"][0]
        server.patch_record(COLLECTION, first["id"], {"subject": "changed"})
        position = server.log_position()
        self.run(*self.sync(self.storage))
        self.requests = server.requests(position)
        self.payload = scratch / "records.json"
        with zipfile.ZipFile(self.packaged / f"{COLLECTION}.zip") as bundle:
            self.payload.write_bytes(bundle.read("records.json"))

    def run(self, *command):
        finished = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if finished.returncode != 0:
            raise RuntimeError(f"{command}:\n{finished.stdout}{finished.stderr}")
        return finished.stdout

    # Commands

    def sync(self, storage):
        return [self.rsdump, "get", COLLECTION, "--sync", "--storage", storage, "--packaged", self.packaged]

    def reading(self, source, dumps, storage=None):
        return [self.app, source, dumps, storage or self.scratch / "none", self.server.root, self.server.url, COLLECTION]

    def readers(self):
        return {
            "embedded, stored": self.reading("embedded", self.stored),
            "embedded, deflated": self.reading("embedded", self.packaged),
            "directory, verified": self.reading("directory", self.packaged),
            "cache after a sync, verified": self.reading("cache", self.packaged, self.storage),
        }

    # Tables

    def reads(self, runs):
        python = "import json, sys; len(json.load(open(sys.argv[1], 'rb'))['data'])"
        commands = {
            "an empty process": self.reading("nothing", self.packaged), **self.readers(),
            "Python, `json.load` of the records": [sys.executable, "-I", "-S", "-c", python, self.payload],
            "Python, nothing": [sys.executable, "-I", "-S", "-c", ""],
        }
        rows = [Row(name, lambda folder, command=command: command) for name, command in commands.items()]
        measure(rows, runs, self.scratch)
        return render(f"A process that reads {COLLECTION} ({self.payload.stat().st_size} bytes)", rows, "an empty process")

    def calls(self):
        """The calls within such a process, and first reads by further services after it has warmed up."""
        keys = ("first", "second", "attachment", "another", "warm")
        found = {name: [] for name in self.readers()}
        for _ in range(15):
            for name, command in self.readers().items():
                times = json.loads(self.run("env", "READS=20", *command))
                found[name].append({**times, "warm": statistics.median(times["warm"])})
        lines = ["### Calls, medians of 15 processes in turn, ms", "",
                 "| | first `getRecords` | second | last attachment | another | first, warm |", "| --- |" + " --- |" * len(keys)]
        for name, all_times in found.items():
            medians = (statistics.median(times[key] for times in all_times) for key in keys)
            lines.append(f"| {name} | {' | '.join(f'{median:.3f}' for median in medians)} |")
        return "\n".join(lines) + "\n"

    def delta(self, runs):
        address = self.server.url.removesuffix("/v1")
        urls = [address + each["path"] for each in self.requests]
        whole = f"{self.server.url}/buckets/{COLLECTION.replace('/', '/collections/')}/changeset?_expected=0"

        def curl(*addresses):
            return lambda folder: ["curl", "--silent", "--fail", "--compressed", *sum(
                ([url, "--output", folder / str(number)] for number, url in enumerate(addresses)), [])]
        rows = [
            Row("rsdump get --sync", self.sync), Row("curl, the same URLs", curl(*urls)),
            Row("curl, the whole changeset", curl(whole)),
        ]
        measure(rows, runs, self.scratch)
        position = self.server.log_position()
        self.run("curl", "--silent", "--fail", "--compressed", whole, "--output", "/dev/null")
        (full,) = self.server.requests(position)
        counted = ", ".join(f"{each['bytes']} of {each['path'].split('?')[0].split('/')[-1]}" for each in self.requests)
        total = sum(each["bytes"] for each in self.requests)
        title = (f"Delta sync of one change in {COLLECTION}, whole process, against real Kinto, whose own time is in all of them: "
                 f"{len(self.requests)} requests, {total} bytes ({counted}); the whole changeset has {full['bytes']} bytes as sent")
        return render(title, rows, rows[1].name)


def run(rsdump, server, names, scratch, runs):
    """Prints Markdown tables."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        benchmark = RuntimeBenchmark(rsdump, server, names, pathlib.Path(folder))
        print(benchmark.reads(runs))
        print(benchmark.calls())
        print(benchmark.delta(runs))
