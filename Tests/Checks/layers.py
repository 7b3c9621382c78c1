#!/usr/bin/env python3
"""scripts/check layers: a module in Sources/LAYER depends only on its own layer and on those before it. Tool, Publish and
Server meet only in rsdump."""
import json
import pathlib
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


if __name__ == "__main__":
    found = list(problems(manifest()))
    print(*(f"check layers: {problem}" for problem in found), f"check layers: {len(found)} problems", sep="\n")
    sys.exit(1 if found else 0)
