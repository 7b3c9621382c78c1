"""A dump with one large attachment of reproducible pseudo-random bytes for a test server."""
import hashlib
import json
import pathlib
import random

CHUNK = 1 << 20
NAME = "main/large-file"


def write(folder, size, seed=1):
    """Writes the dump of main/large-file, with the attachment next to it for the loader; returns the attachment's hash."""
    folder = pathlib.Path(folder) / "main"
    (folder / "large-file").mkdir(parents=True, exist_ok=True)
    digest, source, left = hashlib.sha256(), random.Random(seed), size
    with open(folder / "large-file" / "film", "wb") as file:
        while left:
            chunk = source.randbytes(min(CHUNK, left))
            digest.update(chunk)
            file.write(chunk)
            left -= len(chunk)
    attachment = {
        "filename": "film.bin", "hash": digest.hexdigest(), "location": "main-workspace/large-file/film.bin",
        "mimetype": "application/octet-stream", "size": size,
    }
    record = {"id": "film", "last_modified": 1760000000001, "title": "A film", "attachment": attachment}
    (folder / "large-file.json").write_text(json.dumps({"timestamp": 1760000000001, "data": [record]}))
    return attachment["hash"]
