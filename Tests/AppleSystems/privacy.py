"""Compares the privacy manifests with the calls in the sources.

Apple requires a declared reason if an app, or a package in it, calls one of these functions. Without it, the App Store rejects
the upload (developer.apple.com/documentation/bundleresources/describing-use-of-required-reason-api).
"""
import plistlib
import re

# Category: pattern of its calls, for sources without comments and string contents.
REQUIRED_REASONS = {
    "FileTimestamp": r"\b(?:stat|lstat|fstat|fstatat|getattrlist|fgetattrlist|getattrlistat|getattrlistbulk)\((?!\))"
                     r"|\b(?:creationDate|modificationDate|fileModificationDate|contentModificationDateKey"
                     r"|creationDateKey|attributesOfItem)\b",
    "SystemBootTime": r"\b(?:systemUptime|mach_absolute_time|mach_continuous_time)\b",
    "DiskSpace": r"\b(?:volumeAvailableCapacity\w*|volumeTotalCapacity\w*|systemFreeSize|systemSize"
                 r"|f?statfs|f?statvfs)\b",
    "UserDefaults": r"\b(?:UserDefaults|NSUserDefaults|CFPreferences\w+)\b",
    "ActiveKeyboards": r"\bactiveInputModes\b",
}
REASONS = {
    "FileTimestamp": {"DDA9.1", "C617.1", "3B52.1", "0A2A.1"},
    "SystemBootTime": {"35F9.1", "8FFB.1", "3D61.1"},
    "DiskSpace": {"85F4.1", "E174.1", "7D9E.1", "B728.1"},
    "UserDefaults": {"CA92.1", "1C8F.1", "C56D.1", "AC6B.1"},
    "ActiveKeyboards": {"3EC4.1", "54BD.1"},
}
MEMBERS = {"NSPrivacyTracking", "NSPrivacyTrackingDomains", "NSPrivacyCollectedDataTypes", "NSPrivacyAccessedAPITypes"}


DIRECTIVE = re.compile(r"^\s*#(if|ifdef|ifndef|elseif|else|endif)\b(.*)$")


def holds(condition):
    """Returns whether a condition is true on Apple systems, if its os() and canImport() of other systems are resolved."""
    condition = re.sub(r"\w+\([^()]*\)|(?!true\b|false\b)\b[A-Za-z_]\w*\b", "true", condition)
    for swift, python in (("true", "True"), ("false", "False"), ("&&", " and "), ("||", " or "), ("!", " not ")):
        condition = condition.replace(swift, python)
    return bool(eval(condition, {"__builtins__": {}}))  # noqa: S307: contains only these words


def compiled(text):
    """Returns a source with the lines of uncompiled branches blanked; line numbers do not change."""
    lines, branches = [], []
    for line in text.split("\n"):
        directive = DIRECTIVE.match(line)
        if directive:
            kind, condition = directive.groups()
            if kind in ("ifdef", "ifndef"):
                # C code in a string.
                branches.append([True] * 2)
            elif kind == "if":
                branches.append([holds(condition)] * 2)
            elif kind == "endif":
                branches.pop()
            else:
                # Whether this branch is compiled, and whether any branch so far is.
                taken = branches[-1][1]
                now = not taken and (kind == "else" or holds(condition))
                branches[-1] = [now, taken or now]
        lines.append(line if all(branch[0] for branch in branches) and not directive else "")
    return "\n".join(lines)


def blanked(text):
    """Returns the compiled source with comments and string contents blanked; line numbers do not change."""
    text = compiled(text)
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"', re.DOTALL)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def problems(name, folder, texts, manifest_names):
    """Yields the problems of a target's manifest, one per line.

    texts maps paths to the target's Swift sources for Apple systems; manifest_names are the targets whose manifest
    Package.swift lists as a resource.
    """
    calls = {}
    for source, text in texts.items():
        text = blanked(text)
        for category, pattern in REQUIRED_REASONS.items():
            found = re.search(pattern, text)
            if found:
                line = text.count("\n", 0, found.start()) + 1
                calls.setdefault(category, f"{source.name}:{line} uses {found.group().rstrip('(')}")
    path = folder / "PrivacyInfo.xcprivacy"
    if not path.exists():
        for category, where in sorted(calls.items()):
            yield (f"{name}: {where}, which needs a PrivacyInfo.xcprivacy in {folder} with "
                   f"NSPrivacyAccessedAPICategory{category}")
        return
    if name not in manifest_names:
        yield f"{name}: Package.swift does not make {path} a resource"
    manifest = plistlib.loads(path.read_bytes())
    if set(manifest) != MEMBERS or manifest["NSPrivacyTracking"] is not False:
        yield f"{path}: expected the members {', '.join(sorted(MEMBERS))}, and no tracking"
        return
    declared = {}
    for entry in manifest["NSPrivacyAccessedAPITypes"]:
        category = entry["NSPrivacyAccessedAPIType"].removeprefix("NSPrivacyAccessedAPICategory")
        declared[category] = set(entry["NSPrivacyAccessedAPITypeReasons"])
    for category, where in sorted(calls.items()):
        if category not in declared:
            yield f"{path}: {where}, and the manifest gives no reason for NSPrivacyAccessedAPICategory{category}"
    for category, reasons in sorted(declared.items()):
        if category not in calls:
            yield f"{path}: NSPrivacyAccessedAPICategory{category} is declared, and no source uses it"
        if not reasons or not reasons <= REASONS.get(category, set()):
            given = ", ".join(sorted(reasons)) or "nothing"
            yield f"{path}: {given} is no reason for NSPrivacyAccessedAPICategory{category}"
