"""Compares the privacy manifests with the calls in the sources.

Apple requires a reason if an app, or a package in it, calls one of these functions; without it, the App Store rejects the
upload (developer.apple.com/documentation/bundleresources/describing-use-of-required-reason-api).
"""
import plistlib
import re

# Category: what is called, in sources without comments and texts.
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
    """Whether a condition holds on an Apple system: one whose os() and canImport() of other systems are decided."""
    condition = re.sub(r"\w+\([^()]*\)|(?!true\b|false\b)\b[A-Za-z_]\w*\b", "true", condition)
    for swift, python in (("true", "True"), ("false", "False"), ("&&", " and "), ("||", " or "), ("!", " not ")):
        condition = condition.replace(swift, python)
    return bool(eval(condition, {"__builtins__": {}}))  # noqa: S307: of these words alone


def compiled(text):
    """A source without the lines of branches that are not compiled; the others keep their numbers."""
    lines, branches = [], []
    for line in text.split("\n"):
        directive = DIRECTIVE.match(line)
        if directive:
            kind, condition = directive.groups()
            if kind in ("ifdef", "ifndef"):
                # C in a text.
                branches.append([True] * 2)
            elif kind == "if":
                branches.append([holds(condition)] * 2)
            elif kind == "endif":
                branches.pop()
            else:
                # Whether this branch is compiled, and whether one of them has been.
                taken = branches[-1][1]
                now = not taken and (kind == "else" or holds(condition))
                branches[-1] = [now, taken or now]
        lines.append(line if all(branch[0] for branch in branches) and not directive else "")
    return "\n".join(lines)


def blanked(text):
    """A source that is compiled, without comments and the content of strings; its lines keep their numbers."""
    text = compiled(text)
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"', re.DOTALL)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def problems(name, folder, texts, manifest_names):
    """The problems of a target's manifest, one per line.

    texts has the target's Swift sources as Apple systems read them, by path; manifest_names are the targets for which
    Package.swift makes the manifest a resource.
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
