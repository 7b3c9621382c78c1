"""A real Firefox polls and syncs from rsdump serve over loopback."""
import pytest

from marionette import Firefox
from serve import Serving

MODULE = 'const { RemoteSettings } = ChromeUtils.importESModule("resource://services-settings/remote-settings.sys.mjs");'
# Firefox has the roots of Mozilla's own servers built in and takes no other: for another root the check is off here.
UNVERIFIED = MODULE + 'const client = RemoteSettings(args[0]); client.verifySignature = false;'


@pytest.fixture(scope="module")
def serving():
    with Serving("--demo", "--log-requests") as server:
        yield server


@pytest.fixture(scope="module")
def firefox(serving, tmp_path_factory):
    folder = tmp_path_factory.mktemp("firefox")
    with Firefox(folder / "profile", services__settings__server=f"{serving.url}/v1") as browser:
        yield browser


def records(serving, name):
    return {r["id"]: r for r in serving.changeset(f"main/{name}").json()["changes"]}


def test_it_uses_this_server(firefox, serving):
    found = firefox.run(
        'return ChromeUtils.importESModule("resource://services-settings/Utils.sys.mjs").Utils.SERVER_URL;')
    assert found == {"value": f"{serving.url}/v1"}


def test_it_polls_the_monitor_and_refuses_a_root_that_is_not_mozillas(firefox, serving):
    """What it asks for, in order: the monitor, a changeset, the chain; and that it checks what it gets."""
    outcome = firefox.run(MODULE + "RemoteSettings('regions'); await RemoteSettings.pollChanges(); return true;")
    assert "InvalidSignatureError" in outcome.get("error", ""), outcome
    log = serving.log()
    for asked in ["GET /v1/buckets/monitor/collections/changes/changeset", "GET /v1/buckets/main/collections/",
                  "GET /chains/"]:
        assert asked in log, log


def test_it_syncs_records_deltas_and_attachments(firefox, serving):
    # As a poll does it, with the timestamp that the monitor gave: the monitor itself may be cached for a minute.
    sync = UNVERIFIED + "await client.maybeSync(args[1]); return await client.get({syncIfEmpty: false});"

    def timestamp(name):
        changes = serving.changeset("monitor/changes").json()["changes"]
        return next(each["last_modified"] for each in changes if each["collection"] == name)

    for name in ["settings", "regions", "large", "icons"]:
        outcome = firefox.run(sync, name, timestamp(name))
        assert "value" in outcome, outcome
        assert {r["id"]: r for r in outcome["value"]} == records(serving, name)
    before = serving.metric('rsdump_requests_total{route="delta",status="200"}')
    assert serving.ask("/demo/publish", method="POST").status == 200
    for name in ["settings", "regions", "icons"]:
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
