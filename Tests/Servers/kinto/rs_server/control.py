"""Controls the test server: JSON over /__control__/… (never in the request log).

    PUT  faults       [rule, …]                                   see faults.py
    PUT  kinto        {eos, eos_url, eos_message}                 Kinto's own settings; omitted ones are reset
    POST load         {dumps, names, synthesize}                  see loader.py
    PUT  signing      {collection, signatures: […]}               see signing.py; signs again
    PUT  review       {specification}                          the signature of later publications; see review.py
    POST sign         {collections: […]}                          new signatures over the same data; all if empty
    POST zip          {collection, omit: […], corrupt: […]}       see attachments_zip.py
    POST forget       {collection}                                removes the tombstones and the older timestamps
    POST save|restore {name}                                      the whole state without files
"""
import json
import traceback

from . import attachments_zip
from .front import answer

KINTO_SETTINGS = ("eos", "eos_url", "eos_message")


class Control:
    def __init__(self, app, registry, faults, loader):
        self.app, self.registry, self.faults, self.loader = app, registry, faults, loader
        self.usual = {name: registry.settings.get(name) for name in KINTO_SETTINGS}
        self.saved = {}

    def __call__(self, environ, start_response):
        path = environ["PATH_INFO"]
        if not path.startswith("/__control__/"):
            return self.app(environ, start_response)
        body = json.loads(environ["wsgi.input"].read() or b"{}")
        action = getattr(self, "do_" + path.removeprefix("/__control__/"), None)
        try:
            status, result = ("200 OK", action(body)) if action else ("404 Not Found", f"no such control: {path}")
        except Exception:
            status, result = "500 Error", traceback.format_exc()
        content = json.dumps(result).encode()
        return answer(start_response, status, [("Content-Type", "application/json")], content)

    def do_faults(self, rules):
        self.faults.replace(rules)

    def do_kinto(self, settings):
        self.registry.settings.update({**self.usual, **{k: settings[k] for k in KINTO_SETTINGS if k in settings}})

    def do_load(self, body):
        return self.loader.load(body["dumps"], body.get("names", ()), body.get("synthesize"))

    def do_signing(self, body):
        bucket, collection = body["collection"].split("/")
        signer, uri = self.registry.signer, f"/buckets/{bucket}/collections/{collection}"
        signer.specifications[uri] = body.get("signatures", [{}])
        signer.sign_collection(self.registry.storage, bucket, collection)

    def do_review(self, specification):
        for backend in self.registry.signers.values():
            backend.specification = specification

    def do_sign(self, body):
        storage = self.registry.storage
        names = body.get("collections") or [
            f"{bucket['id']}/{each['id']}"
            for bucket in storage.list_all("bucket", "")
            for each in storage.list_all("collection", f"/buckets/{bucket['id']}")]
        for name in names:
            self.registry.signer.sign_collection(storage, *name.split("/"))
        return names

    def do_zip(self, body):
        return attachments_zip.build(
            self.registry.storage, self.loader.attachments, *body["collection"].split("/"),
            omit=body.get("omit", ()), corrupt=body.get("corrupt", ()))

    def do_forget(self, body):
        bucket, collection = body["collection"].split("/")
        uri, storage = f"/buckets/{bucket}/collections/{collection}", self.registry.storage
        storage._cemetery[uri]["record"] = {}
        self.registry.signer.known_timestamps[uri] = {storage.resource_timestamp("record", uri)}

    def do_save(self, body):
        signer, permission = self.registry.signer, self.registry.permission
        known = {uri: set(timestamps) for uri, timestamps in signer.known_timestamps.items()}
        self.saved[body["name"]] = (
            self.registry.storage.dump_state(), known, dict(signer.specifications), dict(permission._store))

    def do_restore(self, body):
        state, known, specifications, permissions = self.saved[body["name"]]
        signer = self.registry.signer
        self.registry.storage.load_state(state)
        signer.known_timestamps = {uri: set(timestamps) for uri, timestamps in known.items()}
        signer.specifications = dict(specifications)
        self.registry.permission._store = dict(permissions)
        self.do_faults([])
        self.do_kinto({})
