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
HTTP2, HTTP1 = ", TLS, HTTP/2", ", TLS, HTTP/1.1"
CURL_HTTP2 = "HTTP/2 over TLS, one connection"
PACKAGED = "security-state/intermediates"


class RealLinkBenchmark:
    def __init__(self, rsdump, against, link, server, names, scratch):
        self.rsdump, self.against, self.link, self.server, self.scratch = rsdump, against, link, server, scratch
        self.names, self.compared = names, []
        self.nginx = origin.make(server, scratch / "origin", host=links.FAR, within=link.far, https=True)

    def __enter__(self):
        self.nginx.__enter__()
        # The only certificate that is trusted there.
        script = 'mount --bind "$1" /etc/ssl/certs/ca-certificates.crt && shift && exec "$@"'
        self.near = [
            *self.link.near, "unshare", "--mount", "sh", "-c", script, "sh", self.nginx.folder / "certificate.pem"]
        self.configured = self.configuration(self.nginx.url)
        self.configured_http2, self.configured_http1 = (
            self.configuration(self.https(port)) for port in (self.nginx.http2, self.nginx.http1))
        self.refreshed = self.scratch / "refreshed"
        shutil.copytree(self.configured, self.refreshed)
        self.cold_urls = self.asked(lambda: self.refresh(self.refreshed))
        self.refreshed_http2 = self.scratch / "refreshed-http2"
        shutil.copytree(self.configured_http2, self.refreshed_http2)
        asked = self.asked(lambda: self.refresh(self.refreshed_http2))
        assert len(asked) == len(self.cold_urls), "HTTP/2 has led to other requests"
        different = subprocess.run(
            ["diff", "--recursive", "--brief", "--exclude", "dumps.*", "--exclude", ".rsdump", self.refreshed,
             self.refreshed_http2], capture_output=True, text=True)
        assert different.returncode == 0, f"HTTP/2 has led to other bundles:\n{different.stdout}"
        self.unchanged_urls = self.asked(lambda: self.refresh(self.refreshed))
        self.first_urls = [url for url in self.cold_urls if "/attachments/" not in url and not url.endswith("/v1/")]
        self.make_changes()
        return self

    def __exit__(self, *_):
        self.nginx.__exit__()

    def https(self, port, version="v1"):
        return f"https://{links.FAR}:{port}/{version}"

    def configuration(self, server):
        folder = self.scratch / f"configured-{urllib.parse.urlsplit(server).port}"
        folder.mkdir()
        collections = "".join(f"  {name}:\n" for name in self.names)
        (folder / "dumps.yaml").write_text(
            f"version: 1\nserver: {server}\nallow-plain-http: true\ntrust:\n  roots:\n    - \"{self.server.root}\"\n"
            f"attachments: all\ncollections:\n{collections}")
        return folder

    def refresh(self, folder, within=None):
        run(*(self.near if within is None else within), self.rsdump, "refresh", "--dumps", folder)

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
        port = self.nginx.behind + 1
        self.behind = self.configuration(f"http://{links.FAR}:{port}/v2")
        with Serving(self, mirror, port):
            self.refresh(self.behind)
        self.behind_http2 = self.configuration(self.https(self.nginx.proxy, "v2"))
        public = ["--public-url", f"https://{links.FAR}:{self.nginx.proxy}"]
        with Serving(self, mirror, self.nginx.behind, *public):
            self.refresh(self.behind_http2)
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
        history = ["--history", before]
        self.changed = Serving(self, mirror, port, *history)
        self.changed_http2 = Serving(self, mirror, self.nginx.behind, *public, *history)
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
        return Row(name, command, prepare, after, within=self.near)

    def refreshes(self, prepare, *options, over=""):
        def command(program):
            return lambda folder: [program, "refresh", "--dumps", folder, *options]
        row = self.row(" ".join(["`rsdump refresh", *options]) + "`" + over, command(self.rsdump), prepare)
        if not self.against or options:
            return [row]
        return [row, self.row(f"the other commit's{over}", command(self.against), prepare, after=row)]

    def syncs(self, refreshed, over=""):
        def command(program):
            return lambda folder: [
                program.with_name("rsbench-app"), "sync", refreshed, folder, self.server.root, PACKAGED]
        row = self.row(f"`sync()`{over}", command(self.rsdump))
        if not self.against:
            return [row]
        return [row, self.row(f"the other commit's{over}", command(self.against), after=row)]

    def curls(self, urls):
        """curl knows all URLs at once, and asks for them in any order."""
        def row(name, urls, *options):
            config = self.scratch / f"curl-{abs(hash((name, *urls)))}"
            config.write_text("".join(f'url = "{url}"\noutput = "{number}"\n' for number, url in enumerate(urls)))
            return self.row(name, lambda folder: [
                "curl", "--silent", "--fail", "--parallel", *options, "--output-dir", folder, "--config", config])
        https = [url.replace(f"http://{links.FAR}:{self.nginx.port}/", f"https://{links.FAR}:{self.nginx.http2}/")
                 for url in urls]
        more = [row("`curl --parallel --parallel-max 32`", urls, "--parallel-max", "32")] if len(urls) > 1000 else []
        return [
            row("`curl --parallel --parallel-max 8`", urls, "--parallel-max", "8"),
            *more,
            row("the same over TLS", https, "--parallel-max", "8", "--http1.1"),
            row(CURL_HTTP2, https, "--parallel-max", "100", "--http2"),
        ]

    # Tables

    def table(self, title, rows, urls, runs, note, trips=True):
        measure(rows, runs, self.scratch)
        base, http2 = (
            next(row for row in rows if row.name == name) for name in ("`curl --parallel --parallel-max 8`", CURL_HTTP2))
        shortest = {row: min(run["wall"] for run in row.runs) for row in rows}
        lines = [
            f"### {title}", "", f"{len(urls)} requests, {runs} alternating runs. {note}".strip(), "",
            "| | wall ms, min / median / max | CPU ms, median | × curl, medians | × curl over HTTP/2, medians | least "
            "| round trips |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        longer = {row: self.longer(row, runs) for row in rows} if trips else {}
        for row in rows:
            counted = f"{(longer[row] - shortest[row]) / LONGER:.1f}" if row in longer else ""
            lines.append(
                f"| {row.name} | {spread([run['wall'] for run in row.runs], 1000, 0)} "
                f"| {row.median('cpu') * 1000:.0f} | {row.median('wall') / base.median('wall'):.2f} "
                f"| {row.median('wall') / http2.median('wall'):.2f} | {shortest[row] / shortest[http2]:.2f} | {counted} |")
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
        rows = [
            *self.refreshes(self.copy_of(self.configured_http2), over=HTTP2),
            *self.refreshes(self.copy_of(self.configured_http1), over=HTTP1),
            *self.refreshes(configured), *self.curls(self.cold_urls)]
        self.table("A cold refresh of all collections", rows, self.cold_urls, runs, "", trips=False)
        with self.changed, self.changed_http2:
            self.table(
                "A refresh with ten changes",
                [*self.refreshes(self.copy_of(self.behind_http2), over=HTTP2), *self.refreshes(self.copy_of(self.behind)),
                 *self.curls(self.changed_urls)],
                self.changed_urls, runs,
                "At least 6 round trips without TLS: a connection, the monitor, ten changesets by eight connections (2), "
                "attachments of 20 kB (2, as TCP begins with 14 kB). Over HTTP/2 one more for TLS 1.3, and one less, as one "
                "connection carries all ten. The origin is `rsdump serve`, behind nginx for HTTP/2; for curl nginx with the "
                "same answers.")
        self.table(
            "A refresh with nothing changed",
            [*self.refreshes(lambda folder: self.refreshed_http2, over=HTTP2),
             *self.refreshes(lambda folder: self.refreshed), *self.curls(self.unchanged_urls)],
            self.unchanged_urls, runs, "At least 2 round trips: a connection, the monitor; one more for TLS 1.3.")
        self.table(
            "An app's first sync of all collections, nothing packaged",
            [*self.syncs(self.refreshed_http2, over=HTTP2), *self.syncs(self.refreshed), *self.curls(self.first_urls)],
            self.first_urls, runs, "At least 7 round trips without TLS: a connection, the monitor, changesets by eight "
            "connections (4), a certificate chain; and what TCP's slow start adds, which is in curl's count too.")
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

    def __init__(self, benchmark, dumps, port, *options):
        self.command = [
            *benchmark.link.far, benchmark.rsdump, "serve", "--dumps", dumps, "--host", links.FAR, "--port", port,
            "--log-requests", *options]
        self.log = benchmark.scratch / f"serve-{port}-{len(options)}.log"

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
