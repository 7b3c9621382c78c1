"""plain_client.py SERVER ROOT FOLDER: what a careful script does without rsdump, with kinto-http and zipfile.

Every collection that the monitor announces with another timestamp than FOLDER/state.json has is fetched, its signature
checked, its attachments fetched eight at a time and checked, and all of it written as one zip.
"""
import concurrent.futures
import hashlib
import json
import pathlib
import sys
import zipfile

import kinto_http
import requests

JOBS = 8
SERVERS = pathlib.Path(__file__).resolve().parent.parent / "Servers"


class PlainClient:
    def __init__(self, server, root, folder):
        self.client, self.root, self.folder = kinto_http.Client(server_url=server), root, folder
        self.session = requests.Session()
        self.session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=JOBS))
        self.chains = {}
        self.base_url = None

    def refresh(self):
        state_file = self.folder / "state.json"
        state = json.loads(state_file.read_bytes()) if state_file.exists() else {}
        monitor = self.client.get_changeset(bucket="monitor", collection="changes")
        changed = [c for c in monitor["changes"] if state.get(f"{c['bucket']}/{c['collection']}") != c["last_modified"]]
        if not changed:
            return
        self.base_url = self.client.server_info()["capabilities"]["attachments"]["base_url"]
        for change in changed:
            self.pack(change["bucket"], change["collection"], change["last_modified"])
            state[f"{change['bucket']}/{change['collection']}"] = change["last_modified"]
        state_file.write_text(json.dumps(state))

    def pack(self, bucket, collection, timestamp):
        changeset = self.client.get_changeset(bucket=bucket, collection=collection, _expected=timestamp)
        payload, chain = self.verify(bucket, changeset)
        attachments = {r["attachment"]["hash"]: r["attachment"] for r in changeset["changes"] if r.get("attachment")}
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            contents = list(pool.map(self.fetch, attachments.values()))
        target = self.folder / bucket / f"{collection}.zip"
        target.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            archive.writestr("records.json", payload)
            archive.writestr("metadata.json", json.dumps(changeset["metadata"]))
            archive.writestr("chain.pem", chain)
            for digest, content in zip(attachments, contents):
                archive.writestr(f"attachments/{digest}", content)

    def verify(self, bucket, changeset):
        # Only here, because a run that finds no change does not need them, and they take long to import.
        sys.path.insert(0, str(SERVERS / "kinto"))
        from verify import check, payload_of

        payload, signature = payload_of(changeset), changeset["metadata"]["signatures"][0]
        if signature["x5u"] not in self.chains:
            self.chains[signature["x5u"]] = self.session.get(signature["x5u"], timeout=30).content
        chain = self.chains[signature["x5u"]]
        check(payload, bucket, signature["signature"], signature["x5u"], lambda url: chain, self.root)
        return payload, chain

    def fetch(self, attachment):
        content = self.session.get(self.base_url + attachment["location"], timeout=30).content
        if len(content) != attachment["size"] or hashlib.sha256(content).hexdigest() != attachment["hash"]:
            raise ValueError(f"{attachment['location']} is not what its record says")
        return content


if __name__ == "__main__":
    PlainClient(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])).refresh()
