#!/usr/bin/env python3
"""scripts/check layers: a module in Sources/LAYER depends only on its own layer and on those before it. Tool, Publish and
Server meet only in rsdump. Of two folders of a module, at most one names types of the other; only rsdump's
command of all commands is named by them. Of two states, only succession decides which is used."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS = ["C", "Format", "Network", "Library", "Dumps", "Job", "Publish", "Server", "Tool"]


def manifest():
    """Package.swift as SwiftPM reads it. The scratch path is another one, so that this waits for no build."""
    with tempfile.TemporaryDirectory() as scratch:
        dump = subprocess.run(["swift", "package", "--scratch-path", scratch, "dump-package"],
                              cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(dump.stdout)


def problems(package):
    places = {target["name"]: (target.get("path") or "Tests").split("/") for target in package["targets"]}
    layers = {name: place[1] for name, place in places.items() if place[0] == "Sources"}
    for target in package["targets"]:
        layer = layers.get(target["name"])
        for dependency in target["dependencies"] if layer else []:
            name = next((value[0] for kind, value in dependency.items() if kind != "product"), None)
            if name and (LAYERS.index(layers[name]) > LAYERS.index(layer) or {layer, layers[name]} == {"Publish", "Server"}):
                yield f"{target['name']} of {layer} depends on {name} of {layers[name]}"


# Where timestamps are compared for another purpose: a time ahead of the clock, the history, what people are told.
COMPARE = {
    "BundleHistory", "CollectionFetcher", "CollectionSync", "DiffWords", "DumpsLoader", "EarlierState", "GuardVerification",
    "Import", "ListCommand", "LocalCollection", "MirrorPublication", "MissedRefreshes", "MonitorDocument", "NextState",
    "Origin+Documents", "PinRequest", "Publisher", "RefreshPlan", "ServedCollection", "SnapshotChoice", "SnapshotVerifier",
    "StateTrial", "Succession",
}


def comparisons():
    for path in ROOT.glob("Sources/**/*.swift"):
        found = re.search(r"^[^/\n]*(?:imestamp\)? [<>]=? |[<>]=? [\w.$!?]*imestamp\b)", path.read_text(), re.MULTILINE)
        if found and "-> " not in found[0] and path.stem not in COMPARE:
            yield f"{path.relative_to(ROOT)}: {found[0].strip()}: succession decides which of two states is used"


def mutual_folders():
    for module in ROOT.glob("Sources/*/*/"):
        texts = {path: re.sub(r'//.*|"(?:[^"\\\n]|\\.)*"', "", path.read_text()) for path in module.rglob("*.swift")}
        declared = {name: path.parent for path, text in texts.items()
                    for name in re.findall(r"^(?:(?:public|package|final|indirect) )*(?:struct|class|enum|protocol|actor) (\w+)", text, re.MULTILINE)}
        uses = {(path.parent, declared[name]) for path, text in texts.items() for name in re.findall(r"\w+", text) if name in declared}
        for one, other in sorted(uses):
            if one < other and (other, one) in uses and one.name != "rsdump":
                yield f"{one.relative_to(ROOT)} and {other.relative_to(module)} use each other"


if __name__ == "__main__":
    found = [*problems(manifest()), *mutual_folders(), *comparisons()]
    print(*(f"check layers: {problem}" for problem in found), f"check layers: {len(found)} problems", sep="\n")
    sys.exit(1 if found else 0)
