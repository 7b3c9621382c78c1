"""change.py --data DIR: what an editor would do: one record edited, one with an attachment added, one deleted."""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "kinto"))
from rs_server.client import Server

import samples

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--data", type=pathlib.Path, required=True)
data = parser.parse_args().data.resolve()
server = Server(data, (data / "url").read_text().strip())
server.patch_record("main/settings", "sync-interval", {"value": 12})
print("main/settings: edited sync-interval")
server.put_attachment("main/icons", "petals-23", "petals-23.svg", samples.svg(23), "image/svg+xml")
print("main/icons: added petals-23 with its attachment")
server.delete_record("main/regions", "nowhere")
print("main/regions: deleted nowhere")
