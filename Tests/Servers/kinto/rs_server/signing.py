"""Signs a collection's records as Remote Settings does, immediately after every write.

Each collection has a list of signature specifications, by default one; tests set others:
    key      "leaf" (default) or "next"
    chain    a name in the PKI's `chains`; by default the one for the bucket and the key
    tampered true: the signature covers different bytes
    nochain  true: x5u is empty, as on a server that signs with a bare key
"""
import base64
import pathlib

import canonicaljson
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from kinto.core.events import ACTIONS, ResourceChanged

DEFAULT = [{}]


class Signer:
    def __init__(self, pki, x5u_base):
        self.x5u_base = x5u_base
        self.keys = {
            name: serialization.load_pem_private_key(pathlib.Path(pki, f"{name}.key.pem").read_bytes(), None)
            for name in ("leaf", "next")
        }
        self.specifications = {}    # collection URI: list of specifications
        self.known_timestamps = {}  # collection URI: every timestamp that was ever signed

    def sign_collection(self, storage, bucket, collection):
        """Signs the current records, and writes the signatures to the collection's metadata; the records do not change."""
        uri = f"/buckets/{bucket}/collections/{collection}"
        timestamp = storage.resource_timestamp("record", uri)
        records = sorted(storage.list_all("record", uri), key=lambda record: record["id"])
        payload = canonicaljson.dumps({"data": records, "last_modified": str(timestamp)}).encode()
        signatures = [self._signature(payload, bucket, each) for each in self.specifications.get(uri, DEFAULT)]
        metadata = storage.get("collection", f"/buckets/{bucket}", collection)
        for stale in ("last_modified", "signature", "signatures"):
            metadata.pop(stale, None)
        metadata.update(signature=signatures[0], signatures=signatures)
        storage.update("collection", f"/buckets/{bucket}", collection, metadata)
        self.known_timestamps.setdefault(uri, set()).add(timestamp)

    def _signature(self, payload, bucket, specification):
        name = specification.get("key", "leaf")
        usual = "next" if name == "next" else "onecrl" if bucket.startswith("security-state") else "chain"
        path = f"{specification.get('chain', usual)}.pem"
        message = b"Content-Signature:\x00" + payload + (b"!" if specification.get("tampered") else b"")
        r, s = utils.decode_dss_signature(self.keys[name].sign(message, ec.ECDSA(hashes.SHA384())))
        return {
            "signature": base64.urlsafe_b64encode(r.to_bytes(48, "big") + s.to_bytes(48, "big")).decode(),
            "mode": "p384ecdsa",
            "x5u": "" if specification.get("nochain") else self.x5u_base + path,
        }


def includeme(config):
    settings = config.get_settings()
    signer = Signer(settings["rs_server.pki"], settings["rs_server.x5u_base"])
    config.registry.signer = signer
    buckets = settings["rs_server.buckets"].split()

    def on_change(event):
        bucket = event.payload["bucket_id"]
        if bucket not in buckets:
            return
        storage = event.request.registry.storage
        changed = {event.payload.get("collection_id") or each["new"]["id"] for each in event.impacted_objects}
        for collection in changed:
            signer.sign_collection(storage, bucket, collection)

    config.add_subscriber(on_change, ResourceChanged, for_resources=("record",))
    config.add_subscriber(
        on_change, ResourceChanged, for_resources=("collection",), for_actions=(ACTIONS.CREATE, ACTIONS.UPDATE))
    config.add_static_view("chains", settings["rs_server.pki"] + "/chains", cache_max_age=0)
    config.add_static_view("attachments", settings["attachment.base_path"], cache_max_age=0)
