"""Sources in git become signed bundles: keys, check, publish, and everybody who reads what comes of it."""
import hashlib
import json
import os
import random
import re
import secrets
import shutil
import signal
import subprocess
import threading
import time

import kinto_http
import pytest

import rsdump
import toolchain
from dumps import Bundle, Dumps
from rs_server.client import Server
from serve import Serving
from verify import check, payload_of

ROUNDS = int(os.environ.get("PUBLISH_KILL_ROUNDS", "30"))
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


def test_openssl_accepts_the_chain(team):
    keys = team.path / "keys"
    for name in ("root", "intermediate", "signer"):
        assert (keys / f"{name}.key").stat().st_mode & 0o777 == 0o600
        shown = subprocess.run(["openssl", "ec", "-in", keys / f"{name}.key", "-noout", "-text"], capture_output=True, text=True)
        assert "secp384r1" in shown.stdout, shown.stderr
    verified = subprocess.run(
        ["openssl", "verify", "-x509_strict", "-CAfile", keys / "root.pem", "-untrusted", keys / "intermediate.pem",
         keys / "chain.pem"], capture_output=True, text=True)
    assert verified.returncode == 0, verified.stderr
    digest = subprocess.run(
        ["openssl", "x509", "-in", keys / "root.pem", "-noout", "-fingerprint", "-sha256"], capture_output=True, text=True)
    assert digest.stdout.strip().split("=")[1].replace(":", "").lower() == team.root


def test_keys_of_openssl_are_taken(team, tmp_path):
    """A chain that another tool made for a key of its own, in SEC 1 with parameters before it, and out of the environment."""
    key = subprocess.run(
        ["openssl", "ecparam", "-name", "secp384r1", "-genkey"], capture_output=True, text=True, check=True).stdout
    request = tmp_path / "request.pem"
    request.write_text(subprocess.run(
        ["openssl", "req", "-new", "-key", "/dev/stdin", "-subj", "/CN=remote-settings.content-signature.mozilla.org"],
        input=key, capture_output=True, text=True, check=True).stdout)
    seen = team.keys("issue", "keys", request, "--for", "signer")
    name = "remote-settings.content-signature.mozilla.org"
    der = subprocess.run(["openssl", "pkey", "-pubout", "-outform", "DER"], input=key.encode(), capture_output=True).stdout
    assert seen.code == rsdump.USAGE and seen.says(name, hashlib.sha256(der).hexdigest()), str(seen)
    issued = team.keys("issue", "keys", request, "--for", "signer", "--name", name)
    assert issued.code == rsdump.DONE, str(issued)
    environment = {"RSDUMP_SIGNER_KEY": key.replace("\n", "\\n"), "RSDUMP_SIGNER_CHAIN": issued.out}
    shutil.rmtree(team.path / "keys")
    assert team.publish("--resign").code == rsdump.USAGE
    outcome = team.publish("--resign", env=environment)
    assert outcome.code == rsdump.DONE and outcome.says("signed again"), str(outcome)
    assert team.dumps.verify().code == rsdump.DONE
    other = subprocess.run(
        ["openssl", "ecparam", "-name", "prime256v1", "-genkey"], capture_output=True, text=True, check=True).stdout
    refused = team.publish("--resign", env={**environment, "RSDUMP_SIGNER_KEY": other})
    assert refused.code == rsdump.USAGE and refused.says("another curve"), str(refused)
    mixed = team.publish("--resign", env={**environment, "RSDUMP_SIGNER_CHAIN": team.bundle("main/settings").chain.decode()})
    assert mixed.code in (rsdump.DONE, rsdump.VERIFICATION)


def test_autograph_utils_accepts_every_signature(team):
    for name in ("main/settings", "main/app-config", "main/icons"):
        bundle = team.bundle(name)
        for signature in bundle.signatures:
            assert check(
                bundle.payload, "main", signature["signature"], "http://x/chain.pem", lambda url: bundle.chain, team.root)


