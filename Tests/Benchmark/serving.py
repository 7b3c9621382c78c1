"""Measures rsdump serve with wrk on loopback, compared with nginx serving the same bytes and with the Kinto test server.

    serving.py [--seconds N]

The server, the load generator and other programs share this machine's cores: compare rows, not machines.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("Integration", "Servers/kinto", "Servers/origin"):
    sys.path.insert(0, str(HERE.parent / folder))

import large
import nginx
import rsdump
from dumps import Dumps
from rs_server.client import Server
from serve import Serving

REAL = HERE.parents[1] / ".cache/real-collections"
CONNECTIONS = 32
CONFIGURATION = """\
{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
worker_processes auto;
events {{ worker_connections 20000; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000;
    client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    open_file_cache max=1000;
    server {{
        listen 127.0.0.1:{port};
        root {folder}/files;
        default_type application/json;
        gzip_static on;
    }}
}}
"""


def wrk(url, seconds, gzip=False):
    """Returns requests per second and latencies (median, 99th percentile, maximum) as printed by wrk."""
    # wrk's default timeout is 2 s, but under this load Kinto needs that long for large responses.
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "--timeout", "30s"]
    if gzip:
        command += ["-H", "Accept-Encoding: gzip"]
    text = subprocess.run([*command, url], check=True, capture_output=True, text=True).stdout
    assert "Non-2xx" not in text and "Socket errors" not in text, text
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])
    return rate, *(re.search(pattern, text)[1] for pattern in (r"\n +50% +(\S+)", r"\n +99% +(\S+)")), re.search(
        r"Latency\s+\S+\s+\S+\s+(\S+)", text)[1]


def static_files(folder, serving, paths):
    """Writes the server's responses as files, with a gzip copy if the server offers one."""
    for name, (path, gzip) in paths.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(serving.ask(path).body)
        if gzip:
            (folder / f"{name}.gz").write_bytes(serving.ask(path, Accept_Encoding="gzip").body)


class StaticNginx(nginx.Nginx):
    def configuration(self, user):
        return CONFIGURATION.format(user=user, folder=self.folder, port=self.port)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Server.start(pathlib.Path(folder) / "kinto") as kinto:
        folder = pathlib.Path(folder)
        names = ["security-state/intermediates", large.NAME]
        kinto.load(REAL, names[:1], synthesize=20_000)
        large.write(folder / "large", 1 << 20)
        kinto.load(folder / "large")
        dumps = Dumps(folder / "dumps")
        for outcome in dumps.add(kinto, *names), dumps.refresh():
            assert outcome.code == rsdump.DONE, str(outcome)
        small = next(
            r["attachment"]["location"] for r in dumps.bundle(names[0]).records
            if 1800 <= r["attachment"]["size"] <= 2200)
        big = dumps.bundle(large.NAME).records[0]["attachment"]["location"]
        changeset = "/v1/buckets/security-state/collections/intermediates/changeset?_expected=0"
        paths = {
            "monitor": ("/v1/buckets/monitor/collections/changes/changeset?_expected=0", False),
            "changeset": (changeset, True), "small": (f"/attachments/{small}", False), "big": (f"/attachments/{big}", False),
        }
        with Serving("--dumps", dumps.path) as serving, StaticNginx(folder / "nginx") as static:
            static_files(static.files, serving, paths)
            report(arguments, serving, static.url.removesuffix("/v1"), kinto, paths)


def report(arguments, serving, url, kinto, paths):
    print("| | rsdump serve, requests/s | p50 | p99 | most | nginx | p50 | p99 | rsdump/nginx | Kinto |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    rows = [("monitor", False), ("changeset", False), ("changeset", True), ("small", False), ("big", False)]
    for name, gzip in rows:
        path, _ = paths[name]
        size = len(serving.ask(path, **({"Accept_Encoding": "gzip"} if gzip else {})).body)
        ours = wrk(serving.url + path, arguments.seconds, gzip)
        theirs = wrk(f"{url}/{name}", arguments.seconds, gzip)
        path = path if path.startswith("/v1") else f"/v1{path}"
        slow = wrk(kinto.url.removesuffix("/v1") + path, arguments.seconds, gzip)[0]
        print(f"| {name}, {size:,} bytes{' of gzip' if gzip else ''} | {ours[0]:,.0f} | {ours[1]} | {ours[2]} | {ours[3]} "
              f"| {theirs[0]:,.0f} | {theirs[1]} | {theirs[2]} | {ours[0] / theirs[0]:.2f} | {slow:,.1f} |", flush=True)
    print(f"\nResident after this: {serving.memory():.1f} MiB, at most {serving.memory('VmHWM'):.1f} MiB.", flush=True)


if __name__ == "__main__":
    main()
