"""The server with kinto-signer: changes in `main-workspace` are signed into `main-preview` when an editor requests a
review, and into `main` when a different user approves it.

kinto-signer copies and signs; its key and chain are the test server's. This module is its signing backend.
"""
from .client import PREVIEW, PUBLISHED, WORKSPACE
from .signing import Signer

SETTINGS = {
    "signer.resources": f"/buckets/{WORKSPACE} -> /buckets/{PREVIEW} -> /buckets/{PUBLISHED}",
    "signer.to_review_enabled": "true",
    "signer.group_check_enabled": "false",
    "signer.allow_floats": "true",
    "signer.signer_backend": "rs_server.review",
    "changes.resources": f"/buckets/{PUBLISHED} /buckets/{PREVIEW}",
    # Only kinto-signer signs.
    "rs_server.buckets": "",
}


class Backend:
    def __init__(self, settings):
        self.signer = Signer(settings["rs_server.pki"], settings["rs_server.x5u_base"])
        self.specification = {}    # see signing.py

    def sign(self, payload):
        return self.signer._signature(payload.encode(), PUBLISHED, self.specification)


def load_from_settings(settings, prefix="", *, prefixes=None):
    return Backend(settings)