def test_overlap_serves_those_who_trust_either_root(team):
    """Apps that pin the old root and apps that pin the new one are both served, by one list of signatures."""
    assert team.keys("create", "new-keys").code == rsdump.DONE
    team.write("main/settings.yaml", SETTINGS.replace("24", "25"))
    outcome = team.publish("--overlap-keys", "new-keys")
    assert outcome.code == rsdump.DONE, str(outcome)
    new_root = team.keys("status", "new-keys", "--format", "json").json()["root"]
    new_chain = (team.path / "new-keys/chain.pem").read_bytes()
    with Serving("--dumps", team.dumps.path) as serving:
        served = kinto_http.Client(server_url=f"{serving.url}/v1").get_changeset("main", "settings", bust_cache=True)
        first, second = served["metadata"]["signatures"]
        # The bundle has both chains, and so the origin serves both.
        assert first["x5u"].startswith(serving.url) and second["x5u"].startswith(serving.url)
        old_chain = serving.ask(first["x5u"].removeprefix(serving.url)).body
        assert serving.ask(second["x5u"].removeprefix(serving.url)).body == new_chain
    payload = payload_of(served)
    assert check(payload, "main", first["signature"], first["x5u"], lambda _: old_chain, team.root)
    assert check(payload, "main", second["signature"], second["x5u"], lambda _: new_chain, new_root)
    with pytest.raises(Exception):
        check(payload, "main", second["signature"], second["x5u"], lambda _: new_chain, team.root)
    assert team.dumps.verify().code == rsdump.DONE


def test_the_library_syncs_under_either_root(team, tmp_path):
    assert team.keys("create", "new-keys").code == rsdump.DONE
    team.write("main/settings.yaml", SETTINGS.replace("24", "25"))
    outcome = team.publish("--overlap-keys", "new-keys")
    assert outcome.code == rsdump.DONE, str(outcome)
    new_root = team.keys("status", "new-keys", "--format", "json").json()["root"]
    with Serving("--dumps", team.dumps.path) as serving:
        # Two apps with one storage, and each keeps what it has.
        apps = [("main/settings", "--storage", tmp_path / "app", "--server", f"{serving.url}/v1", "--trust-root", root)
                for root in (team.root, new_root)]
        for app in apps:
            synced = rsdump.run("get", "--sync", *app)
            assert synced.code == rsdump.DONE, str(synced)
        for app in apps:
            had = rsdump.run("get", *app)
            assert had.code == rsdump.DONE and had.says("25"), str(had)
        refused = rsdump.run("get", "--sync", "main/settings", "--storage", tmp_path / "foreign", "--server",
                             f"{serving.url}/v1", "--trust-root", "ab" * 32)
        assert refused.code != rsdump.DONE


def test_an_app_packages_what_was_published(team, tmp_path):
    """What a pinned root vouches for is served at the first launch, offline, whatever server the app asks, with a catalogue
    and without."""
    address = "https://settings.example.org/v1"

    def first_launch(name):
        return rsdump.run("get", "main/app-config", "--storage", tmp_path / name, "--packaged", team.dumps.path,
                          "--server", address, "--trust-root", team.root)
    assert '"value":24' in first_launch("before").out
    (team.path / "dumps/publisher/catalogue.zip").rename(team.path / "catalogue.zip")
    assert '"value":24' in first_launch("alone").out
    (team.path / "catalogue.zip").rename(team.path / "dumps/publisher/catalogue.zip")
    configuration = team.path / "dumps/dumps.yaml"
    configuration.write_text(configuration.read_text().replace("http://127.0.0.1:8888/v1", address))
    lock = json.loads((team.path / "dumps/dumps.lock.json").read_text())["collections"]["main/app-config"]
    assert lock["server"] == "http://127.0.0.1:8888/v1"
    moved = team.publish()
    assert moved.code == rsdump.DONE, str(moved)
    assert '"value":24' in first_launch("after").out
    before = (team.path / "dumps/dumps.lock.json").read_bytes()
    assert team.publish().code == rsdump.DONE
    assert (team.path / "dumps/dumps.lock.json").read_bytes() == before
    assert team.dumps.verify().code == rsdump.DONE


