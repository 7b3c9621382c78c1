"""The library RemoteSettings over security-state/intermediates: whole processes here, in process by rsbench.

The server is real Kinto, one change ahead of what is packaged.
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import zipfile

from table import Row, measure, spread

COLLECTION = "security-state/intermediates"


class RuntimeBenchmark:
    def __init__(self, rsdump, server, names, scratch):
        self.rsdump, self.server, self.scratch = rsdump, server, scratch
        self.rsbench, self.app = rsdump.with_name("rsbench"), rsdump.with_name("rsbench-app")
        self.packaged, self.stored, self.storage = scratch / "packaged", scratch / "stored", scratch / "storage"
        self.run(rsdump, "add", *names, "--dumps", self.packaged, "--server", server.url, "--trust-root", server.root,
                 "--attachments", "all")
        self.run(rsdump, "refresh", "--dumps", self.packaged)
        self.run(self.rsbench, "stored", self.packaged, COLLECTION, self.stored)
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

    def row(self, name, source, dumps, storage=None):
        return Row(name, lambda folder: self.reading(source, dumps, storage))

    # Tables

    def reads(self, runs):
        python = "import json, sys; len(json.load(open(sys.argv[1], 'rb'))['data'])"
        rows = [
            self.row("an empty process", "nothing", self.packaged),
            self.row("embedded, stored", "embedded", self.stored),
            self.row("embedded, deflated", "embedded", self.packaged),
            self.row("directory, verified", "directory", self.packaged),
            self.row("cache after a sync, verified", "cache", self.packaged, self.storage),
            Row("Python, `json.load` of the records", lambda folder: [sys.executable, "-I", "-S", "-c", python, self.payload]),
            Row("Python, nothing", lambda folder: [sys.executable, "-I", "-S", "-c", ""]),
        ]
        measure(rows, runs, self.scratch)
        empty = {row.name: row.median("peak") for row in rows}
        keys = ("first", "second", "attachment", "another")
        readers = [row for row in rows if row.command(None)[1] in ("embedded", "directory", "cache")]
        for number in range(15):
            for row in readers:
                row.runs[0].setdefault("inside", []).append(json.loads(self.run(*row.command(None))))
        for row in readers:
            inside = row.runs[0].pop("inside")
            for run in row.runs:
                run |= {key: statistics.median(each[key] for each in inside) for key in keys if key in inside[0]}
        lines = [
            f"### A process that reads {COLLECTION} ({self.payload.stat().st_size} bytes)", "",
            f"min / median / max of {runs} alternating runs; the times inside are medians of 15 more, in turn", "",
            "| | wall ms | CPU ms | peak MiB over the empty one | inside: first `getRecords` ms | second | last attachment "
            "| another |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        for row in rows:
            base = empty["Python, nothing" if row.name.startswith("Python") else "an empty process"]
            over = (row.median("peak") - base) / (1 << 20)
            wall, cpu = ([run[key] for run in row.runs] for key in ("wall", "cpu"))
            shown = () if row not in readers else keys[:2] if row.command(None)[1] == "cache" else keys
            inside = [f"{row.median(key):.3f}" if key in shown and key in row.runs[0] else "" for key in keys]
            lines.append(
                f"| {row.name} | {spread(wall, 1000, 1)} | {spread(cpu, 1000, 1)} | {over:.1f} | {' | '.join(inside)} |")
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
        lines = [
            f"### Delta sync of one change in {COLLECTION}, whole process, against real Kinto", "",
            f"{len(self.requests)} requests, {total} bytes counted at the server ({counted}); "
            f"the whole changeset has {full['bytes']} bytes as sent. The server's own time is in all of them.", "",
            f"min / median / max of {runs} alternating runs", "",
            "| | wall ms | CPU ms | peak MiB |", "| --- | --- | --- | --- |",
        ]
        for row in rows:
            wall, cpu, peak = ([run[key] for run in row.runs] for key in ("wall", "cpu", "peak"))
            lines.append(
                f"| {row.name} | {spread(wall, 1000, 1)} | {spread(cpu, 1000, 1)} | {spread(peak, 1 / (1 << 20), 1)} |")
        return "\n".join(lines) + "\n"

    def in_process(self):
        return self.run(self.rsbench, "runtime", self.packaged, self.stored, self.storage, COLLECTION)


def run(rsdump, server, names, scratch, runs):
    """Prints Markdown tables."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        benchmark = RuntimeBenchmark(rsdump, server, names, pathlib.Path(folder))
        print(benchmark.reads(runs))
        print(benchmark.delta(runs))
        print(benchmark.in_process())
