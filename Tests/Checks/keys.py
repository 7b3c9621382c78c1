#!/usr/bin/env python3
"""Finds text from outside that is compared as Swift's `String`, to which two spellings of é are one.

Looked at are the keys of dictionaries, the elements of sets, and `==` on the members that carry such text, in every line of
Sources. They are written with `ExactString`, which is compared by its UTF-8 bytes. Allowed are declarations of the public
API, which take what an app's code names, variables of the environment, and the lines in EXCEPTIONS, each with its reason.
"""
import pathlib
import re
import sys

FORBIDDEN = re.compile(
    r"\[\[?String\??\]? ?:(?! ?Any\b)|\b(?:Set|Dictionary)<String\b"
    # Literals of ASCII without K, ; and ` equal no other text.
    r"|\.(?:key|location|filename)\b(?!\.)\)? [!=]= (?!nil|[\w.]*\.exact|\"[ -:<-JL-_a-~]*\"|\.\w)")
PUBLIC = re.compile(r"\b(?:public|open)\b")
ALLOWED = re.compile(r"^\s*//|\benvironment\b")
# What is compared, and in how many lines of which files.
EXCEPTIONS = {
    "ids of collections and records, which are ASCII": {
        "Library/FirefoxDumps/PackagedSource+EmbeddedFirefoxDumps.swift": 1,
        "Library/RemoteSettings/API/PackagedSource.swift": 2,
        "Library/RemoteSettings/Runtime/RemoteSettingsClient.swift": 1,
        "Library/RemoteSettings/API/SyncResults.swift": 1,
        "Library/RemoteSettings/Runtime/Session.swift": 1,
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
        "Dumps/DumpsExchange/Embed/Types/RecordType.swift": 7,
        "Dumps/DumpsExchange/Embed/Types/SwiftName.swift": 1,
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


def found(path):
    """The lines with text that is compared as a String."""
    before = ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        # The arguments of a long declaration are on the lines after its first.
        is_public = PUBLIC.search(line) or (before.endswith("(") and PUBLIC.search(before))
        if FORBIDDEN.search(line) and not ALLOWED.search(line) and not is_public:
            yield number, line.strip()
        before = before if is_public and line.endswith(",") else line


def main():
    root = pathlib.Path(__file__).resolve().parents[2] / "Sources"
    problems = 0
    for path in sorted(root.rglob("*.swift")):
        lines = list(found(path))
        most, reason = REVIEWED.get(path.relative_to(root).as_posix(), (0, ""))
        if len(lines) > most:
            for number, line in lines:
                print(f"{path}:{number}: compare it by bytes, with ExactString: {line}", file=sys.stderr)
            print(f"    {most} reviewed{f' ({reason})' if reason else ''}", file=sys.stderr)
            problems += 1
    if not problems:
        print(f"no text from outside is compared as a String; {sum(most for most, _ in REVIEWED.values())} reviewed lines")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
