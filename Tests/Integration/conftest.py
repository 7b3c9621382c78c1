"""Servers and directories for the integration tests.

Real Kinto servers: `real` with the 31 real collections, `sample` with the demo's sample collections. Each server starts once
and is reset to its initial data before every test that uses it.
"""
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
SERVERS = HERE.parent / "Servers"
REPOSITORY = HERE.parents[1]
for folder in (SERVERS, SERVERS / "kinto", SERVERS / "demo-collections", SERVERS / "origin"):
    sys.path.insert(0, str(folder))

import machine

machine.isolate()

import rsdump
import samples
from dumps import Dumps
from publishing import Team
from rs_server.client import Server

# From Debian's firefox-esr, in the version that Debian ships. Firefox 140 and 153 are supported: since 153, the members of the
# dumps are sorted, except in main/doh-*.
REAL_COLLECTIONS = REPOSITORY / ".cache/real-collections"
FOREIGN = (
    "firefox-esr has been updated, and its dumps have another form than those of Firefox 140 and 153: look at what has changed in "
    ".cache/real-collections, adapt `export --to firefox` or the test, and note the version in Tests/Integration/conftest.py")
SYNTHESIZED_BYTES = 20_000


def pytest_sessionstart(session):
    if not rsdump.BINARY.is_file():
        pytest.exit(f"there is no {rsdump.BINARY}: build it, or name another one in RSDUMP", returncode=1)


@pytest.fixture(scope="session")
def real_server(tmp_path_factory):
    with Server.start(tmp_path_factory.mktemp("real-server")) as server:
        server.loaded = server.load(REAL_COLLECTIONS, synthesize=SYNTHESIZED_BYTES)
        server.save("seeded")
        yield server


@pytest.fixture(scope="session")
def real_names(real_server):
    return sorted(each["collection"] for each in real_server.loaded)


@pytest.fixture
def real(real_server):
    real_server.restore("seeded")
    return real_server


@pytest.fixture(scope="session")
def refreshed_real(real_server, real_names, tmp_path_factory):
    """All real collections, refreshed once. Tests must copy it, not change it."""
    real_server.restore("seeded")
    return add_and_refresh(Dumps(tmp_path_factory.mktemp("refreshed") / "dumps"), real_server, real_names)


@pytest.fixture(scope="session")
def sample_server(tmp_path_factory):
    data = tmp_path_factory.mktemp("sample-server")
    samples.write(data / "samples")
    with Server.start(data) as server:
        server.load(data / "samples")
        server.save("seeded")
        yield server


@pytest.fixture
def sample(sample_server):
    sample_server.restore("seeded")
    return sample_server


@pytest.fixture(scope="session")
def refreshed_sample(sample_server, tmp_path_factory):
    sample_server.restore("seeded")
    return add_and_refresh(Dumps(tmp_path_factory.mktemp("refreshed") / "dumps"), sample_server, samples.NAMES)


@pytest.fixture(scope="session")
def imported_real(tmp_path_factory):
    """All real collections, imported once from Firefox's dumps. Tests must not change it."""
    dumps = Dumps(tmp_path_factory.mktemp("imported") / "dumps")
    outcome = rsdump.run("import", "--from", "firefox", REAL_COLLECTIONS, "--dumps", dumps.path)
    assert outcome.code == rsdump.DONE, str(outcome)
    return dumps


@pytest.fixture
def dumps(refreshed_sample, sample, tmp_path):
    """A copy of the refreshed sample collections; the server still has the same data."""
    return refreshed_sample.copy(tmp_path / "dumps")


@pytest.fixture
def empty(tmp_path):
    return Dumps(tmp_path / "dumps")


def add_and_refresh(dumps, server, names):
    added = dumps.add(server, *names)
    assert added.code == rsdump.DONE, str(added)
    refreshed = dumps.refresh()
    assert refreshed.code == rsdump.DONE, str(refreshed)
    return dumps


@pytest.fixture
def team(tmp_path):
    """A publisher's sources, keys and dumps, published once."""
    team = Team(tmp_path)
    team.publish()
    return team


@pytest.fixture(scope="module")
def chromium():
    from browser import Browser

    driver = Browser()
    yield driver
    driver.quit()
