"""rsbench over the bundles of a refresh and the changesets that the server answered, and Python's json for comparison."""
import json
import pathlib
import random
import statistics
import subprocess
import time
import urllib.parse
import urllib.request


def run(rsbench, dumps, urls, scratch):
    """Returns Markdown tables.

    `dumps` is what rsdump refresh wrote, `urls` what it asked for, among them a changeset for each collection.
    """
    changesets = scratch / "changesets"
    for url in urls:
        parts = urllib.parse.urlparse(url).path.split("/")
        if parts[-1] == "changeset" and parts[-4] != "monitor":
            with urllib.request.urlopen(url) as answer:
                write_both(changesets, f"{parts[-4]}/{parts[-2]}.json", answer.read())
    command = [rsbench, "refresh", dumps, changesets]
    tables = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return tables + "\n" + python_table(changesets / "served")


def write_both(folder, name, served):
    """The changeset as it came, and with its keys in disorder and everything escaped that can be."""
    for kind, content in ("served", served), ("disordered", disordered(served)):
        path = folder / kind / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def disordered(served):
    order = random.Random(20)

    def mix(value):
        if isinstance(value, dict):
            members = [(key, mix(item)) for key, item in value.items()]
            order.shuffle(members)
            return dict(members)
        return [mix(item) for item in value] if isinstance(value, list) else value

    text = json.dumps(mix(json.loads(served)), ensure_ascii=True, separators=(",", ":"))
    return text.replace("/", "\\/").encode()


def python_table(folder):
    documents = [path.read_bytes() for path in sorted(folder.glob("*/*.json"))]
    times = []
    for _ in range(6):
        start = time.perf_counter()
        for document in documents:
            json.dumps(json.loads(document), sort_keys=True, separators=(",", ":")).encode()
        times.append((time.perf_counter() - start) * 1000)
    median = statistics.median(times)
    size = sum(map(len, documents))
    return "\n".join([
        "### The same changesets in Python", "",
        "| | ms, min / median | MB/s at the median |", "| --- | --- | --- |",
        f"| `json.loads`, `json.dumps(sort_keys=True)` | {min(times):.3f} / {median:.3f} | {size / 1000 / median:.0f} |",
    ]) + "\n"
