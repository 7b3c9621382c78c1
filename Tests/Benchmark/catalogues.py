"""What a catalogue adds to an app's first read, by rsbench: 1,908 records of about 640 bytes, among 31 collections."""
import argparse
import json
import os
import pathlib
import random
import socket
import subprocess
import tempfile

RECORDS, OTHERS = 1908, 30


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    options = parser.parse_args()
    rsdump = pathlib.Path(os.environ["RSDUMP"]).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)

        def run(*arguments):
            return subprocess.run(
                [str(each) for each in arguments], cwd=folder, check=True, capture_output=True, text=True).stdout

        (folder / "sources/main").mkdir(parents=True)
        chance = random.Random(1)
        # Hexadecimal digits deflate to a half, as certificates do.
        records = [{"id": f"record-{number}", "details": {"created": number}, "value": chance.randbytes(280).hex()}
                   for number in range(RECORDS)]
        (folder / "sources/main/large.json").write_text(json.dumps({"records": records}))
        for number in range(OTHERS):
            (folder / f"sources/main/small-{number}.yaml").write_text("records:\n  - {id: a, value: 1}\n")
        run(rsdump, "keys", "create", "keys")
        root = json.loads(run(rsdump, "keys", "status", "keys", "--format", "json"))["root"]
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        run(rsdump, "publish", "--publisher", "bench", "--server", f"{url}/v2")
        with subprocess.Popen(
                [rsdump, "serve", "--port", str(port), "--dumps", "dumps"], cwd=folder, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True) as server:
            try:
                server.stdout.readline()
                run(rsdump, "get", "main/large", "--sync", "--storage", "storage", "--server", f"{url}/v2", "--trust-root", root,
                    "--publisher", "bench")
            finally:
                server.kill()
        print(run(rsdump.with_name("rsbench"), "catalogue", "dumps", "storage", "main/large", "bench", options.runs))


if __name__ == "__main__":
    main()
