"""A static origin, nginx over plain files: a mirror must do as well as the server, and take large files."""
import contextlib
import shutil
import signal
import time

import large
import origin
import pytest

import rsdump
from rs_server.client import Server

GIGABYTE = 1 << 30
MEMORY = 16 << 20
LARGE = large.NAME


@pytest.fixture(scope="module")
def mirror(real_server, tmp_path_factory):
    real_server.restore("seeded")
    with origin.make(real_server, tmp_path_factory.mktemp("mirror")) as nginx:
        yield nginx


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    """A static origin of one collection with an attachment of 1 GiB, and its server."""
    folder = tmp_path_factory.mktemp("film")
    with origin_of(GIGABYTE, folder) as nginx:
        yield nginx
    shutil.rmtree(folder)


@contextlib.contextmanager
def origin_of(size, folder):
    large.write(folder / "dump", size)
    with Server.start(folder / "server") as server:
        server.load(folder / "dump")
        with origin.make(server, folder / "origin") as nginx:
            nginx.server = server
            yield nginx


def test_a_mirror_gives_the_same_bundles(refreshed_real, real, real_names, mirror, empty):
    """The x5u differs, which metadata.json keeps; all that is signed and packed is the same."""
    assert empty.add(real, *real_names, url=mirror.url).code == rsdump.DONE
    outcome = empty.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    for name in real_names:
        ours, theirs = refreshed_real.bundle(name), empty.bundle(name)
        assert ours.payload == theirs.payload, name
        assert ours.attachments.keys() == theirs.attachments.keys(), name
    position = mirror.log_position()
    assert empty.refresh().code == rsdump.DONE
    assert len(mirror.requests(position)) == 1


def test_a_gibibyte_needs_as_much_memory_as_a_kibibyte(film, empty, tmp_path):
    """Within 16 MiB: the program's own pages, which both count, are more than that in a debug build."""
    with origin_of(1024, tmp_path) as small:
        assert empty.add(small.server, LARGE, url=small.url).code == rsdump.DONE
        outcome = empty.refresh()
        assert outcome.code == rsdump.DONE, str(outcome)
    usual = outcome.peak
    shutil.rmtree(empty.path)
    assert empty.add(film.server, LARGE, url=film.url).code == rsdump.DONE
    outcome = empty.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    assert outcome.peak <= usual + MEMORY, f"{outcome.peak / (1 << 20):.1f} MiB, usually {usual / (1 << 20):.1f}"
    bundle = empty.bundle_path(LARGE)
    assert bundle.stat().st_size >= GIGABYTE
    outcome = empty.verify()
    assert outcome.code == rsdump.DONE, str(outcome)
    assert outcome.peak <= usual + GIGABYTE + MEMORY    # a mapped file counts while its pages are looked at


def test_a_download_that_was_killed_goes_on_where_it_was(film, empty):
    assert empty.add(film.server, LARGE, url=film.url).code == rsdump.DONE
    process = rsdump.start("refresh", "--dumps", empty.path)
    wait_for_a_file_of(100 << 20, empty.path, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    position = film.log_position()
    outcome = empty.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    downloads = [each for each in film.requests(position) if each["path"].endswith("film.bin") and each["range"]]
    assert len(downloads) == 1 and downloads[0]["status"] == 206
    assert downloads[0]["bytes"] <= GIGABYTE - (100 << 20)


def wait_for_a_file_of(size, folder, process):
    while process.poll() is None:
        if any(path.stat().st_size >= size for path in folder.rglob("*") if path.is_file()):
            return
        time.sleep(0.001)
    pytest.fail("the refresh ended before so much was there")
