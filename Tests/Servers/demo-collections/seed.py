"""seed.py --data DIR: puts the sample collections, signed, into the running test server that has its data in DIR."""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "kinto"))
from rs_server.client import Server

import samples

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--data", type=pathlib.Path, required=True)
data = parser.parse_args().data.resolve()
samples.write(data / "samples")
server = Server(data, (data / "url").read_text().strip())
for each in server.load(data / "samples"):
    print(f"{each['collection']}: {each['records']} records, {each['attachments']} attachments")
server.build_zip("main/icons")