def test_status_warns_before_a_chain_ends(team):
    assert team.keys("status", "keys").code == rsdump.DONE
    warned = team.keys("status", "keys", "--warn-days", "95")
    assert warned.code == rsdump.SOME_FAILED and warned.says("expires in 89 days", "rsdump keys renew"), str(warned)
    made = team.keys("create", "short", "--days", "5",
                     "--name", "Team", "--signer", "config.example.org")
    assert made.code == rsdump.DONE and made.says('signer: "config.example.org"'), str(made)
    ends = [c["notAfter"][:10] for c in team.keys("status", "short", "--format", "json").json()["certificates"]]
    assert ends == sorted(ends, reverse=True) and len(set(ends)) == 3
    own = team.copy(team.path.parent / "own")
    shutil.rmtree(own.path / "dumps")
    assert own.publish("--keys", "short").code == rsdump.DONE
    assert "signer: config.example.org" in own.dumps.config.read_text()
    assert own.dumps.verify().code == rsdump.DONE


def test_kinto_http_and_the_library_read_what_was_published(team, tmp_path):
    with Serving("--dumps", team.dumps.path) as serving:
        client = kinto_http.Client(server_url=f"{serving.url}/v1")
        monitor = client.get_changeset("monitor", "changes", bust_cache=True)
        assert {each["collection"] for each in monitor["changes"]} == {"settings", "app-config", "icons", "catalogue"}
        settings = client.get_changeset("main", "settings", bust_cache=True)
        records = {r["id"]: r for r in settings["changes"]}
        assert records["greeting"]["value"] == "Grüße, 世界" and records["greeting"]["weight"] == 1.5
        icon = client.get_changeset("main", "icons", bust_cache=True)["changes"][0]["attachment"]
        assert serving.ask(f"/attachments/{icon['location']}").body == b"<svg/>"
        served = ["--storage", tmp_path / "app", "--server", f"{serving.url}/v1", "--trust-root", team.root]
        synced = rsdump.run("get", "--sync", "main/app-config", "main/settings", *served)
        assert synced.code == rsdump.DONE, str(synced)
        got = rsdump.run("get", "main/app-config", *served, "--context", "channel=beta")
        assert got.code == rsdump.DONE and got.says('"Hello"'), str(got)


def test_a_delta_client_fetches_only_the_record_that_changed(team, tmp_path):
    many = [{"id": f"r{n}", "title": f"record {n}"} for n in range(10_000)]
    team.write("main/many.json", json.dumps({"records": many}))
    assert team.publish("main/many").code == rsdump.DONE
    git(team, "init", "-q"), git(team, "add", "dumps"), git(team, "commit", "-qm", "first")
    before = team.bundle("main/many").timestamp
    many[5000]["title"] = "changed"
    del many[6000]
    team.write("main/many.json", json.dumps({"records": many}))
    outcome = team.publish("--format", "json")
    counts = {c["collection"]: c for c in outcome.json()["collections"]}
    assert counts["main/many"] | {"created": 0, "updated": 1, "deleted": 1} == counts["main/many"], outcome
    assert counts["main/settings"]["status"] == "unchanged"
    with Serving("--dumps", team.dumps.path, "--history", "git") as serving:
        delta = serving.ask(f"/v1/buckets/main/collections/many/changeset?_expected=0&_since=%22{before}%22").json()
    changed = {r["id"]: r for r in delta["changes"]}
    assert changed.keys() == {"r5000", "r6000"} and changed["r6000"]["deleted"], delta["changes"][:3]
    assert changed["r5000"]["last_modified"] == delta["timestamp"] > before


def git(team, *arguments):
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments], cwd=team.path, check=True,
        capture_output=True)


def test_a_server_of_the_same_data_gives_the_same_records(team, sample_server, tmp_path):
    """Put into Kinto as published, and refreshed from there."""
    # Kinto gives no two records of a collection the same time.
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


