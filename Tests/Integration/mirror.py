"""A static mirror, published by `rsdump export --to mirror` and served by a real nginx."""
import hashlib

import requests

import nginx
import rsdump


class Mirror(nginx.Nginx):
    """An nginx that serves a mirror in its folder, by including the mirror's own nginx.conf."""

    MODULES = ""

    def __init__(self, folder):
        super().__init__(folder)
        self.origin = f"http://127.0.0.1:{self.port}"
        self.output = self.folder / "mirror"

    def publish(self, dumps, *names, history=(), url=None, options=(), **how):
        options = [*options, *(word for place in history for word in ("--history", place))]
        return rsdump.run(
            "export", "--to", "mirror", *names, "--dumps", dumps.path, "--url", url or self.origin, *options,
            "--output", self.output, "--format", "json", **how)

    def configuration(self, user):
        return (
            f"{self.MODULES}{user}\npid {self.folder}/nginx.pid;\nerror_log {self.folder}/error.log warn;\nworker_processes 1;\n"
            f"events {{ worker_connections 1024; }}\nhttp {{\n    access_log off;\n"
            + "".join(f"    {kind}_temp_path {self.folder}/tmp-{kind};\n"
                      for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            + f"    include {self.output}/nginx.conf;\n}}\n")

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
