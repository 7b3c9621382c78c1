"""The test server keeps its own promises; the other tests lean on them."""
import json
import urllib.error
import urllib.request

import pytest
import verify
from autograph_utils import BadCertificate, BadSignature


def check_signatures(server, name):
    changeset = server.changeset(name)
    for each in changeset["metadata"]["signatures"]:
        verify.check(
            verify.payload_of(changeset), name.split("/")[0], each["signature"], each["x5u"],
            lambda url: server.request("GET", url), server.root)


def get(url):
    """Status, final URL and document of a request."""
    with urllib.request.urlopen(url) as response:
        return response.status, response.url, json.loads(response.read() or b"null")


def test_every_real_collection_is_signed(real, real_names):
    assert len(real_names) >= 31
    for name in real_names:
        check_signatures(real, name)


@pytest.mark.parametrize("signature", [
    {"tampered": True}, {"chain": "expired"}, {"chain": "notyet"}, {"chain": "otherroot"}, {"chain": "wrongname"},
    {"key": "next", "chain": "chain"},
])
def test_wrong_signatures_are_wrong(sample, signature):
    sample.signing("main/settings", signature)
    with pytest.raises((BadCertificate, BadSignature)):
        check_signatures(sample, "main/settings")


def test_the_next_key_signs_too(sample):
    sample.signing("main/settings", {"key": "leaf"}, {"key": "next"})
    assert len(sample.changeset("main/settings")["metadata"]["signatures"]) == 2
    check_signatures(sample, "main/settings")


def test_members_that_say_nothing_are_signed_too(sample):
    """As on Mozilla's server, where removing an attachment leaves null behind."""
    sample.put_record("main/settings", {"id": "without", "attachment": None, "deleted": False})
    record = next(each for each in sample.changeset("main/settings")["changes"] if each["id"] == "without")
    assert record["attachment"] is None and record["deleted"] is False
    check_signatures(sample, "main/settings")


def test_v2_redirects_an_unknown_since(sample):
    path = "/buckets/main/collections/settings/changeset?_expected=0"
    timestamp = sample.changeset("main/settings")["timestamp"]
    _, url, _ = get(f"{sample.v2}{path}&_since={timestamp}")
    assert "_since" in url
    _, url, document = get(f"{sample.v2}{path}&_since={timestamp - 1}")
    assert "_since" not in url and len(document["changes"]) == 5
    with pytest.raises(urllib.error.HTTPError, match="400"):
        get(f"{sample.v2}{path.replace('=0', '=5')}&_since={timestamp}")


def test_a_restored_state_is_the_old_one(sample):
    before = sample.changeset("main/settings")
    sample.patch_record("main/settings", "telemetry", {"value": True})
    assert sample.changeset("main/settings")["timestamp"] > before["timestamp"]
    sample.restore("seeded")
    assert sample.changeset("main/settings") == before
