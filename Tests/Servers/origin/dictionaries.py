"""Deltas of attachments (RFC 9842), created and served as by Mozilla's server.

`build` corresponds to its job (cronjobs/src/commands/build_compression_dictionaries.py): each record's newest attachment is
compressed with each of up to five earlier ones as a raw dictionary. `Edge` serves a crawled folder and maps a request with a
dictionary to the file for that pair.
"""
import hashlib
import itertools
import json
import urllib.parse

import zstandard

from endpoint import Loopback

MAGIC = bytes.fromhex("5e2a4d1820000000")
VERSIONS = 5


def delta(old, new):
    dictionary = zstandard.ZstdCompressionDict(old, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    compressor = zstandard.ZstdCompressor(dict_data=dictionary, level=3)
    return MAGIC + hashlib.sha256(old).digest() + compressor.compress(new)


def build(attachments, bucket, collection):
    """Reads files named `{datetime}--{record id}--{file name}` below attachments/bucket/collection; writes attachments/cdt/…."""
    target = attachments / "cdt" / bucket / collection
    names = sorted(path.name for path in (attachments / bucket / collection).iterdir() if path.name.count("--") >= 2)
    target.mkdir(parents=True, exist_ok=True)
    manifest = {}

    def record(name):
        return name.split("--")[1]

    for _, versions in itertools.groupby(sorted(names, key=record), record):
        *older, newest = versions
        for old in older[-VERSIONS:]:
            path = target / "compressed" / f"target-{newest}" / "dcz" / f"from-{old}.dcz"
            path.parent.mkdir(parents=True, exist_ok=True)
            before, after = ((attachments / bucket / collection / name).read_bytes() for name in (old, newest))
            path.write_bytes(delta(before, after))
            manifest.setdefault(newest, []).append(old)
    (target / "manifest.json").write_text(json.dumps(manifest))


class Edge(Loopback):
    """`mangle` may change (status, headers, body) of a response with a delta."""

    def __init__(self, files):
        self.files, self.log, self.mangle = files, [], None

    def __enter__(self):
        super().__enter__()
        self.url += "/v1"
        return self

    def answer(self, handler):
        url = urllib.parse.urlsplit(handler.path)
        status, headers, body = self.file(url, handler.headers)
        if headers.get("Content-Encoding") == "dcz" and self.mangle:
            status, headers, body = self.mangle(status, headers, body)
        self.log.append({"path": url.path, "bytes": len(body), "status": status, "headers": dict(handler.headers)})
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)
        if int(headers.get("Content-Length", len(body))) != len(body):
            handler.close_connection = True

    def file(self, url, headers):
        if url.path.endswith("/changeset"):
            if "_since=" in url.query:
                return 307, {"Location": f"{url.path}?_expected=0"}, b""
            path = self.files / (url.path[1:] + ".json")
        else:
            path = self.files / (url.path[1:] + ("index.json" if url.path.endswith("/") else ""))
        if not path.is_file():
            return 404, {}, b""
        old = headers.get("Dictionary-ID", "").strip('"')
        *_, bucket, collection, new = ["", "", *url.path.split("/")]
        pair = self.files / f"v1/attachments/cdt/{bucket}/{collection}/compressed/target-{new}/dcz/from-{old}.dcz"
        if "dcz" not in headers.get("Accept-Encoding", "") or not old or not pair.is_file():
            return 200, {}, path.read_bytes()
        return 200, {
            "Content-Encoding": "dcz", "Vary": "Accept-Encoding, Available-Dictionary",
            "Use-As-Dictionary": f'match="/{bucket}/{collection}/*", id="{new}", type=raw'}, pair.read_bytes()
