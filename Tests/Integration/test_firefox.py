"""A real Firefox polls and syncs from rsdump serve over loopback.

Firefox verifies with its built-in root for a server's address, and accepts no other: it no longer has the preference
`security.content.signature.root_hash`. So it rejects the demo server's signatures, and accepts those under its root for local
servers. No package contains Mozilla's signed data: the dumps in Firefox have no signatures.

The tests pass with firefox-esr 140 and 153. If an update breaks a test, see which of its modules services-settings/*.sys.mjs
changed, adapt the test, and add the version here.
"""
import json

import pytest
import samples

import local_root
import rsdump
from dumps import Dumps
from marionette import Firefox
from rs_server.client import Server
from serve import Serving

MODULE = 'const { RemoteSettings } = ChromeUtils.importESModule("resource://services-settings/remote-settings.sys.mjs");'
# For data under a root that Firefox does not trust.
UNVERIFIED = MODULE + 'const client = RemoteSettings(args[0]); client.verifySignature = false;'


@pytest.fixture(scope="module")
def serving():
    with Serving("--demo", "--log-requests") as server:
        yield server


@pytest.fixture(scope="module")
def firefox(serving, tmp_path_factory):
    with firefox_of(serving, tmp_path_factory.mktemp("firefox")) as browser:
        yield browser


def firefox_of(serving, folder):
    return Firefox(folder / "profile", services__settings__server=f"{serving.url}/v1")


def records(serving, name):
    return {r["id"]: r for r in serving.changeset(f"main/{name}").json()["changes"]}


def test_firefox_poll_refuses_foreign_root(firefox, serving):
    """Firefox requests the monitor, a changeset and the chain, in this order, and verifies the response."""
    outcome = firefox.run(MODULE + "RemoteSettings('markets'); await RemoteSettings.pollChanges(); return true;")
    assert "InvalidSignatureError" in outcome.get("error", ""), outcome
    log = serving.log()
    for asked in ["GET /v1/buckets/monitor/collections/changes/changeset", "GET /v1/buckets/main/collections/",
                  "GET /chains/"]:
        assert asked in log, log


def test_firefox_syncs_records_deltas_and_attachments(firefox, serving):
    # Like a poll, with the monitor's timestamp: Firefox may have cached the monitor for a minute.
    sync = UNVERIFIED + "await client.maybeSync(args[1]); return await client.get({syncIfEmpty: false});"

    def timestamp(name):
        changes = serving.changeset("monitor/changes").json()["changes"]
        return next(each["last_modified"] for each in changes if each["collection"] == name)

    for name in ["settings", "markets", "large", "icons"]:
        outcome = firefox.run(sync, name, timestamp(name))
        assert "value" in outcome, outcome
        assert {r["id"]: r for r in outcome["value"]} == records(serving, name)
    before = serving.metric('rsdump_requests_total{route="delta",status="200"}')
    assert serving.ask("/demo/publish", method="POST").status == 200
    for name in ["settings", "markets", "icons"]:
        outcome = firefox.run(sync, name, timestamp(name))
        assert "value" in outcome, outcome
        assert {r["id"]: r for r in outcome["value"]} == records(serving, name)
    assert serving.metric('rsdump_requests_total{route="delta",status="200"}') >= before + 3
    download = UNVERIFIED + (
        "const [record] = await client.get({filters: {id: 'petals-23'}});"
        "const {buffer} = await client.attachments.download(record);"
        "return new TextDecoder().decode(buffer);")
    outcome = firefox.run(download, "icons")
    assert "<title>23 petals</title>" in outcome.get("value", ""), outcome


