"""A static origin of a running test server.

    origin.py --data DIR --folder FOLDER [--port N] [--large BYTES]

Copies what the test server in DIR answers into FOLDER and serves it by nginx until interrupted; prints the URL.
--large first adds main/large-file, one attachment of so many bytes.
"""
import argparse
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "kinto"))
from rs_server.client import Server

import large
from crawl import Crawl
from nginx import Nginx


def make(server, folder, port=None):
    """An Nginx, not started yet, that serves what `server` answers now."""
    nginx = Nginx(folder, port)
    Crawl(server.url, server.data / "attachments", nginx.files / "v1", nginx.url).run()
    return nginx


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--port", type=int)
    parser.add_argument("--large", type=int)
    arguments = parser.parse_args()
    server = Server(arguments.data.resolve(), (arguments.data / "url").read_text().strip())
    if arguments.large:
        large.write(arguments.folder / "large", arguments.large)
        server.load((arguments.folder / "large").resolve())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with make(server, arguments.folder, arguments.port) as nginx:
        print(nginx.url, flush=True)
        nginx.process.wait()


if __name__ == "__main__":
    main()
