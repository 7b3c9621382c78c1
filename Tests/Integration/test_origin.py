"""A static origin, nginx with plain files: it must work as well as the server, and serve large files."""
import contextlib
import shutil

import large
import origin
import pytest

import rsdump
from rs_server.client import Server

LARGE_FILE = 256 << 20
MEMORY = 16 << 20
LARGE = large.NAME


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    """A static origin of one collection with an attachment of 256 MiB, and its server."""
    folder = tmp_path_factory.mktemp("film")
    with origin_of(LARGE_FILE, folder) as nginx:
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


def test_large_attachment_needs_as_much_memory_as_small_one(film, empty, tmp_path):
    """Within 16 MiB. A debug build's own pages, which both measurements include, take more than that."""
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
    assert bundle.stat().st_size >= LARGE_FILE
    outcome = empty.verify()
    assert outcome.code == rsdump.DONE, str(outcome)
    assert outcome.peak <= usual + LARGE_FILE + MEMORY    # a mapped file counts while its pages are in use