def test_a_refresh_from_what_is_served_has_the_same_content(team, tmp_path):
    with Serving("--dumps", team.dumps.path) as serving:
        dumps = tmp_path / "dumps"
        added = rsdump.run("add", *team.dumps.lock["collections"], "--server", f"{serving.url}/v1", "--trust-root",
                           team.root, "--dumps", dumps)
        assert added.code == rsdump.DONE, str(added)
        outcome = rsdump.run("refresh", "--dumps", dumps)
        assert outcome.code == rsdump.DONE, str(outcome)
    theirs = Dumps(dumps).lock["collections"]
    assert {n: e["timestamp"] for n, e in theirs.items()} == {
        n: e["timestamp"] for n, e in team.dumps.lock["collections"].items()}
    for name in theirs:
        assert Dumps(dumps).bundle(name).payload == team.bundle(name).payload


def test_unchanged_sources_change_no_byte(team):
    before = team.dumps.files()
    outcome = team.publish()
    assert outcome.code == rsdump.DONE and outcome.says("0 of 3 collections published"), str(outcome)
    assert team.dumps.files() == before


def test_dry_run_and_diff_show_records_and_fields_without_keys(team):
    shutil.rmtree(team.path / "keys")
    team.write("main/settings.yaml", SETTINGS.replace("24", "48"))
    before = team.dumps.files()
    for arguments in (["publish", "--dry-run"], ["diff", "dumps", "sources:sources"]):
        outcome = team.run(*arguments)
        assert outcome.code == rsdump.DONE and outcome.says("sync-interval", "24", "48"), str(outcome)
        assert not outcome.says("dark-mode")
    markdown = team.run("publish", "--dry-run", "--format", "markdown")
    assert markdown.code == rsdump.DONE and "sync-interval" in markdown.out
    assert team.dumps.files() == before


def test_changes_of_metadata_are_shown(team):
    """What gets published is shown before: by the dry run and by diff, in every format."""
    team.write("main/settings.yaml", "metadata: {flags: [startup]}\n" + SETTINGS)
    for arguments in (["publish", "--dry-run"], ["diff", "dumps", "sources:sources"]):
        outcome = team.run(*arguments)
        assert outcome.code == rsdump.DONE and outcome.says("metadata.flags", "startup"), str(outcome)
        assert "metadata" in team.run(*arguments, "--format", "markdown").out
        found = team.run(*arguments, "--format", "json").json()["collections"]
        changed = [each for each in found if each["status"] == "changed"]
        assert [each["metadata"] for each in changed] == [[{"path": ["flags"], "new": ["startup"]}]]
    assert team.run("diff", "dumps", "sources:sources", "--exit-code").code == rsdump.SOME_FAILED
    before = team.copy(team.path.parent / "before")
    assert team.publish().says("only metadata")
    assert team.run("diff", before.path / "dumps", "dumps", "--stat").says("metadata changed")
    assert team.run("diff", "dumps", "sources:sources").says("no difference")


def test_what_nobody_signed_is_named_and_never_signed(team, tmp_path):
    """A commit that touches only dumps/ brings a bundle without source and without signature."""
    (tmp_path / "set/main").mkdir(parents=True)
    (tmp_path / "set/main/evil.json").write_text('{"data": [{"id": "evil", "last_modified": 1}], "timestamp": 5}')
    planted = team.run("import", "--from", "firefox", tmp_path / "set")
    assert planted.code == rsdump.DONE, str(planted)
    verified = team.dumps.verify("--locked")
    assert verified.code == rsdump.VERIFICATION and verified.says("main/evil: catalogue 1 does not list it"), str(verified)
    checked = team.run("check")
    assert checked.code == rsdump.USAGE and checked.says("main/evil", "it is imported", "rsdump remove main/evil"), str(checked)
    assert team.keys("renew", "keys").code == rsdump.DONE
    before = (team.path / "dumps/main/evil.zip").read_bytes()
    outcome = team.publish("--resign")
    assert outcome.code == rsdump.VERIFICATION and outcome.says("main/evil", "expected a valid signature of a root in dumps.yaml"), str(outcome)
    assert outcome.out.count("signed again, data unchanged") == 3 and outcome.says("confirmed: catalogue 1")
    assert (team.path / "dumps/main/evil.zip").read_bytes() == before
    found = team.run("publish", "main/evil", "--resign")
    assert found.code == rsdump.VERIFICATION
    # A source for it publishes the source, and nothing of what was planted.
    team.write("main/evil.yaml", "records: [{id: good}]")
    assert team.run("check").code == rsdump.DONE
    assert team.publish().code == rsdump.DONE
    assert [record["id"] for record in json.loads(team.bundle("main/evil").payload)["data"]] == ["good"]
    assert team.dumps.verify("--locked").code == rsdump.DONE


