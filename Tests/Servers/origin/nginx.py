"""A private nginx that serves a crawled folder on loopback: ranges, keep-alive, no compression.

All its files are in one folder: nginx.conf, error.log, access.jsonl (a line of JSON for every request), files/.
"""
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import time

CONFIGURATION = """\
{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
worker_processes 1;
events {{ worker_connections 1024; }}
http {{
    log_format jsonl escape=json '{{"method":"$request_method","path":"$request_uri","status":$status,'
        '"bytes":$body_bytes_sent,"range":"$http_range"}}';
    access_log {folder}/access.jsonl jsonl;
    client_body_temp_path {folder}/tmp-body;
    proxy_temp_path {folder}/tmp-proxy;
    fastcgi_temp_path {folder}/tmp-fastcgi;
    uwsgi_temp_path {folder}/tmp-uwsgi;
    scgi_temp_path {folder}/tmp-scgi;
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush on;
    keepalive_timeout 60;
    keepalive_requests 1000000;
    gzip off;
    server {{
        listen {host}:{port};
        {files}
    }}
}}
"""

FILES = """\
root {folder}/files;
        location = /v1/ {{ default_type application/json; try_files /v1/index.json =404; }}
        location ~ /changeset$ {{
            # Plain files have no deltas: as for an unknown _since, the answer redirects to the whole collection.
            if ($arg__since) {{ return 307 $scheme://$http_host$uri?_expected=$arg__expected; }}
            default_type application/json;
            try_files $uri.json =404;
        }}
        location / {{ try_files $uri =404; }}
"""

def free_port():
    """Returns an unused port, below those that the system uses for outgoing connections."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


class Nginx:
    """Runs during a `with` block."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.port = free_port()
        self.host = "127.0.0.1"
        self.files = self.folder / "files"
        self.url = f"http://{self.host}:{self.port}/v1"
        self.log = self.folder / "access.jsonl"
        self.process = None

    def __enter__(self):
        self.files.mkdir(parents=True, exist_ok=True)
        binary = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        if binary is None:
            raise FileNotFoundError("there is no nginx: run scripts/setup")
        # As root, nginx would use a different user, who may not read this folder.
        user = "user root;" if os.getuid() == 0 else ""
        configuration, pid = self.folder / "nginx.conf", self.folder / "nginx.pid"
        configuration.write_text(self.configuration(user))
        self.process = subprocess.Popen(
            [binary, "-p", self.folder, "-e", self.folder / "error.log", "-c", configuration, "-g", "daemon off;"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        for _ in range(500):
            if self.process.poll() is not None:
                raise RuntimeError(f"nginx did not start:\n{(self.folder / 'error.log').read_text()}")
            # nginx writes this file when the port is open.
            if pid.exists() and pid.read_text():
                return self
            time.sleep(0.01)
        self.__exit__()
        raise RuntimeError(f"nginx did not answer on port {self.port}")

    def configuration(self, user):
        files = FILES.format(folder=self.folder)
        return CONFIGURATION.format(user=user, folder=self.folder, port=self.port, host=self.host, files=files)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def log_position(self):
        return self.log.stat().st_size if self.log.exists() else 0

    def requests(self, since=0):
        """The requests logged after a `log_position()`; each is logged when it is complete."""
        with open(self.log, "rb") as log:
            log.seek(since)
            return [json.loads(line) for line in log.read().splitlines()]
