#!/usr/bin/env python3
"""scripts/check sources: rules that the compiler cannot check.

  - A module in Sources/LAYER depends only on its own layer and on those before it. Only rsdump uses all of Tool, Publish and Server.
  - Of two folders of a module, at most one uses types of the other, except rsdump's main command.
  - Only `succession` decides which of two states is used.
  - Untrusted strings are compared by their UTF-8 bytes, with ExactString, and not as a String, for which two forms of é are equal.
    This applies to the keys of dictionaries, the elements of sets, and `==` on members with such strings. Allowed are
    declarations of the public API, which accept names from an app's code, environment variables, and the lines in EXCEPTIONS,
    each with its reason.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS = ["C", "Format", "Network", "Library", "Dumps", "Job", "Publish", "Server", "Tool"]


def manifest():
    """Package.swift as SwiftPM reads it. A separate scratch path avoids waiting for a running build."""
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


# Files that compare timestamps for a different purpose: a time ahead of the clock, the history, messages.
COMPARE = {
    "BundleHistory", "CollectionFetcher", "CollectionSync", "DiffWords", "DumpsLoader", "EarlierState", "GuardVerification",
    "Import", "ListCommand", "LocalCollection", "MirrorPublication", "MissedRefreshes", "MonitorDocument", "NextState",
    "Origin+Documents", "PinRequest", "Publisher", "RefreshPlan", "ServedCollection", "SnapshotVerifier", "StateTrial", "Succession",
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


FORBIDDEN = re.compile(
    r"\[\[?String\??\]? ?:(?! ?Any\b)|\b(?:Set|Dictionary)<String\b"
    # Literals of ASCII without K, ; and ` equal no other string.
    r"|\.(?:key|location|filename)\b(?!\.)\)? [!=]= (?!nil|[\w.]*\.exact|\"[ -:<-JL-_a-~]*\"|\.\w)")
PUBLIC = re.compile(r"\b(?:public|open)\b")
ALLOWED = re.compile(r"^\s*//|\benvironment\b")
# What is compared, and the number of lines in each file.
EXCEPTIONS = {
    "ids of collections and records, which are ASCII": {
        "Library/FirefoxDumps/PackagedSource+EmbeddedFirefoxDumps.swift": 1,
        "Library/RemoteSettings/API/PackagedSource.swift": 1,
        "Library/RemoteSettings/API/SyncResults.swift": 1,
        "Library/RemoteSettings/Storage/StorageIndex.swift": 4,
        "Library/MozillaBinding/Protocols.swift": 1,
        "Library/RemoteSettingsTesting/InMemoryOrigin/OriginState.swift": 2,
        "Library/RemoteSettingsTesting/InMemoryOrigin/OriginTransport.swift": 1,
        "Library/RemoteSettingsTesting/InMemoryOrigin/ServerCollection.swift": 3,
        "Server/SnapshotServer/Demo/DemoCollection.swift": 1,
        "Server/SnapshotServer/Demo/DemoOrigin.swift": 1,
        "Dumps/DumpsExchange/Embed/EmbeddedTarget.swift": 1,
        "Dumps/Dumps/Refresh/AttachmentGatherer.swift": 1,
    },
    "URLs of chains, which are verified whatever their URL is": {
        "Format/SnapshotBundle/Trust/SnapshotVerifier.swift": 5,
        "Library/RemoteSettings/API/RemoteSettingsConfig+Lock.swift": 1,
        "Network/RemoteSettingsHTTP/Fetch/ChainStore.swift": 5,
    },
    "variables of the environment": {
        "Dumps/Dumps/History/GitCommand.swift": 2,
        "Job/Job/ForgeFinder.swift": 2,
        "Tool/rsdump/Commands/NightlyCommand.swift": 1,
    },
    "origins of URLs": {
        "Network/RemoteSettingsHTTP/Backoff.swift": 1,
        "Network/RemoteSettingsHTTP/ServerClient.swift": 3,
        "Tool/rsdump/Output/Progress.swift": 1,
    },
    "names of files that this process has made": {
        "Format/SnapshotBundle/FileStorage/TemporaryDirectory.swift": 1,
        "Library/RemoteSettings/Storage/StorageDirectory.swift": 3,
    },
    "names of Swift, which the compiler compares in the same way": {
        "Dumps/DumpsExchange/Embed/Types/DeclaredType.swift": 6,
        "Dumps/DumpsExchange/Embed/Types/RecordType.swift": 3,
    },
    "what an app's own code names": {
        "Format/RemoteSettingsModel/Values/ExactString.swift": 1,
        "Library/RemoteConfiguration/Values/CustomSignals.swift": 1,
        "Library/RemoteConfiguration/API/RemoteConfig+Overrides.swift": 1,
        "Library/RemoteConfiguration/State/ObserverHub.swift": 2,
        "Library/RemoteSettings/API/RemoteSettingsConfig.swift": 1,
        "Library/RemoteSettingsConfiguration/RemoteSettingsProvider.swift": 1,
        "Dumps/DumpsExchange/Export/ParameterDefaults.swift": 1,
    },
}
REVIEWED = {path: (most, reason) for reason, files in EXCEPTIONS.items() for path, most in files.items()}


def compared(path):
    """The lines that compare strings as String."""
    before = ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        # The arguments of a long declaration are on the lines after its first.
        is_public = PUBLIC.search(line) or (before.endswith("(") and PUBLIC.search(before))
        if FORBIDDEN.search(line) and not ALLOWED.search(line) and not is_public:
            yield number, line.strip()
        before = before if is_public and line.endswith(",") else line


def comparisons_of_text():
    root = ROOT / "Sources"
    for path in sorted(root.rglob("*.swift")):
        lines = list(compared(path))
        most, reason = REVIEWED.get(path.relative_to(root).as_posix(), (0, ""))
        if len(lines) > most:
            reviewed = f"{most} reviewed{f' ({reason})' if reason else ''}"
            yield from (f"{path}:{number}: compare it by bytes, with ExactString ({reviewed}): {line}" for number, line in lines)


if __name__ == "__main__":
    found = [*problems(manifest()), *mutual_folders(), *comparisons(), *comparisons_of_text()]
    print(*(f"check sources: {problem}" for problem in found), f"check sources: {len(found)} problems", sep="\n")
    sys.exit(1 if found else 0)
