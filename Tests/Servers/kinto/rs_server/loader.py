"""Loads dumps as Firefox ships them (BUCKET/COLLECTION.json, BUCKET/COLLECTION/RECORD-ID) into the storage."""
import hashlib
import json
import pathlib
import random

EVERYONE = {"read": ["system.Everyone"], "write": ["system.Everyone"]}


class Loader:
    def __init__(self, registry, attachments):
        self.registry, self.attachments = registry, pathlib.Path(attachments)

    def load(self, dumps, names=(), synthesize=None):
        """Loads the given collections, by default all, with their timestamps.

        An attachment whose bytes are next to the dump and match its record is published unchanged. With `synthesize`, any
        other attachment gets at most this number of reproducible bytes, and its record gets their hash and size.
        """
        dumps = pathlib.Path(dumps)
        names = list(names) or sorted(f"{p.parent.name}/{p.stem}" for p in dumps.glob("*/*.json"))
        return [self._load_one(dumps, name, synthesize) for name in names]

    def _load_one(self, dumps, name, synthesize):
        bucket, collection = name.split("/")
        dump = json.loads((dumps / bucket / f"{collection}.json").read_bytes())
        records = dump["data"]
        published = 0
        for record in records:
            if record.get("attachment"):
                published += self._publish(dumps / bucket / collection / record["id"], record, synthesize)
        self.create_bucket(bucket)
        storage = self.registry.storage
        storage.update("collection", f"/buckets/{bucket}", collection, {**dump.get("metadata", {}), "id": collection})
        storage.load_records(f"/buckets/{bucket}/collections/{collection}", records, dump["timestamp"])
        self.registry.signer.sign_collection(storage, bucket, collection)
        return {"collection": name, "timestamp": dump["timestamp"], "records": len(records), "attachments": published}

    def create_bucket(self, bucket):
        self.registry.storage.update("bucket", "", bucket, {"id": bucket})
        self.registry.permission.replace_object_permissions(f"/buckets/{bucket}", EVERYONE)

    def _publish(self, path, record, synthesize):
        attachment = record["attachment"]
        body = path.read_bytes() if path.is_file() else b""
        matches = len(body) == attachment["size"] and hashlib.sha256(body).hexdigest() == attachment["hash"]
        if not matches:
            if synthesize is None:
                return 0
            size = max(1, min(attachment["size"], synthesize))
            # Hexadecimal digits compress about as well as the certificates and images that they replace.
            body = random.Random(record["id"]).randbytes(size // 2 + 1).hex().encode()[:size]
            attachment.update(hash=hashlib.sha256(body).hexdigest(), size=size)
        target = self.attachments / attachment["location"]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(body)
        return 1
