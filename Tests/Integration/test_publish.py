"""Publishing sources from git as signed bundles, which all clients can read. commands/publish.txt, keys.txt, sources.txt and
templates.txt cover the output of the commands."""
import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import time

import kinto_http
import pytest

import rsdump
from dumps import Bundle, Dumps
from serve import Serving
from verify import check, payload_of

ROUNDS = int(os.environ.get("PUBLISH_KILL_ROUNDS", "6"))
SEED = os.environ.get("KILL_SEED") or secrets.token_hex(4)
SETTINGS = """
id-from: key
records:
  - {key: sync-interval, value: 24}
  - {key: greeting, value: "Grüße, 世界", weight: 1.50}
  - {key: dark-mode, value: system, filter_expression: "env.locale == 'de'"}
"""
CONFIG = """
conditions:
  beta: env.channel == 'beta'
parameters:
  interval: 24
  welcome: {value: Hi, when: {beta: Hello}}
"""


class Team:
    """A repository of sources with its keys and dumps."""

    def __init__(self, path):
        self.path = path
        self.dumps = Dumps(path / "dumps")
        self.write("main/settings.yaml", SETTINGS)
        self.write("main/app-config.yaml", CONFIG)
        self.write("main/icons/collection.yaml", "metadata: {attachment: {enabled: true, required: false, bundle: true}}")
        self.write("main/icons/a.json", '{"attachment": "files/a.svg"}')
        self.write("main/icons/files/a.svg", "<svg/>")

    def write(self, name, text):
        file = self.path / "sources" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def run(self, *arguments, **options):
        return rsdump.run(*arguments, cwd=self.path, **options)

    def keys(self, *arguments):
        return self.run("keys", *arguments)

    def publish(self, *arguments, **options):
        return self.run("publish", *arguments, **options)

    @property
    def root(self):
        return self.keys("status", "keys", "--format", "json").json()["root"]

    def copy(self, path):
        shutil.copytree(self.path, path, symlinks=True)
        team = Team.__new__(Team)
        team.path, team.dumps = path, Dumps(path / "dumps")
        return team

    def bundle(self, name):
        return Bundle(self.path / "dumps" / f"{name}.zip")


@pytest.fixture(scope="module")
def published_team(tmp_path_factory):
    team = Team(tmp_path_factory.mktemp("team") / "repository")
    made = team.keys("create", "keys")
    assert made.code == rsdump.DONE, str(made)
    outcome = team.publish()
    assert outcome.code == rsdump.DONE, str(outcome)
    return team


@pytest.fixture
def team(published_team, tmp_path):
    return published_team.copy(tmp_path / "repository")


def test_autograph_utils_accepts_every_signature(team):
    for name in ("main/settings", "main/app-config", "main/icons"):
        bundle = team.bundle(name)
        for signature in bundle.signatures:
            assert check(
                bundle.payload, "main", signature["signature"], "http://x/chain.pem", lambda url: bundle.chain, team.root)


def test_publish_overlap_verifies_with_either_root(team):
    """One list of signatures serves both apps that pin the old root and apps that pin the new one."""
    assert team.keys("create", "new-keys").code == rsdump.DONE
    team.write("main/settings.yaml", SETTINGS.replace("24", "25"))
    outcome = team.publish("--overlap-keys", "new-keys")
    assert outcome.code == rsdump.DONE, str(outcome)
    new_root = team.keys("status", "new-keys", "--format", "json").json()["root"]
    new_chain = (team.path / "new-keys/chain.pem").read_bytes()
    with Serving("--dumps", team.dumps.path) as serving:
        served = kinto_http.Client(server_url=f"{serving.url}/v1").get_changeset("main", "settings", bust_cache=True)
        first, second = served["metadata"]["signatures"]
        # The bundle contains both chains, so the origin serves both.
        assert first["x5u"].startswith(serving.url) and second["x5u"].startswith(serving.url)
        old_chain = serving.ask(first["x5u"].removeprefix(serving.url)).body
        assert serving.ask(second["x5u"].removeprefix(serving.url)).body == new_chain
    payload = payload_of(served)
    assert check(payload, "main", first["signature"], first["x5u"], lambda _: old_chain, team.root)
    assert check(payload, "main", second["signature"], second["x5u"], lambda _: new_chain, new_root)
    with pytest.raises(Exception):
        check(payload, "main", second["signature"], second["x5u"], lambda _: new_chain, team.root)
    assert team.dumps.verify().code == rsdump.DONE


