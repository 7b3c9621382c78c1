"""Copies the answers of a Remote Settings server into plain files, to serve them under a different address.

The unsigned addresses in them (`attachments.base_url`, `x5u`) are changed.
"""
import json
import pathlib
import shutil
import urllib.parse
import urllib.request


def fetch(url):
    with urllib.request.urlopen(url) as response:
        return response.read()


class Crawl:
    """
    server: its URL, with /v1; attachments: the folder of its attachments, which are linked if possible; target: the folder for
    the files; address: their new URL, with /v1.
    """

    def __init__(self, server, attachments, target, address):
        self.server, self.attachments, self.address = server, pathlib.Path(attachments), address
        self.target = pathlib.Path(target)
        self.chains = set()

    def run(self):
        """Copies everything. Returns the names of the collections found."""
        root = json.loads(fetch(self.server + "/"))
        root["capabilities"]["attachments"]["base_url"] = self.address + "/attachments/"
        root["url"] = self.address + "/"
        self._write("index.json", root)
        monitor = json.loads(fetch(self._changeset_url("monitor", "changes")))
        for change in monitor["changes"]:
            change["host"] = urllib.parse.urlsplit(self.address).netloc
            self._collection(change["bucket"], change["collection"])
        self._write("buckets/monitor/collections/changes/changeset.json", monitor)
        for url in sorted(self.chains):
            path = self.target / "chains" / url.rsplit("/", 1)[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(fetch(url))
        shutil.copytree(
            self.attachments, self.target / "attachments", copy_function=link_or_copy, dirs_exist_ok=True)
        return sorted(f"{change['bucket']}/{change['collection']}" for change in monitor["changes"])

    def _changeset_url(self, bucket, collection):
        return f"{self.server}/buckets/{bucket}/collections/{collection}/changeset?_expected=0"

    def _collection(self, bucket, collection):
        changeset = json.loads(fetch(self._changeset_url(bucket, collection)))
        metadata = changeset["metadata"]
        for signature in [*metadata.get("signatures", []), metadata["signature"]]:
            url = urllib.parse.urljoin(self.server + "/", signature["x5u"])
            self.chains.add(url)
            signature["x5u"] = f"{self.address}/chains/{url.rsplit('/', 1)[1]}"
        self._write(f"buckets/{bucket}/collections/{collection}/changeset.json", changeset)

    def _write(self, path, document):
        file = self.target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(document, separators=(",", ":")))


def link_or_copy(source, target):
    target = pathlib.Path(target)
    target.unlink(missing_ok=True)
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copy(source, target)
