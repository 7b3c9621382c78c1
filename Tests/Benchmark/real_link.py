"""The tool and the library over a link with a round trip and a rate, beside curl.

The origin and whoever asks it are in network namespaces of their own (Tests/Servers/link). The round trips of a row are what
its least time grows by where the link's round trip is 100 ms longer, divided by these 100 ms: requests that wait for others,
connections that are opened late and TCP's slow start count, what runs side by side and what the machine takes do not.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "Servers/link"))

import link as links
import origin
from table import Row, measure, spread

LONGER = 0.1
CALIBRATION_BYTES = 40_000_000
PACKAGED = "security-state/intermediates"


class RealLinkBenchmark:
    def __init__(self, rsdump, against, link, server, names, scratch):
        self.rsdump, self.against, self.link, self.server, self.scratch = rsdump, against, link, server, scratch
        self.names, self.compared = names, []
        self.nginx = origin.make(server, scratch / "origin", host=links.FAR, within=link.far, https=True)

    def __enter__(self):
        self.nginx.__enter__()
        self.configured = self.configuration(self.nginx.url)
        self.refreshed = self.scratch / "refreshed"
        shutil.copytree(self.configured, self.refreshed)
        self.cold_urls = self.asked(lambda: self.refresh(self.refreshed))
        self.unchanged_urls = self.asked(lambda: self.refresh(self.refreshed))
        self.first_urls = [url for url in self.cold_urls if "/attachments/" not in url and not url.endswith("/v1/")]
        self.make_changes()
        return self

    def __exit__(self, *_):
        self.nginx.__exit__()

    def configuration(self, server):
        folder = self.scratch / f"configured-{urllib.parse.urlsplit(server).port}"
        folder.mkdir()
        collections = "".join(f"  {name}:\n" for name in self.names)
        (folder / "dumps.yaml").write_text(
            f"version: 1\nserver: {server}\nallow-plain-http: true\ntrust:\n  roots:\n    - \"{self.server.root}\"\n"
            f"attachments: all\ncollections:\n{collections}")
        return folder

    def refresh(self, folder, within=None):
        run(*(self.link.near if within is None else within), self.rsdump, "refresh", "--no-progress", "--dumps", folder)

    def asked(self, work):
        """The URLs that nginx answered while `work` ran."""
        position = self.nginx.log_position()
        work()
        address = self.nginx.url.removesuffix("/v1")
        return [address + each["path"] for each in self.nginx.requests(position) if each["status"] == 200]

    def make_changes(self):
        """Ten collections change, each by one record, five of these by its attachment; `rsdump serve` has both states."""
        mirror, before = self.scratch / "mirror", self.scratch / "before"
        run(self.rsdump, "add", *self.names, "--dumps", mirror, "--server", self.server.url, "--trust-root",
            self.server.root, "--attachments", "all")
        self.refresh(mirror, within=[])
        shutil.copytree(mirror, before)
        port = self.nginx.port + 2
        self.behind = self.configuration(f"http://{links.FAR}:{port}/v2")
        with Serving(self, mirror, port):
            self.refresh(self.behind)
        changed = {True: [], False: []}
        for name in self.names:
            records = self.server.changeset(name)["changes"]
            with_attachment = any(record.get("attachment") for record in records)
            if records and len(changed[with_attachment]) < 5:
                record = next(record for record in records if with_attachment == bool(record.get("attachment")))
                changed[with_attachment].append((name, record))
        for name, record in changed[False]:
            self.server.patch_record(name, record["id"], {"changed": True})
        for name, record in changed[True]:
            self.server.put_attachment(name, record["id"], "changed.bin", os.urandom(20_000))
        self.refresh(mirror, within=[])
        self.changed = Serving(self, mirror, port, before)
        copy = self.scratch / "copy"
        shutil.copytree(self.behind, copy)
        with self.changed:
            self.refresh(copy)
            self.changed_urls = []
            answers = self.nginx.files / "answers"
            answers.mkdir()
            # nginx gets these answers as files, so that curl can ask for them by HTTP/2 as well.
            for number, path in enumerate(self.changed.paths()):
                run(*self.link.near, "curl", "--silent", "--fail", "--output", answers / str(number),
                    f"http://{links.FAR}:{port}{path}")
                self.changed_urls.append(f"{self.nginx.url.removesuffix('/v1')}/answers/{number}")

    # Rows

    def row(self, name, command, prepare=None, after=None):
        return Row(name, command, prepare, after, within=self.link.near)

    def refreshes(self, prepare, *options):
        def command(program):
            return lambda folder: [program, "refresh", "--no-progress", "--dumps", folder, *options]
        row = self.row(" ".join(["`rsdump refresh", *options]) + "`", command(self.rsdump), prepare)
        if not self.against or options:
            return [row]
        return [row, self.row("the other commit's", command(self.against), prepare, after=row)]

    def syncs(self):
        def command(program):
            return lambda folder: [
                program.with_name("rsbench-app"), "sync", self.refreshed, folder, self.server.root, PACKAGED]
        row = self.row("`sync()`", command(self.rsdump))
        if not self.against:
            return [row]
        return [row, self.row("the other commit's", command(self.against), after=row)]

    def curls(self, urls):
        """curl knows all URLs at once, and asks for them in any order."""
        def row(name, urls, *options):
            config = self.scratch / f"curl-{abs(hash((name, *urls)))}"
            config.write_text("".join(f'url = "{url}"\noutput = "{number}"\n' for number, url in enumerate(urls)))
            return self.row(name, lambda folder: [
                "curl", "--silent", "--fail", "--parallel", *options, "--output-dir", folder, "--config", config])
        https = [url.replace(f"http://{links.FAR}:{self.nginx.port}/", f"https://{links.FAR}:{self.nginx.port + 1}/")
                 for url in urls]
        more = [row("`curl --parallel --parallel-max 32`", urls, "--parallel-max", "32")] if len(urls) > 1000 else []
        return [
            row("`curl --parallel --parallel-max 8`", urls, "--parallel-max", "8"),
            *more,
            row("the same over TLS", https, "--parallel-max", "8", "--http1.1", "--insecure"),
            row("HTTP/2 over TLS, one connection", https, "--parallel-max", "100", "--http2", "--insecure"),
        ]

    # Tables

    def table(self, title, rows, urls, runs, note, trips=True):
        measure(rows, runs, self.scratch)
        base = next(row for row in rows if row.name == "`curl --parallel --parallel-max 8`")
        shortest = {row: min(run["wall"] for run in row.runs) for row in rows}
        lines = [
            f"### {title}", "", f"{len(urls)} requests, {runs} alternating runs. {note}".strip(), "",
            "| | wall ms, min / median / max | CPU ms, median | × curl, medians | × curl, least | round trips |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        longer = {row: self.longer(row, runs) for row in rows} if trips else {}
        for row in rows:
            counted = f"{(longer[row] - shortest[row]) / LONGER:.1f}" if row in longer else ""
            lines.append(
                f"| {row.name} | {spread([run['wall'] for run in row.runs], 1000, 0)} "
                f"| {row.median('cpu') * 1000:.0f} | {row.median('wall') / base.median('wall'):.2f} "
                f"| {shortest[row] / shortest[base]:.2f} | {counted} |")
        self.compared += [row for row in rows if row.after]
        print("\n".join(lines) + "\n", flush=True)

    def longer(self, row, runs):
        """The least time of the row over a link that is `LONGER`."""
        other = Row(row.name, row.command, row.prepare, within=row.within)
        self.link.set_round_trip(self.link.round_trip + LONGER)
        measure([other], max(2, runs // 2), self.scratch)
        self.link.set_round_trip(self.link.round_trip)
        return min(run["wall"] for run in other.runs)

    def run(self, runs):
        print(self.calibration(), flush=True)
        configured = self.copy_of(self.configured)
        rows = [*self.refreshes(configured), *self.refreshes(configured, "--jobs", "32"), *self.curls(self.cold_urls)]
        self.table("A cold refresh of all collections", rows, self.cold_urls, runs, "", trips=False)
        with self.changed:
            self.table(
                "A refresh with ten changes", [*self.refreshes(self.copy_of(self.behind)), *self.curls(self.changed_urls)],
                self.changed_urls, runs,
                "At least 6 round trips: a connection, the monitor, ten changesets by eight connections (2), attachments of "
                "20 kB (2, as TCP begins with 14 kB). The origin is `rsdump serve`, for curl nginx with the same answers.")
        self.table(
            "A refresh with nothing changed",
            [*self.refreshes(lambda folder: self.refreshed), *self.curls(self.unchanged_urls)],
            self.unchanged_urls, runs, "At least 2 round trips: a connection, the monitor.")
        self.table(
            "An app's first sync of all collections, nothing packaged", [*self.syncs(), *self.curls(self.first_urls)],
            self.first_urls, runs, "At least 7 round trips: a connection, the monitor, changesets by eight connections (4), a "
            "certificate chain; and what TCP's slow start adds, which is in curl's count too.")
        return self.compared

    def copy_of(self, source):
        def prepare(folder):
            shutil.copytree(source, folder, dirs_exist_ok=True)
            return folder
        return prepare

    def calibration(self):
        """What the link itself does: the time of a connection, and one large file."""
        file = self.nginx.files / "calibration"
        file.write_bytes(os.urandom(CALIBRATION_BYTES))
        trips, rates, whole = [], [], []
        for _ in range(3):
            told = run(
                *self.link.near, "curl", "--silent", "--fail", "--output", "/dev/null", "--write-out",
                "%{time_connect} %{time_starttransfer} %{time_total}", self.nginx.url.replace("/v1", "/calibration"))
            connected, began, ended = map(float, told.split())
            trips.append(connected)
            rates.append(CALIBRATION_BYTES * 8 / 1e6 / (ended - began))
            whole.append(ended)
        control = pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
        maker = "netem" if self.link.kind == "netem" else "Tests/Servers/link/link.c, as this kernel has no netem"
        return (
            f"The link is made by {maker}, with {self.link.round_trip * 1000:g} ms and {self.link.rate / 1e6:g} Mbit/s; "
            f"TCP's congestion control is {control}. "
            f"By curl, best of 3: a connection takes {min(trips) * 1000:.1f} ms; a file of "
            f"{CALIBRATION_BYTES / 1e6:g} MB comes at {max(rates):.1f} Mbit/s, in {min(whole) * 1000:.0f} ms in all.\n")


class Serving:
    """`rsdump serve` at the far end, for as long as a `with` block runs."""

    def __init__(self, benchmark, dumps, port, history=None):
        self.command = [
            *benchmark.link.far, benchmark.rsdump, "serve", "--dumps", dumps, "--host", links.FAR, "--port", port,
            "--log-requests", *(["--history", history] if history else [])]
        self.log = benchmark.scratch / f"serve-{bool(history)}.log"

    def __enter__(self):
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                list(map(str, self.command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        if not self.process.stdout.readline():
            raise RuntimeError(f"rsdump serve did not start:\n{self.log.read_text()}")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def paths(self):
        return re.findall(r"GET (\S+) 200 ", self.log.read_text())


def run(*command):
    finished = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if finished.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}:\n{finished.stdout}{finished.stderr}")
    return finished.stdout


def run_all(text, rsdump, against, server, names, scratch, runs):
    """Prints Markdown tables. Returns the rows of the build `against`, if it is not `None`."""
    with links.Link(*links.parse(text)) as link, RealLinkBenchmark(rsdump, against, link, server, names, scratch) as made:
        return made.run(runs)
