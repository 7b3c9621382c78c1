"""A real object store: SeaweedFS with its S3 interface, one bucket prefix per test, and clients for it."""
import json
import os
import pathlib
import random
import socket
import subprocess
import sysconfig
import time

import requests

PROGRAMS = pathlib.Path(sysconfig.get_path("scripts"))
KEY, SECRET = "upload-key", "upload-secret"


def free_pair():
    """Finds a free port whose counterpart 10,000 higher is free too; the store's parts use it to talk to each other."""
    while True:
        port = random.randrange(20000, 22700)
        with socket.socket() as first, socket.socket() as second:
            try:
                first.bind(("127.0.0.1", port))
                second.bind(("127.0.0.1", port + 10000))
                return port
            except OSError:
                continue


class Store:
    """Runs inside a `with` block. Anyone may read; writing needs the key."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        identities = [
            {"name": "uploader", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": ["Admin"]},
            {"name": "anonymous", "actions": ["Read"]},
        ]
        (self.folder / "s3.json").write_text(json.dumps({"identities": identities}))
        self.output = open(self.folder / "log", "wb")
        # Another program may use a port after we checked that it was free.
        for _ in range(4):
            if self.start():
                return self
        raise AssertionError((self.folder / "log").read_text()[-3000:])

    def start(self):
        """Returns whether the store is running: false if it exited, for example because a port was in use."""
        self.port, master, volume, filer = (free_pair() for _ in range(4))
        self.url = f"http://127.0.0.1:{self.port}"
        data = self.folder / f"data-{self.port}"
        data.mkdir()
        self.process = subprocess.Popen(
            [PROGRAMS / "weed", "server", f"-dir={data}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
             f"-master.port={master}", f"-volume.port={volume}", "-filer", f"-filer.port={filer}", "-s3",
             f"-s3.port={self.port}", f"-s3.config={self.folder / 's3.json'}", "-volume.max=50",
             "-master.volumeSizeLimitMB=64", "-master.telemetry=false", "-s3.port.iceberg=0", "-s3.port.lance=0"],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output)
        for _ in range(600):
            if self.process.poll() is not None:
                return False
            try:
                requests.get(f"{self.url}/", timeout=5)
                return True
            except requests.ConnectionError:
                time.sleep(0.05)
        self.process.kill()
        return False

    def __exit__(self, *_):
        # A graceful shutdown would wait half a minute for other cluster members.
        self.process.kill()
        self.process.wait(30)
        self.output.close()

    def bucket(self, prefix):
        """A separate prefix in the only bucket, because creating a new bucket takes seconds."""
        bucket = Bucket(self, prefix)
        # The store answers before it can store objects.
        for _ in range(100):
            if bucket.rclone("mkdir", "store:settings", check=False).returncode == 0:
                return bucket
            time.sleep(0.1)
        raise AssertionError("the store made no bucket within 10 s")


class Bucket:
    """`url` is the address of a proxy in front of the store."""

    def __init__(self, store, prefix, url=None):
        self.store, self.prefix = store, prefix
        self.endpoint = url or store.url
        self.url = f"{store.url}/settings/{prefix}"
        self.at_rclone, self.at_aws = f"store:settings/{prefix}", f"s3://settings/{prefix}"

    @property
    def environment(self):
        """The credentials and endpoint for the clients."""
        # Without this machine's certificate bundle: plain HTTP does not need it, and old versions of rclone fail on it.
        return {
            "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
            "RCLONE_CONFIG": "/dev/null", "RCLONE_CONFIG_STORE_TYPE": "s3", "RCLONE_CONFIG_STORE_PROVIDER": "Other",
            "RCLONE_CONFIG_STORE_ACCESS_KEY_ID": KEY, "RCLONE_CONFIG_STORE_SECRET_ACCESS_KEY": SECRET,
            "RCLONE_CONFIG_STORE_ENDPOINT": self.endpoint,
            "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_CONFIG_FILE": "/dev/null",
        }

    def rclone(self, *arguments, check=True, **options):
        return subprocess.run(
            [PROGRAMS / "rclone", *arguments], env={**os.environ, **self.environment}, capture_output=True, text=True,
            check=check, timeout=60, **({"stdin": subprocess.DEVNULL} | options if "input" not in options else options))

    def keys(self):
        listed = self.rclone("lsf", "--recursive", "--files-only", self.at_rclone).stdout
        return sorted(listed.splitlines())

    def put(self, key, content):
        self.rclone("rcat", f"{self.at_rclone}/{key}", input=content)

    def get(self, key, **options):
        return requests.get(f"{self.url}/{key}", timeout=30, **options)
