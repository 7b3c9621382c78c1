"""levels.py [DUMPS]: what each level of deflate costs and saves over real collections (.cache/real-collections).

A table in Markdown: the payloads as bundles have them, and the real attachments that are beside the dumps. Python's zlib is the
system's, which rsdump is linked with too. CPU time, the least of three.
"""
import json
import pathlib
import sys
import time
import zlib

REAL_COLLECTIONS = pathlib.Path(__file__).resolve().parents[2] / ".cache/real-collections"


def payload(dump):
    """As a bundle's records.json, but for the spelling of some numbers."""
    records = sorted(dump["data"], key=lambda record: record["id"])
    whole = {"data": records, "last_modified": str(dump["timestamp"])}
    return json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()


def packed(content, level):
    deflater = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS, 8)
    return min(len(content), len(deflater.compress(content)) + len(deflater.flush()))


def measure(contents, level):
    """Bytes, and milliseconds."""
    times = []
    for _ in range(3):
        began = time.process_time()
        size = sum(packed(content, level) for content in contents)
        times.append((time.process_time() - began) * 1000)
    return size, min(times)


def main():
    dumps = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else REAL_COLLECTIONS
    payloads, attachments = [], []
    for path in sorted(dumps.glob("*/*.json")):
        dump = json.loads(path.read_bytes())
        payloads.append(payload(dump))
        files = [path.with_suffix("") / record["id"] for record in dump["data"] if record.get("attachment")]
        attachments += [file.read_bytes() for file in files if file.is_file()]
    parts = [("records", payloads), ("attachments", attachments)]
    names = [f"{len(contents)} {name}, {sum(map(len, contents)):,} bytes" for name, contents in parts]
    print(f"| level | {names[0]} | ms | {names[1]} | ms | all, to level 9 |\n| --- | --- | --- | --- | --- | --- |")
    best = [None, None]
    for level in range(9, 0, -1):
        found = [measure(contents, level) for _, contents in parts]
        best = [first or size for first, (size, _) in zip(best, found)]
        cells = [f"{size:,} ({size / first - 1:+.2%}) | {cost:.0f}" for (size, cost), first in zip(found, best)]
        print(f"| {level} | {' | '.join(cells)} | {sum(size for size, _ in found) / sum(best) - 1:+.2%} |", flush=True)


if __name__ == "__main__":
    main()