def test_a_server_of_the_same_data_gives_the_same_records(team, sample_server, tmp_path):
    """The published records are put into Kinto, and refreshed from there."""
    # Kinto gives each record of a collection a different time.
    for number, end in enumerate([2, 3, 4]):
        team.write("main/own.yaml", "\n".join(SETTINGS.strip().splitlines()[:end + 1]))
        outcome = team.publish("main/own")
        assert outcome.code == rsdump.DONE, str(outcome)
    bundle = team.bundle("main/own")
    name = f"main/published-{secrets.token_hex(3)}"
    sample_server.put_collection(name)
    for record in sorted(bundle.records, key=lambda record: record["last_modified"]):
        sample_server.put_record(name, record)
    dumps = Dumps(tmp_path / "dumps")
    assert dumps.add(sample_server, name).code == rsdump.DONE
    outcome = dumps.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    other = dumps.bundle(name).payload
    assert dumps.bundle(name).timestamp == bundle.timestamp
    assert other == bundle.payload


def test_killed_publish_keeps_valid_dumps(team, tmp_path):
    chance = random.Random(SEED)
    team.write("main/settings.yaml", SETTINGS.replace("24", "25"))
    team.write("main/icons/files/b.svg", "<svg>b</svg>")
    team.write("main/icons/b.json", '{"attachment": "files/b.svg"}')
    many = json.dumps({"records": [{"id": f"r{n}", "n": n} for n in range(500)]})
    team.write("main/many.json", many)
    began = time.monotonic()
    assert team.copy(tmp_path / "timed").publish().code == rsdump.DONE
    seconds = time.monotonic() - began
    for number in range(ROUNDS):
        where = f"round {number} of KILL_SEED={SEED} PUBLISH_KILL_ROUNDS={ROUNDS}"
        work = team.copy(tmp_path / f"round-{number}")
        before = {name: work.bundle(name).payload for name in work.dumps.lock["collections"]}
        process = rsdump.start("publish", cwd=work.path)
        time.sleep(chance.uniform(0, seconds))
        process.send_signal(signal.SIGKILL)
        process.wait()
        between = {
            file.stem: Bundle(file) for file in (work.path / "dumps/main").glob("*.zip")}
        with Serving("--dumps", work.dumps.path) if number % 20 == 0 else nothing():
            pass
        outcome = work.publish()
        assert outcome.code == rsdump.DONE, f"{where}: {outcome}"
        verified = work.dumps.verify("--locked")
        assert verified.code == rsdump.DONE, f"{where}: {verified}"
        assert not (work.path / "dumps/.rsdump").exists(), where
        for name, bundle in between.items():
            after = work.bundle(f"main/{name}")
            assert bundle.payload == before.get(f"main/{name}", bundle.payload) or bundle.payload == after.payload, where
            # A timestamp that a client may have seen never gets different records.
            if bundle.timestamp == after.timestamp:
                assert bundle.payload == after.payload, where
        shutil.rmtree(work.path)


class nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root writes everywhere")
def test_publish_into_read_only_directory_is_refused(team):
    team.write("main/settings.yaml", SETTINGS.replace("24", "25"))
    before = team.dumps.files()
    for folder in [team.path, *team.path.rglob("*")]:
        os.chown(folder, 65534, 65534)
    for parent in team.path.parents:
        if str(parent) == "/tmp":
            break
        parent.chmod(0o755)
    folders = [team.dumps.path, *(f for f in team.dumps.path.rglob("*") if f.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    finished = subprocess.run(
        ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", rsdump.BINARY, "publish"], cwd=team.path,
        capture_output=True, text=True, env=rsdump.environment())
    for folder in folders:
        folder.chmod(0o755)
    assert finished.returncode == rsdump.TRY_AGAIN and "Permission denied" in finished.stderr, finished
    assert team.dumps.files() == before


def test_killed_renewals_leave_keys_that_sign(team, tmp_path):
    chance = random.Random(SEED)
    began = time.monotonic()
    assert team.keys("renew", "keys", "--intermediate").code == rsdump.DONE
    seconds = time.monotonic() - began
    keys = team.path / "keys"
    names = sorted(each.name for each in keys.iterdir())
    for number in range(ROUNDS // 2):
        where = f"round {number} of KILL_SEED={SEED} PUBLISH_KILL_ROUNDS={ROUNDS}"
        process = rsdump.start("keys", "renew", "keys", "--intermediate", cwd=team.path)
        time.sleep(chance.uniform(0, seconds))
        process.send_signal(signal.SIGKILL)
        process.wait()
        for file in keys.iterdir():
            hidden = file.suffix == ".key" and file.stat().st_mode & 0o777 == 0o600
            assert hidden or b"PRIVATE KEY" not in file.read_bytes(), f"{where}: {file}"
        status = team.keys("status", "keys", "--format", "json")
        found = [each["key"] for each in status.json()["certificates"]]
        assert status.code == rsdump.DONE and found == ["here"] * 3, f"{where}: {status}"
    assert team.keys("renew", "keys").code == rsdump.DONE
    assert sorted(each.name for each in keys.iterdir()) == names
    assert team.publish("--resign").code == rsdump.DONE
