"""The test server's faults are the faults that they are said to be; curl is the judge."""
import subprocess

import pytest
import toolchain

PATH = "/buckets/main/collections/settings/changeset?_expected=0"


def curl(server, *arguments, path=PATH):
    """curl's exit code, the status and the bytes of the body as sent."""
    finished = subprocess.run(
        [toolchain.curl(), "--silent", "--location", "--max-redirs", "5",
         "--write-out", "\n%{http_code} %{size_download}", *arguments, server.url + path],
        capture_output=True, check=False)
    status, size = finished.stdout.rsplit(b"\n", 1)[1].split()
    return finished.returncode, int(status), int(size)


def inflated_size(server, most):
    """How long the inflated body is, looked at no further than to `most` bytes."""
    command = f"curl --silent --compressed '{server.url}{PATH}' | head -c {most} | wc -c"
    return int(subprocess.run(command, shell=True, capture_output=True, check=True).stdout)


PARTIAL_FILE, TOO_MANY_REDIRECTS = 18, 47


@pytest.mark.parametrize("fault, code", [
    ({"truncate": 100}, PARTIAL_FILE),
    ({"truncate": 0}, PARTIAL_FILE),
    ({"redirect": "self"}, TOO_MANY_REDIRECTS),
], ids=str)
def test_curl_fails_as_it_should(sample, fault, code):
    sample.faults({"path": "settings/changeset", **fault})
    assert curl(sample)[0] == code
    sample.faults()
    assert curl(sample)[:2] == (0, 200)


def test_a_gzip_bomb_is_small_on_the_way_and_large_after(sample):
    sample.faults({"path": "settings/changeset", "gzip_bomb": 1 << 30})
    code, _, size = curl(sample)
    assert code == 0 and size < 2_000_000
    assert inflated_size(sample, 300_000_000) == 300_000_000


def test_an_endless_body_goes_on(sample):
    sample.faults({"path": "settings/changeset", "endless": True})
    assert inflated_size(sample, 300_000_000) == 300_000_000


def test_times_and_skip_count_requests(sample):
    sample.faults({"path": "settings/changeset", "status": 503, "skip": 1, "times": 2})
    assert [curl(sample)[1] for _ in range(4)] == [200, 503, 503, 200]


def test_attachments_answer_ranges(sample):
    record = sample.changeset("main/icons")["changes"][0]
    path = "/attachments/" + record["attachment"]["location"]
    code, status, size = curl(sample, "--range", "10-", path=path)
    assert (code, status, size) == (0, 206, record["attachment"]["size"] - 10)
