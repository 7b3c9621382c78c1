"""verify.py --data DIR [BUCKET/COLLECTION ...]

Checks the signatures of a running test server with autograph-utils, by default of every collection. `check` does the
same for bytes that were got otherwise, out of a bundle for example.
"""
import argparse
import asyncio
import pathlib

import canonicaljson
from autograph_utils import ExactMatch, MemoryCache, SignatureVerifier

from rs_server.client import Server
from rs_server.pki import ONECRL_SIGNER, SIGNER


class ChainSession:
    """Gives autograph-utils chains that are already here, where it expects an HTTP session."""

    def __init__(self, chain_of):
        self.chain_of = chain_of

    def get(self, url):
        return ChainAnswer(self.chain_of(url))


class ChainAnswer:
    def __init__(self, pem):
        self.pem = pem

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return None

    def raise_for_status(self):
        pass

    async def read(self):
        return self.pem


def check(payload, bucket, signature, x5u, chain_of, root):
    """True, or an exception of autograph-utils. `chain_of(url)` gives the PEM bytes; `root` is hex with or without colons."""
    name = ONECRL_SIGNER if bucket.startswith("security-state") else SIGNER
    verifier = SignatureVerifier(
        ChainSession(chain_of), MemoryCache(), bytes.fromhex(root.replace(":", "")), ExactMatch(name))
    return asyncio.run(verifier.verify(payload, signature, x5u))


def payload_of(changeset):
    """The signed bytes of a full changeset."""
    records = sorted((r for r in changeset["changes"] if not r.get("deleted")), key=lambda record: record["id"])
    return canonicaljson.dumps({"data": records, "last_modified": str(changeset["timestamp"])}).encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    server = Server(arguments.data, (arguments.data / "url").read_text().strip())
    names = arguments.names or [f"{c['bucket']}/{c['collection']}" for c in server.monitor()["changes"]]
    failed = 0
    for name in names:
        changeset = server.changeset(name)
        for each in changeset["metadata"]["signatures"]:
            try:
                check(payload_of(changeset), name.split("/")[0], each["signature"], each["x5u"],
                      lambda url: server.request("GET", url), server.root)
                print(f"{name}: valid, {len(changeset['changes'])} records at {changeset['timestamp']}")
            except Exception as problem:
                failed += 1
                print(f"{name}: {type(problem).__name__}: {problem}")
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
