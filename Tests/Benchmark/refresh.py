"""refresh.py [--runs N] [--tables refresh|runtime]: compares rsdump (from RSDUMP) with curl, with all real collections; then
measures the library (runtime.py), if rsbench-app is next to rsdump.

The origin is nginx with plain files on loopback, so that no server's own speed affects the result. curl only fetches the URLs that
rsdump requested.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SERVERS = HERE.parent / "Servers"
sys.path[:0] = [str(SERVERS / "kinto"), str(SERVERS / "origin")]

import origin
import runtime
from rs_server.client import Server
from table import Row, measure, render

REAL_COLLECTIONS = HERE.parents[1] / ".cache/real-collections"
SYNTHESIZED_BYTES = 20_000
RSDUMP = pathlib.Path(os.environ["RSDUMP"]).resolve()


class RefreshBenchmark:
    def __init__(self, nginx, server, names, scratch):
        self.nginx, self.root, self.scratch = nginx, server.root, scratch
        self.configured, self.refreshed = scratch / "configured", scratch / "refreshed"
        subprocess.run(
            [RSDUMP, "add", *names, "--dumps", self.configured, "--server", nginx.url, "--trust-root", server.root,
             "--attachments", "all"], check=True, stdout=subprocess.DEVNULL)
        shutil.copytree(self.configured, self.refreshed)
        self.cold_urls = self.urls_of_a_refresh()
        self.warm_urls = self.urls_of_a_refresh()

    def urls_of_a_refresh(self):
        position = self.nginx.log_position()
        subprocess.run(self.rsdump(self.refreshed), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        address = self.nginx.url.removesuffix("/v1")
        return [address + each["path"] for each in self.nginx.requests(position) if each["status"] == 200]

    def bytes_of(self, urls):
        sizes = {}
        for each in self.nginx.requests():
            sizes[each["path"]] = each["bytes"]
        address = self.nginx.url.removesuffix("/v1")
        return sum(sizes[url.removeprefix(address)] for url in urls)

    # Commands

    def rsdump(self, folder):
        return [RSDUMP, "refresh", "--dumps", folder]

    def curl(self, urls, connections):
        name = f"curl --parallel --parallel-max {connections}"
        config = self.scratch / f"curl-{len(urls)}-{connections}"
        config.write_text("".join(f'url = "{url}"\noutput = "{number}"\n' for number, url in enumerate(urls)))

        def command(folder):
            return ["curl", "--silent", "--fail", "--parallel", "--parallel-max", connections, "--output-dir", folder,
                    "--config", config]
        return Row(name, command)

    # Tables

    def cold(self, runs):
        curl = self.curl(self.cold_urls, 8)
        rows = [
            Row("rsdump refresh", self.rsdump, self.copy_of(self.configured)),
            curl,
            self.curl(self.cold_urls, 50),
        ]
        measure(rows, runs, self.scratch)
        megabytes = self.bytes_of(self.cold_urls) / 1e6
        return render(f"Refresh of everything: {len(self.cold_urls)} requests, {megabytes:.1f} MB", rows, curl.name)

    def unchanged(self, runs):
        curl = self.curl(self.warm_urls, 8)
        rows = [
            Row("rsdump refresh", self.rsdump, lambda folder: self.refreshed),
            curl,
        ]
        measure(rows, runs, self.scratch)
        return render(f"Refresh with nothing changed: {len(self.warm_urls)} request", rows, curl.name)

    def app_unchanged(self, runs):
        """An app's sync that finds everything up to date, in a new process."""
        def app(source, storage):
            lock = json.loads((self.refreshed / "dumps.lock.json").read_text())["collections"]
            server = next(iter(lock.values()))["server"]
            return [RSDUMP.with_name("rsbench-app"), source, self.refreshed, storage, self.root, server, *lock]
        storage = self.scratch / "synced"
        subprocess.run(app("sync", storage), check=True, stdout=subprocess.DEVNULL)
        curl = self.curl(self.warm_urls, 8)
        rows = [
            Row("sync()", lambda folder: app("unchanged", storage)),
            Row("an empty process", lambda folder: app("nothing", folder)), curl]
        measure(rows, runs, self.scratch)
        return render("An app's sync with nothing changed: 1 request", rows, curl.name)

    def copy_of(self, source):
        def prepare(folder):
            shutil.copytree(source, folder, dirs_exist_ok=True)
            return folder
        return prepare


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--tables", choices=["refresh", "runtime"], help="only these")
    arguments = parser.parse_args()
    runs, tables = arguments.runs, [arguments.tables] if arguments.tables else ["refresh", "runtime"]
    for number in signal.SIGTERM, signal.SIGHUP:
        # Stop servers and remove folders, as after an interrupt.
        signal.signal(number, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        has_app = RSDUMP.with_name("rsbench-app").exists()
        with Server.start(scratch / "server") as server:
            names = [each["collection"] for each in server.load(REAL_COLLECTIONS, synthesize=SYNTHESIZED_BYTES)]
            if "refresh" in tables:
                with origin.make(server, scratch / "origin") as nginx:
                    benchmark = RefreshBenchmark(nginx, server, names, scratch)
                    print(benchmark.cold(runs))
                    print(benchmark.unchanged(runs))
                    if has_app:
                        print(benchmark.app_unchanged(runs))
            if "runtime" in tables and has_app:
                runtime.run(RSDUMP, server, names, scratch, runs)


if __name__ == "__main__":
    main()
