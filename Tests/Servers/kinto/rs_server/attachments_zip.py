"""The server's zip of a collection's current attachments; it becomes outdated when the collection changes."""
import json
import pathlib
import zipfile


def build(storage, attachments, bucket, collection, omit=(), corrupt=()):
    """Writes `bundles/BUCKET--COLLECTION.zip` without the records in `omit`, and with wrong bytes for those in `corrupt`."""
    attachments = pathlib.Path(attachments)
    target = attachments / "bundles" / f"{bucket}--{collection}.zip"
    target.parent.mkdir(exist_ok=True)
    records = storage.list_all("record", f"/buckets/{bucket}/collections/{collection}")
    records = [r for r in records if r.get("attachment") and r["id"] not in omit]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for record in records:
            archive.writestr(f"{record['id']}.meta.json", json.dumps(record))
        for record in records:
            body = (attachments / record["attachment"]["location"]).read_bytes()
            if record["id"] in corrupt:
                body = bytes([body[0] ^ 1]) + body[1:]
            archive.writestr(record["id"], body)
    return {"path": str(target), "size": target.stat().st_size, "attachments": len(records)}
