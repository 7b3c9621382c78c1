"""Checks a signature with autograph-utils, over a server's response or the bytes in a bundle."""
import asyncio

import canonicaljson
from autograph_utils import ExactMatch, MemoryCache, SignatureVerifier

from rs_server.pki import ONECRL_SIGNER, SIGNER


class ChainSession:
    """Provides stored chains to autograph-utils, which expects an HTTP session."""

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
    """Returns True, or raises an exception of autograph-utils. `chain_of(url)` gives the PEM bytes; `root` is hex with or without colons."""
    name = ONECRL_SIGNER if bucket.startswith("security-state") else SIGNER
    verifier = SignatureVerifier(
        ChainSession(chain_of), MemoryCache(), bytes.fromhex(root.replace(":", "")), ExactMatch(name))
    return asyncio.run(verifier.verify(payload, signature, x5u))


def payload_of(changeset):
    """The signed bytes of a full changeset."""
    records = sorted((r for r in changeset["changes"] if not r.get("deleted")), key=lambda record: record["id"])
    return canonicaljson.dumps({"data": records, "last_modified": str(changeset["timestamp"])}).encode()
