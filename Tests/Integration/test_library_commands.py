"""`rsdump get`, with and without `--sync`, which does what an app does with the library."""
import json
import re

import pytest

import rsdump
import samples

ICONS, SETTINGS, MARKETS = "main/icons", "main/settings", "main/markets"


class App:
    """An app's storage directory and configuration."""

    def __init__(self, storage, *options):
        self.storage, self.options = storage, options

    def sync(self, *arguments, **options):
        return rsdump.run("get", *arguments, "--sync", "--storage", self.storage, *self.options, **options)

    def get(self, *arguments, **options):
        return rsdump.run("get", *arguments, "--storage", self.storage, *self.options, **options)

    def records(self, *arguments):
        outcome = self.get(*arguments)
        assert outcome.code == rsdump.DONE, str(outcome)
        return {record["id"]: record for record in map(json.loads, outcome.out.splitlines())}


@pytest.fixture
def networked(sample, tmp_path):
    """An app without packaged data."""
    return App(tmp_path / "storage", "--server", sample.url, "--trust-root", sample.root)


@pytest.fixture
def packaged(dumps, tmp_path):
    """An app with the sample collections packaged in the server's state; dumps.yaml gives the server."""
    return App(tmp_path / "storage", "--packaged", dumps.path)


def served(server, name):
    return {record["id"]: record for record in server.changeset(name)["changes"]}


# First sync, delta, up to date


def test_sync_then_get(networked, sample):
    outcome = networked.sync(MARKETS, SETTINGS)
    assert outcome.code == rsdump.DONE, str(outcome)
    for name, line in zip((MARKETS, SETTINGS), outcome.err.splitlines(), strict=True):
        assert re.fullmatch(rf"{name}  updated, \d{{4}}-\d\d-\d\dT[\d:.]+Z", line), line
    expected = served(sample, MARKETS)
    ids = [json.loads(line)["id"] for line in outcome.out.splitlines()]
    assert ids == sorted(expected) + sorted(served(sample, SETTINGS))
    position = sample.log_position()
    assert networked.records(MARKETS) == expected
    assert sample.requests(position) == []
    outcome = networked.sync(MARKETS, SETTINGS)
    assert outcome.code == rsdump.DONE and outcome.err.count("up to date") == 2, str(outcome)
    assert len(sample.requests(position)) == 1


# Packaged, an empty storage directory, no network


def test_get_explains_missing_collection(packaged, sample):
    position = sample.log_position()
    outcome = packaged.get("main/absent")
    assert outcome.code == rsdump.SOME_FAILED and outcome.out == "", str(outcome)
    assert outcome.says("main/absent", "nothing is stored or packaged"), str(outcome)
    outcome = packaged.get("other/markets")
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("it is from the bucket main"), str(outcome)
    # Packaged data verified by a pinned root is accepted with any server; without the root it is not.
    elsewhere = MARKETS, "--server", "https://settings.example.org/v1"
    assert packaged.get(*elsewhere).code == rsdump.DONE
    outcome = packaged.get(*elsewhere, "--trust-root", sample.other_root)
    assert outcome.code == rsdump.SOME_FAILED, str(outcome)
    assert outcome.says("it is from the server", "settings.example.org"), str(outcome)
    outcome = packaged.get(MARKETS, "--trust-root", sample.other_root)
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("root"), str(outcome)
    assert sample.requests(position) == []


# --explain, --context, --attachment


def test_explain(packaged, dumps, sample):
    plain = packaged.get(MARKETS)
    outcome = packaged.get(MARKETS, "--explain")
    assert outcome.code == rsdump.DONE and outcome.out == plain.out and plain.err == "", str(outcome)
    told = dict(line.split(None, 1) for line in outcome.err.splitlines())
    timestamp = dumps.lock["collections"][MARKETS]["timestamp"]
    assert told["collection"] == MARKETS
    assert told["source"] == f"packaged in {dumps.path}"
    assert told["timestamp"].split()[0] == str(timestamp)
    assert told["age"].split()[0].isdigit()
    assert told["records"].split()[0] == str(len(served(sample, MARKETS)))
    assert "remote-settings.content-signature.mozilla.org" in told["signature"]
    sample.patch_record(MARKETS, "at", {"currency": "ATS"})
    assert packaged.sync(MARKETS).code == rsdump.DONE
    outcome = packaged.get(MARKETS, "--explain")
    assert outcome.says("stored by a sync", "not used", "a newer snapshot exists"), str(outcome)
    outcome = packaged.get("main/absent", "--explain")
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("source      none"), str(outcome)