def test_two_publishers_at_once(team):
    """One of them may be refused with what to do; whatever they leave is whole, and no timestamp has two contents."""
    seen = {}
    for number in range(8):
        team.write("main/settings.yaml", SETTINGS.replace("24", str(100 + number)))
        other = team.copy(team.path.parent / f"other-{number}")
        other.write("main/settings.yaml", SETTINGS.replace("24", str(200 + number)))
        outcomes = []
        threads = [
            threading.Thread(target=lambda s=s: outcomes.append(
                team.run("publish", "--sources", s.path / "sources", "--dumps", team.path / "dumps")))
            for s in (team, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for outcome in outcomes:
            assert outcome.code == rsdump.DONE or outcome.says("run this again when it has finished"), str(outcome)
        assert any(outcome.code == rsdump.DONE for outcome in outcomes)
        assert team.dumps.verify().code == rsdump.DONE
        bundle = team.bundle("main/settings")
        assert seen.setdefault(bundle.timestamp, bundle.payload) == bundle.payload
    assert list(seen) == sorted(seen)


def test_a_killed_publish_breaks_nothing(team, tmp_path):
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
        assert work.dumps.verify().code == rsdump.DONE, where
        assert not (work.path / "dumps/.rsdump").exists(), where
        for name, bundle in between.items():
            after = work.bundle(f"main/{name}")
            assert bundle.payload == before.get(f"main/{name}", bundle.payload) or bundle.payload == after.payload, where
            # A timestamp that somebody may have seen never gets other records.
            if bundle.timestamp == after.timestamp:
                assert bundle.payload == after.payload, where
        shutil.rmtree(work.path)


class nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


def test_what_cannot_be_published_is_a_clear_error_and_changes_nothing(team, tmp_path):
    team.write("main/settings.yaml", SETTINGS.replace("24", "25"))
    before = team.dumps.files()

    def refused(code, words, *arguments, **options):
        outcome = team.publish(*arguments, **options)
        assert outcome.code == code and outcome.says(*words), str(outcome)
        assert team.dumps.files() == before

    assert team.keys("create", "foreign").code == rsdump.DONE
    refused(rsdump.VERIFICATION, ["root"], "--keys", "foreign")
    short = team.keys("create", "short", "--days", "1")
    assert short.code == rsdump.DONE
    refused(rsdump.USAGE, ["more than a day"], "--at", "2099-01-01")
    refused(rsdump.VERIFICATION, ["valid"], "--at", "2026-01-01")
    refused(rsdump.USAGE, ["rsdump keys create"], "--keys", "nowhere")
    (team.path / "keys/signer.key").write_bytes((team.path / "foreign/signer.key").read_bytes())
    refused(rsdump.VERIFICATION, ["another key"])
    (team.path / "keys/signer.key").chmod(0o644)
    refused(rsdump.USAGE, ["chmod 600"])
    (team.path / "keys/signer.key").write_text("no key")
    (team.path / "keys/signer.key").chmod(0o600)
    refused(rsdump.USAGE, ["no private key"])
    refused(rsdump.USAGE, ["no such file"], "main/unknown", "--keys", "foreign")


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root writes everywhere")
def test_a_read_only_directory_is_a_clear_error(team):
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


def test_certificates_from_elsewhere_belong_to_the_request_and_the_root(team):
    """The root's key is offline; what comes back for another request, or from another root, replaces nothing."""
    assert team.keys("create", "foreign").code == rsdump.DONE
    shutil.copytree(team.path / "keys", team.path / "offline")
    for file in (team.path / "keys").glob("*.key"):
        file.unlink()
    root = team.root

    def issue(holder, *more):
        return team.keys("issue", holder, "request.pem", "--for", "intermediate", "--output", f"{holder}.pem", *more)

    made = team.keys("request", "keys", "--for", "intermediate", "--name", "Grüße", "--output", "request.pem")
    assert made.code == rsdump.DONE, str(made)
    before = (team.path / "request.pem").read_bytes()
    again = team.keys("request", "keys", "--for", "intermediate", "--name", "Grüße", "--output", "request.pem")
    assert again.code == rsdump.DONE and (team.path / "request.pem").read_bytes() == before
    seen = issue("offline")
    assert seen.code == rsdump.USAGE and seen.says("Grüße", "--name"), str(seen)
    assert re.search("key [0-9a-f]{64}", seen.err)[0] in made.err, str(seen)
    assert issue("offline", "--name", "Other").code == rsdump.USAGE
    assert issue("offline", "--name", "Grüße").code == issue("foreign", "--name", "Grüße").code == rsdump.DONE
    refused = team.keys("renew", "keys", "--certificate", "foreign.pem")
    assert refused.code == rsdump.VERIFICATION and refused.says(root, "--root"), str(refused)
    assert team.root == root
    taken = team.keys("renew", "keys", "--certificate", "offline.pem")
    assert taken.code == rsdump.DONE, str(taken)
    assert team.keys("renew", "keys").code == team.publish("--resign").code == rsdump.DONE
    assert team.root == root and team.dumps.verify().code == rsdump.DONE
    changed = team.keys("request", "keys", "--for", "signer", "--output", "request.pem")
    assert changed.code == rsdump.DONE, str(changed)
    wrong = team.keys("request", "keys", "--for", "signer", "--name", "Grüße.example", "--output", "x.pem")
    assert wrong.code == rsdump.USAGE and wrong.says("DNS name") and "ASN1" not in wrong.err, str(wrong)


def test_a_change_of_root_is_a_command_of_its_own(team):
    assert team.keys("create", "new").code == rsdump.DONE
    for key in ("root", "intermediate", "signer"):
        (team.path / f"keys/{key}.key").unlink()
    new_root = team.keys("status", "new", "--format", "json").json()["root"]
    assert team.keys("request", "keys", "--for", "intermediate", "--name", "i", "--output", "r.pem").code == rsdump.DONE
    issued = team.keys("issue", "new", "r.pem", "--for", "intermediate", "--name", "i", "--output", "c.pem")
    assert issued.code == rsdump.DONE, str(issued)
    wrong = team.keys("renew", "keys", "--certificate", "c.pem", "--root", "ab" * 32)
    assert wrong.code == rsdump.VERIFICATION and wrong.says(new_root), str(wrong)
    changed = team.keys("renew", "keys", "--certificate", "c.pem", "--root", new_root)
    assert changed.code == rsdump.DONE and changed.says(f"trust-root {new_root}"), str(changed)
    assert team.keys("renew", "keys").code == rsdump.DONE and team.root == new_root


def test_renewals_at_once_leave_keys_that_belong_together(team):
    for _ in range(8):
        started = [rsdump.start("keys", "renew", "keys", cwd=team.path) for _ in range(3)]
        codes = [each.wait() for each in started]
        assert rsdump.DONE in codes and set(codes) <= {rsdump.DONE, rsdump.TRY_AGAIN}, codes
        status = team.keys("status", "keys", "--format", "json")
        assert status.code == rsdump.DONE and {c["key"] for c in status.json()["certificates"]} == {"here"}, str(status)


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


def at_another_time(tmp_path, days):
    """What a process needs in its environment, so that its clock is so many days ahead."""
    library, shift = tmp_path / "clock.so", tmp_path / "shift"
    if not library.exists():
        subprocess.run([toolchain.clang(), "-std=gnu17", "-shared", "-fPIC", "-o", library,
                        rsdump.REPOSITORY / "Tests/Servers/clock/shifted_clock.c"], check=True)
    shift.write_text(str(days * 86_400))
    return {"LD_PRELOAD": str(library), "SHIFTED_CLOCK": str(shift)}


def test_an_ended_signature_is_replaced_by_plain_publish(team, tmp_path):
    later = at_another_time(tmp_path, 91)
    assert team.run("keys", "renew", "keys", env=later).code == rsdump.DONE
    published = team.run("publish", env=later)
    assert published.code == rsdump.DONE and published.says("signed again"), str(published)


def test_a_wrong_clock_replaces_no_certificate(team, tmp_path):
    """What a machine with an empty battery does: its clock is years off."""
    chain = (team.path / "keys/chain.pem").read_bytes()
    for years in (-6, 30):
        refused = team.run("keys", "renew", "keys", env=at_another_time(tmp_path, years * 365))
        assert refused.code == rsdump.USAGE and refused.says("clock"), str(refused)
        assert (team.path / "keys/chain.pem").read_bytes() == chain


def test_losing_the_signing_key(team):
    """The key leaks, or is lost: a new one is issued, everything is signed again, and apps need no update."""
    root = team.root
    (team.path / "keys/signer.key").unlink()
    assert team.publish("--resign").code == rsdump.USAGE
    assert team.keys("renew", "keys").code == rsdump.DONE
    payloads = {name: team.bundle(name).payload for name in team.dumps.lock["collections"] if name != "publisher/catalogue"}
    outcome = team.publish("--resign")
    assert outcome.code == rsdump.DONE and outcome.says("data unchanged"), str(outcome)
    assert {name: team.bundle(name).payload for name in payloads} == payloads
    assert team.root == root and team.dumps.verify().code == rsdump.DONE


def test_rolling_back_goes_forward_in_time(team):
    before = team.bundle("main/settings")
    team.write("main/settings.yaml", SETTINGS.replace("24", "25"))
    assert team.publish().code == rsdump.DONE
    middle = team.bundle("main/settings")
    team.write("main/settings.yaml", SETTINGS)
    assert team.publish().code == rsdump.DONE
    after = team.bundle("main/settings")
    assert before.timestamp < middle.timestamp < after.timestamp
    plain = lambda bundle: [{k: v for k, v in r.items() if k != "last_modified"} for r in bundle.records]
    assert plain(before) == plain(after) != plain(middle)


def test_defaults_make_the_round_trip_exactly(team):
    team.write("main/typed.yaml", 'parameters: {a: "x <é>", b: true, c: -5, d: 1.5, e: "", f: "007", g: "two\\nlines"}')
    team.write("main/texts.yaml", 'parameters: {a: "x <é> & \'q\'", b: "true", c: ""}')
    assert team.publish().code == rsdump.DONE
    for layout, name in (("plist", "typed"), ("json", "texts")):
        first = export(team, layout, f"main/{name}")
        made = team.run("import", "--from", "defaults", first, "--collection", f"main/again-{layout}")
        assert made.code == rsdump.DONE, str(made)
        assert team.publish(f"main/again-{layout}").code == rsdump.DONE
        assert export(team, layout, f"main/again-{layout}").read_bytes() == first.read_bytes()
    again = team.run("import", "--from", "defaults", first, "--collection", "main/again-json")
    assert again.code == rsdump.USAGE and again.says("exists already"), str(again)


def export(team, layout, name):
    folder = team.path / f"export-{secrets.token_hex(3)}"
    outcome = team.run("export", name, "--to", layout, "--key", "key", "--value", "value", "--output", folder)
    assert outcome.code == rsdump.DONE, str(outcome)
    files = [folder] if folder.is_file() else [f for f in folder.rglob("*") if f.is_file()]
    assert len(files) == 1, files
    return files[0]


def test_a_template_is_published_and_names_what_it_leaves_out(team):
    template = {
        "conditions": [{"name": "ios", "expression": "device.os == 'ios'"},
                       {"name": "who", "expression": "app.audiences.inAll(['x'])"}],
        "parameters": {"a": {"defaultValue": {"value": "1"}, "conditionalValues": {"ios": {"value": "2"}, "who": {"value": "3"}}}}}
    (team.path / "template.json").write_text(json.dumps(template, indent=1))
    refused = team.run("import", "--from", "firebase-template", "template.json")
    assert refused.code == rsdump.USAGE and refused.says("app.audiences", '"who"', "--skip-unsupported"), str(refused)
    made = team.run("import", "--from", "firebase-template", "template.json", "--skip-unsupported")
    assert made.code == rsdump.DONE and made.says("left out", "who"), str(made)
    assert team.publish("main/remote-config").code == rsdump.DONE
    assert {r["id"] for r in team.bundle("main/remote-config").records} == {"a", "a--ios"}


def test_a_templates_texts_reach_the_app_as_they_are(team):
    texts = {"least": ("NUMBER", "1.10"), "price": ("NUMBER", "2.0"), "half": ("NUMBER", ".5"), "on": ("BOOLEAN", "TRUE"),
             "menu": ("JSON", '{ "b": 1.50,\n  "a": [1e3, "ü\u2028"] }'), "name": ("STRING", "no"), "empty": ("STRING", "")}
    parameters = {key: {"defaultValue": {"value": value}, "valueType": kind} for key, (kind, value) in texts.items()}
    parameters["own"] = {"defaultValue": {"useInAppDefault": True}}
    (team.path / "template.json").write_text(json.dumps({"parameters": parameters}))
    made = team.run("import", "--from", "firebase-template", "template.json")
    assert made.code == rsdump.DONE, str(made)
    assert team.publish("main/remote-config").code == rsdump.DONE
    values = {r["id"]: r.get("value") for r in team.bundle("main/remote-config").records}
    assert values == {key: value for key, (_, value) in texts.items()} | {"own": None}
    # The app's own defaults have types, as a property list has: texts that are read as these are no mistake.
    defaults = {"least": 1, "price": 2.5, "half": 0, "on": False, "menu": {}, "name": "", "empty": "", "own": 1}
    (team.path / "defaults.json").write_text(json.dumps(defaults))
    checked = team.run("check", "--parameters", "main/remote-config", "--defaults", "defaults.json")
    assert checked.code == rsdump.DONE and "another type" not in checked.out and "but" not in checked.out, str(checked)


def test_all_bundles_together_keep_their_budget(team):
    """What would exceed it is not published, and nothing else of the run is."""
    team.publish()
    total = sum(each["bundle"]["size"] for each in team.dumps.lock["collections"].values())
    team.dumps.config.write_text(team.dumps.config.read_text() + f"\nbudget:\n  total: {total}\n")
    before = team.dumps.files()
    team.write("main/settings.yaml", SETTINGS + "  - {key: more, value: " + secrets.token_hex(4000) + "}\n")
    outcome = team.publish()
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("all bundles together", "total:"), str(outcome)
    assert team.dumps.files() == before and not (team.dumps.path / ".rsdump").exists()


def test_check_names_everything_that_is_wrong(team):
    team.write("main/settings.yaml", "records:\n- {id: a}\n- {id: a}\n- {id: b, attachment: files/none}\n- {id: c, v: 1e999}\n")
    team.write("main/app-config.yaml", "parameters:\n  a: {value: 1, when: {nobody: 2}}\n")
    outcome = team.run("check")
    assert outcome.code == rsdump.USAGE
    lines = outcome.err.strip().splitlines()
    assert len(lines) == 4 and all(line.startswith("rsdump: sources/main/") for line in lines), outcome
    team.write("main/settings.yaml", "records:\n- {id: a}\n- {id: c, v: 1e999}\n")
    team.write("main/app-config.yaml", CONFIG)
    outcome = team.run("check")
    assert outcome.code == rsdump.USAGE and outcome.says("settings.yaml:3", "out of range"), str(outcome)
    team.write("main/settings.yaml", SETTINGS)
    (team.dumps.config).write_text(team.dumps.config.read_text() + "\nbudget:\n  attachment: 2\n")
    outcome = team.run("check")
    assert outcome.code == rsdump.USAGE and outcome.says("budget"), str(outcome)
