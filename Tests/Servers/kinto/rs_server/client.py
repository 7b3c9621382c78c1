"""Functions with which tests and scripts control a running server. Standard library only."""
import base64
import json
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid

SERVER = pathlib.Path(__file__).resolve().parent.parent / "server.py"
EDITOR, REVIEWER = "admin", "reviewer"
# The buckets of a server with --review.
WORKSPACE, PREVIEW, PUBLISHED = "main-workspace", "main-preview", "main"


class RequestFailed(Exception):
    """A request whose status was not 2xx."""


class Server:
    """A running test server with its data directory. `stop()` or the end of a `with` block stops it."""

    def __init__(self, data, url):
        self.data, self.url = pathlib.Path(data), url
        self.root = (self.data / "pki" / "root.sha256").read_text().strip()
        self.other_root = (self.data / "pki" / "otherroot.sha256").read_text().strip()
        self.log = self.data / "requests.jsonl"

    @classmethod
    def start(cls, data, port=0, review=False):
        command = [sys.executable, SERVER, "start", "--data", data, "--port", str(port), *(["--review"] if review else [])]
        return cls(data, subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())

    def stop(self):
        subprocess.run([sys.executable, SERVER, "stop", "--data", self.data], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def v2(self):
        """The server's v2 URL."""
        return self.url.removesuffix("/v1") + "/v2"

    # Requests

    def request(self, method, url, body=None, content_type="application/json", user=EDITOR):
        request = urllib.request.Request(url, data=body, method=method)
        request.add_header("Authorization", "Basic " + base64.b64encode(f"{user}:secret".encode()).decode())
        if body is not None:
            request.add_header("Content-Type", content_type)
        try:
            with urllib.request.urlopen(request) as response:
                return response.read()
        except urllib.error.HTTPError as failure:
            raise RequestFailed(f"{method} {url}: {failure.code} {failure.read().decode()}") from failure

    def send(self, method, path, value=None, user=EDITOR):
        body = None if value is None else json.dumps(value).encode()
        return json.loads(self.request(method, self.url + path, body, user=user) or b"null")

    def control(self, method, action, value):
        url = f"{self.url.removesuffix('/v1')}/__control__/{action}"
        return json.loads(self.request(method, url, json.dumps(value).encode()))

    # Data

    def load(self, dumps, names=(), synthesize=None):
        return self.control("POST", "load", {"dumps": str(dumps), "names": list(names), "synthesize": synthesize})

    def collection_path(self, name):
        bucket, collection = name.split("/")
        return f"/buckets/{bucket}/collections/{collection}"

    def put_collection(self, name, metadata=None):
        bucket = name.split("/")[0]
        everyone = ["system.Everyone"]
        self.send("PUT", f"/buckets/{bucket}", {"permissions": {"read": everyone, "write": everyone}})
        return self.send("PUT", self.collection_path(name), {"data": metadata or {}})["data"]

    def patch_metadata(self, name, metadata):
        return self.send("PATCH", self.collection_path(name), {"data": metadata})["data"]

    def delete_collection(self, name):
        return self.send("DELETE", self.collection_path(name))

    def put_record(self, name, record):
        return self.send("PUT", f"{self.collection_path(name)}/records/{record['id']}", {"data": record})["data"]

    def patch_record(self, name, identifier, fields):
        return self.send("PATCH", f"{self.collection_path(name)}/records/{identifier}", {"data": fields})["data"]

    def delete_record(self, name, identifier):
        return self.send("DELETE", f"{self.collection_path(name)}/records/{identifier}")["data"]

    def put_attachment(self, name, identifier, filename, content, mimetype="application/octet-stream"):
        """Uploads through kinto-attachment, which writes the record's `attachment`; creates the record if necessary."""
        boundary = uuid.uuid4().hex
        head = (
            f"--{boundary}\r\nContent-Disposition: form-data; name=\"attachment\"; filename=\"{filename}\"\r\n"
            f"Content-Type: {mimetype}\r\n\r\n")
        body = head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
        url = f"{self.url}{self.collection_path(name)}/records/{identifier}/attachment"
        return json.loads(self.request("POST", url, body, f"multipart/form-data; boundary={boundary}"))

    def remove_attachment(self, name, identifier):
        """Deletes through kinto-attachment, which leaves `"attachment": null` in the record."""
        self.request("DELETE", f"{self.url}{self.collection_path(name)}/records/{identifier}/attachment")

    def changeset(self, name):
        return self.send("GET", f"{self.collection_path(name)}/changeset?_expected=0")

    def monitor(self):
        return self.changeset("monitor/changes")

    # Behavior

    def faults(self, *rules):
        self.control("PUT", "faults", list(rules))

    def kinto(self, **settings):
        self.control("PUT", "kinto", settings)

    def signing(self, name, *signatures):
        self.control("PUT", "signing", {"collection": name, "signatures": list(signatures)})

    def sign_again(self, *names):
        return self.control("POST", "sign", {"collections": names})

    # For a server with --review

    def set_status(self, name, status, user=EDITOR):
        """Requests a status as an editor or a reviewer does: to-review, to-sign, work-in-progress, to-rollback, to-resign."""
        return self.send("PATCH", self.collection_path(name), {"data": {"status": status}}, user=user)

    def publish(self, name):
        """Requests a review as one user, and approves it as a different one."""
        self.set_status(name, "to-review")
        self.set_status(name, "to-sign", user=REVIEWER)

    def publish_with(self, **specification):
        """Sets how later signatures are made: see signing.py."""
        self.control("PUT", "review", specification)

    def build_zip(self, name, omit=(), corrupt=()):
        return self.control("POST", "zip", {"collection": name, "omit": list(omit), "corrupt": list(corrupt)})

    def forget(self, name):
        self.control("POST", "forget", {"collection": name})

    def save(self, name):
        self.control("POST", "save", {"name": name})

    def restore(self, name):
        self.control("POST", "restore", {"name": name})

    # The request log

    def log_position(self):
        return time.time()

    def wait_for_ended_clients(self):
        """Waits until the server has closed the connections of all exited processes, whose last requests may not have begun."""
        place, close_wait = f":{int(self.url.split(':')[2].split('/')[0]):04X}", "08"
        while any(each[1].endswith(place) and each[3] == close_wait for each in map(str.split, open("/proc/net/tcp"))):
            time.sleep(0.01)

    def requests(self, since=0):
        """The requests that began after a `log_position()`. A request is logged when its response is complete; for a client that
        has exited, this may be during a later test."""
        with open(self.log, "rb") as log:
            return [entry for entry in map(json.loads, log) if entry["time"] >= since]
