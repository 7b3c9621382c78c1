"""A static mirror, written by `rsdump export --to mirror` and served by a real nginx configured by Examples/nginx/mirror.conf."""
import hashlib
import re
import subprocess

import requests

import nginx
import rsdump
import toolchain
from event_stream import EventStream
from nginx_examples import ExampleNginx


class Mirror(ExampleNginx):
    """Without the update channel, whose section is marked in the example."""

    def __init__(self, folder):
        super().__init__(folder)
        self.output = self.folder / "mirror"

    def example(self):
        return re.sub(r"(?ms)^ *# >>> update channel.*?# <<<\n", "", self.with_channel(0))

    def with_channel(self, port):
        # Replace the example's port first, because this server's port may contain its digits.
        return self.adapted(
            "mirror.conf", ("127.0.0.1:8889", f"127.0.0.1:{port}"), ("listen 80;", f"listen 127.0.0.1:{self.port};"),
            ("/srv/mirror/", f"{self.output}/"))

    def publish(self, dumps, *names, history=(), url=None, options=(), **how):
        options = [*options, *(word for place in history for word in ("--history", place))]
        return rsdump.run(
            "export", "--to", "mirror", *names, "--dumps", dumps.path, "--url", url or self.origin, *options,
            "--output", self.output, "--format", "json", **how)

    def get(self, path, **options):
        return requests.get(self.origin + path, allow_redirects=False, timeout=30, **options)

    def changeset(self, name, version="v1", **query):
        bucket, collection = name.split("/")
        query = "&".join(f"_{key}={value}" for key, value in {"expected": 0, **query}.items())
        return self.get(f"/{version}/buckets/{bucket}/collections/{collection}/changeset?{query}")

    def tree(self):
        root = self.output / "current"
        return {
            path.relative_to(root).as_posix(): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
            for path in sorted(root.rglob("*")) if path.is_file()
        }


class UpdatesMirror(Mirror):
    """With the update channel, served by Debian's nchan."""

    MODULES = "load_module /usr/lib/nginx/modules/ngx_nchan_module.so;\n"

    def __init__(self, folder):
        super().__init__(folder)
        self.updates_port = nginx.free_port()
        self.publisher = f"http://127.0.0.1:{self.updates_port}/publish"

    def example(self):
        return self.with_channel(self.updates_port)

    def publish(self, dumps, *names, **how):
        outcome = super().publish(dumps, *names, **how)
        assert outcome.code == rsdump.DONE, str(outcome)
        return outcome

    def listen(self, version="v1", **headers):
        return EventStream(f"{self.origin}/{version}/updates", **headers)

    def places(self):
        return (self.folder / "places.log").read_text()

    def post(self, text, with_=()):
        """Returns the status that curl prints."""
        command = [toolchain.curl(), "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--max-time", "30"]
        posting = ["--data", text, "--header", "X-EventSource-Event: update", *with_, self.publisher]
        return int(subprocess.run([*command, *posting], capture_output=True, text=True, check=False).stdout)
