"""seed.py --data DIR [--synthesize BYTES] DUMPS [BUCKET/COLLECTION ...]

Loads dumps as Firefox ships them into the running server that has its data in DIR: by default all that are found.
With --synthesize, attachments whose bytes are not beside the dumps are made up, each with at most that many bytes.
"""
import argparse
import pathlib
import time

from rs_server.client import Server

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--data", type=pathlib.Path, required=True)
parser.add_argument("--synthesize", type=int)
parser.add_argument("dumps", type=pathlib.Path)
parser.add_argument("names", nargs="*")
arguments = parser.parse_args()

began = time.monotonic()
server = Server(arguments.data, (arguments.data / "url").read_text().strip())
loaded = server.load(arguments.dumps.resolve(), arguments.names, arguments.synthesize)
for each in loaded:
    print(f"{each['collection']}: timestamp {each['timestamp']}, {each['records']} records, "
          f"{each['attachments']} attachments")
records, attachments = (sum(each[key] for each in loaded) for key in ("records", "attachments"))
print(f"{len(loaded)} collections, {records} records, {attachments} attachments in {time.monotonic() - began:.1f} s")
