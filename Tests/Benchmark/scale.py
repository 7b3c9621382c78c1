"""scale.py [--largest N] [--tables collections|records|attachments]: the cost as the data grows.

    collections   1 to 1,000 of them, with ten records each
    records       100 to 1,000,000 of them in one collection
    attachments   10 to 100,000 of them in one collection, of 1 kB each

--largest limits all three. `rsdump publish` (from RSDUMP) publishes generated data under a separate key, and `rsdump serve` serves
it on loopback. For each command, the CPU time (user and system) and the peak memory are measured once, because they hardly depend
on the load of the machine. In brackets is the exponent between two adjacent sizes: at 1, the cost is proportional to the data; at
0, it is constant. The fixed cost of a process, some 10 ms, hides the exponents of small sizes.
"""
import argparse
import contextlib
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "Integration"), str(HERE.parent / "Servers/origin")]

from nginx import free_port
from serve import Serving
from table import run_measured

RSDUMP = pathlib.Path(os.environ["RSDUMP"]).resolve()
APP = RSDUMP.with_name("rsbench-app")
SIZES = {
    "collections": [1, 10, 100, 1_000],
    "records": [100, 1_000, 10_000, 100_000, 1_000_000],
    "attachments": [10, 100, 1_000, 10_000, 100_000],
}
# A source file may be at most 64 MiB.
RECORDS_PER_FILE = 100_000
ATTACHMENT_BYTES = 1_000


class Sources:
    """Source files of collections with one changeable record."""

    def __init__(self, path, collections, records, attachments):
        self.path, self.random = path, random.Random(1)
        self.names = [f"main/scale-{number:04}" for number in range(collections)]
        for name in self.names:
            folder = path / name
            folder.mkdir(parents=True)
            (folder / "collection.json").write_text("{}")
            for start in range(0, max(records, attachments), RECORDS_PER_FILE):
                count = min(RECORDS_PER_FILE, max(records, attachments) - start)
                made = [self.record(folder, start + index, start + index < attachments) for index in range(count)]
                self.write(folder, start // RECORDS_PER_FILE, made)

    def record(self, folder, number, has_attachment):
        record = {
            "id": str(self.random.getrandbits(64)), "number": number, "title": f"Record {number}",
            "digest": self.random.randbytes(24).hex(), "isEnabled": number % 3 > 0,
        }
        if has_attachment:
            # Hexadecimal digits compress to half their size.
            (folder / "files").mkdir(exist_ok=True)
            (folder / f"files/{number}").write_text(self.random.randbytes(ATTACHMENT_BYTES // 2).hex())
            record["attachment"] = f"files/{number}"
        return record

    def write(self, folder, part, records):
        (folder / f"part-{part}.json").write_text(json.dumps(records))

    def change_one(self):
        folder = self.path / self.names[len(self.names) // 2]
        records = json.loads((folder / "part-0.json").read_text())
        records[len(records) // 2]["title"] = "Changed"
        self.write(folder, 0, records)


class Scale:
    """The commands for data of one size."""

    def __init__(self, scratch, collections, records, attachments):
        self.scratch, self.port = scratch, free_port()
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.sources = Sources(scratch / "sources", collections, records, attachments)
        self.name = self.sources.names[collections // 2]
        self.results = {}
        self.run("keys", "create", scratch / "keys")
        status = subprocess.run(
            [RSDUMP, "keys", "status", scratch / "keys"], check=True, capture_output=True, text=True).stdout
        self.root = next(line.split()[1] for line in status.splitlines() if line.startswith("trust-root"))

    def run(self, *arguments):
        run_measured([RSDUMP, *arguments])

    def measure(self, name, *command):
        self.results[name] = run_measured(command, name=name)

    def publish(self):
        return [RSDUMP, "publish", "--sources", self.scratch / "sources", "--dumps", self.scratch / "origin", "--keys",
                self.scratch / "keys", "--server", self.url]

    def refresh(self):
        return [RSDUMP, "refresh", "--dumps", self.scratch / "copy"]

    @contextlib.contextmanager
    def serving(self, *options):
        with Serving("--dumps", self.scratch / "origin", "--port", self.port, *options) as server:
            # The server is not ready while it reads its bundles.
            while server.ask("/v1/").status == 503:
                time.sleep(0.05)
            yield

    def all(self):
        copy, old, origin, storage = (self.scratch / name for name in ("copy", "old", "origin", "storage"))
        self.measure("publish all", *self.publish())
        self.run("add", *self.sources.names, "--dumps", copy, "--server", self.url, "--trust-root", self.root,
                 "--attachments", "all")
        with self.serving():
            self.measure("refresh of all", *self.refresh())
            self.measure("refresh, nothing changed", *self.refresh())
            self.run("get", self.name, "--sync", "--storage", storage, "--server", self.url, "--trust-root", self.root)
        self.measure("verify", RSDUMP, "verify", "--dumps", copy)
        if APP.exists():
            for source, name in [("directory", "first read, packaged"), ("cache", "first read, synced")]:
                self.measure(name, APP, source, copy, storage, self.root, self.url, self.name)
        records = subprocess.run(
            [RSDUMP, "show", self.name, "--records", "--dumps", copy], check=True, capture_output=True, text=True).stdout
        identifier = json.loads(records.splitlines()[-1])["id"]
        del records
        self.measure("lookup by id", RSDUMP, "show", self.name, identifier, "--dumps", copy)

        shutil.copytree(copy, old)
        shutil.copytree(origin, self.scratch / "history")
        self.sources.change_one()
        self.measure("publish of one change", *self.publish())
        with self.serving("--history", self.scratch / "history"):
            self.measure("refresh of one change", *self.refresh())
            self.measure("sync of one change", RSDUMP, "get", self.name, "--sync", "--storage", storage, "--server", self.url,
                         "--trust-root", self.root)
        self.measure("diff of one change", RSDUMP, "diff", old, copy)
        return self.results


def cell(value, before, growth):
    """A number with at least two significant digits, and the exponent relative to the previous size."""
    text = f"{value:.0f}" if value >= 10 else f"{value:.2f}"
    if before is None:
        return text
    exponent = math.log(value / before) / math.log(growth)
    # Never -0.0.
    return f"{text} ({round(exponent, 1) + 0.0:.1f})"


def render(axis, sizes, results):
    """Two Markdown tables, with a row for each command and a column for each size."""
    lines = []
    for title, key, scale in [("CPU seconds", "cpu", 1), ("peak memory, MiB", "peak", 1 / (1 << 20))]:
        lines += [f"### {axis.capitalize()}: {title}", "", f"| | {' | '.join(f'{size:,}' for size in sizes)} |",
                  "| --- |" + " --- |" * len(sizes)]
        for name in results[0]:
            cells = []
            for number, result in enumerate(results):
                before = results[number - 1][name][key] * scale if number else None
                growth = sizes[number] / sizes[number - 1] if number else None
                cells.append(cell(result[name][key] * scale, before, growth))
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=1_000_000, metavar="N", help="no size above this one")
    parser.add_argument("--tables", choices=SIZES, help="only these")
    arguments = parser.parse_args()
    for axis, all_sizes in SIZES.items():
        sizes, results = [size for size in all_sizes if size <= arguments.largest], []
        if arguments.tables not in (None, axis) or not sizes:
            continue
        for size in sizes:
            with tempfile.TemporaryDirectory() as scratch:
                amounts = {"collections": 1, "records": 10, "attachments": 0, axis: size}
                results.append(Scale(pathlib.Path(scratch), **amounts).all())
        print(render(axis, sizes, results), flush=True)


if __name__ == "__main__":
    main()