def test_attachment(packaged, sample, tmp_path):
    record = served(sample, ICONS)["petals-05"]
    target = tmp_path / "icon.svg"
    position = sample.log_position()
    outcome = packaged.get(ICONS, "--attachment", "petals-05", "-o", target, "--explain")
    assert outcome.code == rsdump.DONE and outcome.out == "", str(outcome)
    assert target.read_bytes() == samples.svg(5) and outcome.says("packaged in"), str(outcome)
    outcome = packaged.get(ICONS, "--attachment", "petals-05")
    assert outcome.out.encode() == samples.svg(5), str(outcome)
    assert sample.requests(position) == []
    outcome = packaged.get(ICONS, "--attachment", "absent", "-o", tmp_path / "none")
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("absent"), str(outcome)
    outcome = packaged.get(SETTINGS, "--attachment", "telemetry", "-o", tmp_path / "none")
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("telemetry", "the field attachment is missing"), str(outcome)
    outcome = packaged.get(ICONS, "-o", tmp_path / "none")
    assert outcome.code == rsdump.USAGE and outcome.says("--attachment"), str(outcome)
    assert not (tmp_path / "none").exists() and record["attachment"]["size"] == len(samples.svg(5))


def test_get_errors_name_the_remedy(networked, packaged):
    outcome = networked.get(MARKETS)
    assert outcome.code == rsdump.SOME_FAILED and outcome.says("or --sync"), str(outcome)
    both = packaged.get("main/absent", SETTINGS, "main/none")
    assert both.code == rsdump.SOME_FAILED and both.says("main/absent", "main/none") and both.out.count("\n") == 5, str(both)
    outcome = packaged.get(MARKETS, ICONS, "--attachment", "petals-05")
    assert outcome.code == rsdump.USAGE and outcome.says("one collection"), str(outcome)


# Exit codes


@pytest.mark.parametrize("arguments", [
    ["markets"], ["main/markets", "--packaged"], [], ["main/markets", "--server", "nonsense"],
    ["main/markets", "--trust-root", "12"], ["main/../x"], ["main/markets", "--unknown"],
])
@pytest.mark.parametrize("more", [[], ["--sync"]], ids=["get", "sync"])
def test_bad_usage(more, arguments, tmp_path):
    outcome = rsdump.run("get", *arguments, *more, "--storage", tmp_path / "storage")
    assert outcome.code == rsdump.USAGE and outcome.out == "" and outcome.err, str(outcome)
    assert not (tmp_path / "storage").exists()


@pytest.mark.parametrize("more", [[], ["--sync"]], ids=["get", "sync"])
def test_get_from_server_without_root_is_refused(more, sample, tmp_path):
    outcome = rsdump.run("get", MARKETS, *more, "--storage", tmp_path / "storage", "--server", sample.url)
    assert outcome.code == rsdump.USAGE and outcome.says("--trust-root"), str(outcome)


@pytest.mark.parametrize("server", [
    "prod", "https://firefox.settings.services.mozilla.com/v1", "https://FIREFOX.settings.services.mozilla.com:443/v2/",
    "https://firefox.settings.services.allizom.org/v1", "https://remote-settings-dev.allizom.org/v2",
])
def test_mozilla_server_urls_have_builtin_roots(server, tmp_path):
    """These servers have built-in roots. The test sends no requests to them."""
    found = rsdump.run("get", MARKETS, "--storage", tmp_path / "storage", "--server", server)
    assert found.code == rsdump.SOME_FAILED and not found.says("--trust-root"), str(found)
    assert rsdump.run("add", MARKETS, "--dumps", tmp_path, "--server", server).code == rsdump.DONE
    verified = rsdump.run("verify", "--dumps", tmp_path)
    assert verified.says("never been fetched") and not verified.says("no trusted root"), str(verified)
    other = server.replace(".com", ".com.example.org").replace(".org/", ".org.example.org/").replace("prod", "http://localhost/v1")
    refused = rsdump.run("get", MARKETS, "--storage", tmp_path / "storage", "--server", other)
    assert refused.code == rsdump.USAGE and refused.says("--trust-root"), str(refused)


@pytest.mark.parametrize("more", [[], ["--sync"]], ids=["get", "sync"])
def test_get_needs_storage_option(more):
    outcome = rsdump.run("get", MARKETS, *more)
    assert outcome.code == rsdump.USAGE and outcome.says("--storage"), str(outcome)


def test_nothing_reachable(tmp_path, sample):
    # No server listens on port 1 of this machine.
    app = App(tmp_path / "storage", "--server", "http://127.0.0.1:1/v1", "--trust-root", sample.root)
    outcome = app.sync(MARKETS)
    assert outcome.code == rsdump.UNREACHABLE and outcome.out == "", str(outcome)


def test_get_sync_obeys_backoff(networked, sample):
    sample.faults({"path": "monitor", "status": 503, "headers": {"Retry-After": "3600"}})
    outcome = networked.sync(MARKETS)
    assert outcome.code == rsdump.BACKOFF, str(outcome)
    sample.faults()
    # The next process honors it too.
    position = sample.log_position()
    outcome = networked.sync(MARKETS)
    assert outcome.code == rsdump.BACKOFF and sample.requests(position) == [], str(outcome)