def test_firefox_verifies_refreshed_collections(tmp_path):
    """With verification on: a poll, a delta whose merged records are verified, an attachment, and rejection of a bad signature."""
    root = local_root.make(tmp_path / "server/pki")
    samples.write(tmp_path / "samples")
    with Server.start(tmp_path / "server") as server:
        server.load(tmp_path / "samples")
        dumps = Dumps(tmp_path / "dumps")
        assert dumps.add(server, *samples.NAMES).code == rsdump.DONE
        outcome = dumps.refresh()
        assert outcome.code == rsdump.DONE, str(outcome)
        assert server.root == root
        # Without collections that use filters, which Firefox applies, or fractions: Firefox verifies them as 1.5, but servers and
        # rsdump sign 1.5E0.
        names = ["markets", "icons"]
        with Serving("--dumps", dumps.path, "--watch", "--log-requests") as serving, \
                firefox_of(serving, tmp_path / "firefox") as firefox:
            outcome = firefox.run(
                MODULE + "const clients = args[0].map(name => RemoteSettings(name));"
                "if (!clients.every(client => client.verifySignature)) throw new Error('the check is off');"
                "await RemoteSettings.pollChanges();"
                "return Object.fromEntries(await Promise.all(clients.map(async client =>"
                "  [client.collectionName, await client.get({syncIfEmpty: false})])));", names)
            assert "value" in outcome, outcome
            for name in names:
                assert {r["id"]: r for r in outcome["value"][name]} == records(serving, name)
            assert "GET /chains/" in serving.log()

            server.delete_record("main/markets", "nowhere")
            server.delete_record("main/icons", "petals-03")
            outcome = dumps.refresh()
            assert outcome.code == rsdump.DONE, str(outcome)
            changed = {name: dumps.bundle(f"main/{name}") for name in names}
            for name, bundle in changed.items():
                while serving.changeset(f"main/{name}").json()["timestamp"] != bundle.timestamp:
                    assert serving.process.poll() is None
                outcome = firefox.run(
                    MODULE + "const client = RemoteSettings(args[0]); await client.maybeSync(args[1]);"
                    "return await client.get({syncIfEmpty: false, verifySignature: true});", name, bundle.timestamp)
                assert "value" in outcome, outcome
                assert {r["id"]: r for r in outcome["value"]} == {r["id"]: r for r in bundle.records}
            assert serving.metric('rsdump_requests_total{route="delta",status="200"}') == 2

            validate = MODULE + (
                "const response = await fetch(`${args[0]}/v1/buckets/main/collections/markets/changeset?_expected=0`);"
                "const {changes, timestamp, metadata} = await response.json(); changes[0].name = args[1];"
                "await RemoteSettings('markets').validateCollectionSignature(changes, timestamp, metadata); return true;")
            first = serving.changeset("main/markets").json()["changes"][0]["name"]
            assert firefox.run(validate, serving.url, first) == {"value": True}
            outcome = firefox.run(validate, serving.url, "another")
            assert "InvalidSignatureError" in outcome.get("error", ""), outcome

            outcome = firefox.run(
                MODULE + "const client = RemoteSettings('icons');"
                "const [record] = await client.get({filters: {id: 'petals-22'}});"
                "const {buffer} = await client.attachments.download(record);"
                "return new TextDecoder().decode(buffer);")
            assert "<title>22 petals</title>" in outcome.get("value", ""), outcome


def published(tmp_path):
    """Publishes sources under Firefox's root for local servers. Returns the source file and a function that publishes again."""
    local_root.make(tmp_path / "pki")
    keys = tmp_path / "keys"
    keys.mkdir()
    (keys / "signer.key").write_bytes((tmp_path / "pki/leaf.key.pem").read_bytes())
    (keys / "signer.key").chmod(0o600)
    (keys / "chain.pem").write_bytes((tmp_path / "pki/chains/chain.pem").read_bytes())
    source = tmp_path / "sources/main/published.yaml"
    source.parent.mkdir(parents=True)
    source.write_text("records:\n- {id: a, text: 'Grüße, 世界', number: 5}\n- {id: b, list: [1, null, true]}\n")
    (tmp_path / "sources/main/other.json").write_text('[{"id": "x"}]')

    def publish():
        outcome = rsdump.run("publish", cwd=tmp_path)
        assert outcome.code == rsdump.DONE, str(outcome)
        return Dumps(tmp_path / "dumps").bundle("main/published")

    return source, publish


def test_firefox_verifies_published_collections(tmp_path):
    """Signed by rsdump publish under Firefox's root for local servers: first a full state, then a delta."""
    source, publish = published(tmp_path)
    first = publish()
    with Serving("--dumps", tmp_path / "dumps", "--watch", "--log-requests") as serving, \
            firefox_of(serving, tmp_path / "firefox") as firefox:
        sync = MODULE + (
            "const client = RemoteSettings('published');"
            "if (!client.verifySignature) throw new Error('the check is off');"
            "await client.maybeSync(args[0]); return await client.get({syncIfEmpty: false, verifySignature: true});")
        outcome = firefox.run(sync, first.timestamp)
        assert "value" in outcome, outcome
        assert {r["id"]: r for r in outcome["value"]} == {r["id"]: r for r in first.records}
        source.write_text("records:\n- {id: a, text: changed}\n- {id: c}\n")
        second = publish()
        while serving.changeset("main/published").json()["timestamp"] != second.timestamp:
            assert serving.process.poll() is None
        outcome = firefox.run(sync, second.timestamp)
        assert "value" in outcome, outcome
        assert {r["id"]: r for r in outcome["value"]} == {r["id"]: r for r in second.records}


EVALUATE = """
const { FilterExpressions } = ChromeUtils.importESModule("resource://gre/modules/components-utils/FilterExpressions.sys.mjs");
const [vectors, contexts] = args;
const results = [];
for (const { expression, context } of vectors) {
  try {
    let value = await FilterExpressions.eval(expression, contexts[context]);
    // A date is compared by its milliseconds, which is what the language makes of it in a comparison.
    if (Object.prototype.toString.call(value) === "[object Date]") value = value.getTime();
    results.push(value === undefined ? { undefined: true } : { value });
  } catch (error) {
    results.push({ error: true });
  }
}
return results;
"""


def test_firefox_evaluates_target_filter_vectors(firefox):
    """Runs the vectors in Tests/Vectors, which are also usable for other implementations of target filters."""
    document = json.loads((rsdump.REPOSITORY / "Tests/Vectors/target-filters.json").read_text())
    outcome = firefox.run(EVALUATE, document["vectors"], document["contexts"])
    assert "value" in outcome, outcome
    for vector, result in zip(document["vectors"], outcome["value"], strict=True):
        assert vector.get("firefox", vector["result"]) == result, vector["expression"]
