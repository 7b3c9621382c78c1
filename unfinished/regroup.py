#!/usr/bin/env python3
"""regroup.py [CHECKOUT]: moves the rooms of swift-remote-settings onto six floors, in one go, in a clean checkout.

    /work/in NAME 'python3 /work/keep/regroup.py'          the checkout is mounted at /work/main, for swift format
    python3 /work/keep/regroup.py /work/wt/NAME            the same, directly

It moves files, rewrites imports, paths in programs and documents, guards files by traits, makes Package.swift anew (its
dependencies are those that the sources import), applies the rules of regroup/edits.py, and formats what it touched. Nothing is
committed. What did not apply is printed at the end as "regroup: …", and the exit status is 1 then; all else has been done.
The tables are in regroup/plan.py, new texts in regroup/texts.
"""
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE / "regroup"))
import edits  # noqa: E402
import manifest  # noqa: E402
import plan  # noqa: E402
from swift_text import IMPORT, code_words, declared_names, import_lines  # noqa: E402

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
PROBLEMS = []
# What is kept as it is: records of other versions, data, and the packages of examples, which have folders of these names.
UNTOUCHED = re.compile(r"^(Tests/Promises/(?!README)|Tests/Integration/weeks/|dumps/|Tests/Benchmark/size\.json|Package\.resolved|"
                       r"Examples/(OfflineExample|TestedApp)/|Tests/AppleSystems/Modules/)")


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def tracked():
    return [name for name in git("ls-files", "-z").split("\0") if name]


def is_text(path):
    return path.suffix in {".swift", ".md", ".py", ".mjs", ".yml", ".json", ".c", ".h", ".txt", ".conf", ".service"} or (
        path.suffix == "" and path.is_file() and path.read_bytes()[:2] == b"#!")


# MARK: Moving

def new_place(old):
    """Where a file goes, by its old path; None if it is removed."""
    if old in plan.FILES:
        return plan.FILES[old]
    for new, folder, inside in plan.ROOMS:
        if old.startswith(folder + "/"):
            rest = old[len(folder) + 1:]
            # A room has one catalogue of articles, and folders of articles stay what they are.
            return "/".join(filter(None, [new, "" if ".docc/" in rest else inside, rest]))
    return old


def move(files):
    """Renames; returns the new path by the old one."""
    places = {}
    for old in files:
        new = new_place(old)
        if new is None:
            (ROOT / old).unlink()
            continue
        if new in places.values():
            PROBLEMS.append(f"{old} would be moved to {new}, where there is another file")
            new = old
        places[old] = new
        if new != old:
            (ROOT / new).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / old).rename(ROOT / new)
    for folder in sorted({pathlib.Path(old).parent for old in files}, reverse=True):
        while folder != pathlib.Path("."):
            try:
                (ROOT / folder).rmdir()
            except OSError:
                break
            folder = folder.parent
    return places


# MARK: Paths in texts

def path_rules(places):
    """Old folders and files, the longest first, each with what stands in its place."""
    rules = {old: new for old, new in places.items() if old != new}
    for new, old, inside in plan.ROOMS:
        if any(each.startswith(old + "/") for each in places):
            rules[old] = f"{new}/{inside}" if inside else new
            rules[f"{old}/Documentation.docc"] = f"{new}/Documentation.docc"
    # Names of files without their ending, as scripts and tables use them.
    rules |= {old.rpartition(".")[0]: new.rpartition(".")[0] for old, new in plan.FILES.items()
              if new and not old.rpartition(".")[0].endswith("filter_cases")}
    names = sorted(rules, key=len, reverse=True)
    pattern = re.compile(r"(?<![\w-])(?<![A-Za-z]/)(" + "|".join(map(re.escape, names)) + r")(?![\w-])")
    return pattern, rules


def mend_links(path, old, text, places):
    """Relative links of an article, after it and what it links to have moved."""
    def mended(found):
        target, _, anchor = found[1].partition("#")
        if not target or ":" in target:
            return found[0]
        was = os.path.normpath(os.path.join(os.path.dirname(old), target))
        if was in places:
            now = places[was]
        else:
            inside = next((new for new in places if new.startswith(was + "/")), None)
            if not inside or (now := new_place(was + "/x")) is None:
                return found[0]
            now = now.rpartition("/")[0]
        link = os.path.relpath(now, os.path.dirname(path))
        return f"]({link}{'#' if anchor else ''}{anchor})"
    return re.sub(r"\]\(([^)\s]+)\)", mended, text)


def rewrite_texts(places):
    pattern, rules = path_rules(places)
    for old, new in places.items():
        path = ROOT / new
        if UNTOUCHED.match(old) or path.is_symlink() or not is_text(path):
            continue
        before = text = path.read_text()
        if path.suffix == ".md":
            text = mend_links(new, old, text, places)
        text = pattern.sub(lambda found: rules[found[1]], text)
        if old.endswith(".swift"):
            text = deeper(old, new, text)
            for module, now in plan.MODULES.items():
                # Comments and texts that name a module's type: `ContentSignature.TrustPolicy`.
                text = re.sub(rf"`{module}\.(?=[A-Z])", f"`{now}.", text)
        if text != before:
            path.write_text(text)


def deeper(old, new, text):
    """A test that finds the repository by its own place has more folders above it now."""
    levels = new.count("/") - old.count("/")
    if levels <= 0 or "#filePath)" not in text:
        return text
    up = ".deletingLastPathComponent()"
    if re.search(rf"#filePath\)\s*{re.escape(up)}", text):
        return re.sub(rf"#filePath\)(?=\s*{re.escape(up)})", "#filePath)" + up * levels, text)
    # A test that also reads itself.
    found = re.search(rf"= (\w+){re.escape(up * 2)}", text)
    if not found:
        PROBLEMS.append(f"{new}: the place of the repository is found in an unknown way")
        return text
    return text[:found.end(1)] + up * levels + text[found.end(1):]


# MARK: Imports

def module_of(path):
    """The module that a Swift file belongs to, by its new path; None outside of this package's targets."""
    for folder, name in manifest.targets(ROOT).items():
        if path.startswith(folder + "/"):
            return name
    return None


def moved_names(places):
    """The types of files that left their room: by name, the room in which they are now, and the old one."""
    found = {}
    for old, new in plan.FILES.items():
        if new and old.endswith(".swift") and old in places and old.startswith("Sources/"):
            room = old.split("/")[1]
            for name in declared_names((ROOT / new).read_text()):
                found[name] = (module_of(new), plan.MODULES.get(room, room))
    return found


def rewrite_imports(places):
    names = moved_names(places)
    declared = {}
    for new in places.values():
        if new.endswith(".swift") and (module := module_of(new)):
            declared.setdefault(module, set()).update(declared_names((ROOT / new).read_text()))
    for new in places.values():
        module = module_of(new)
        if not new.endswith(".swift") or module is None:
            continue
        path = ROOT / new
        text = path.read_text()
        changed = rewritten(text, module, names, declared)
        if changed != text:
            path.write_text(changed)


def rewritten(text, module, names, declared):
    lines = text.split("\n")
    used = code_words(text)
    at = import_lines(lines)
    imported = set()
    for number in at:
        found = IMPORT.match(lines[number])
        imported.add(plan.MODULES.get(found["module"], found["module"]))
    visible = imported | {module}
    # What has left a room that this file sees.
    wanted = {now for name, (now, before) in names.items() if name in used and before in visible and now != module}
    seen, kept = {}, {}
    for number in at:
        found = IMPORT.match(lines[number])
        name = plan.MODULES.get(found["module"], found["module"])
        if name == module and module in set(plan.MODULES.values()) | {each[0] for each in names.values()} | {module}:
            kept[number] = None
            continue
        key = (name, found["kind"], found["member"], found["attributes"] if "_exported" in found["attributes"] else "")
        line = f"{found['indent']}{found['attributes']}{found['access']}import {found['kind']}{name}{found['member']}"
        if key in seen:
            first = seen[key]
            if "@testable" in line and "@testable" not in kept[first]:
                kept[first] = line
            # Under another condition it may be needed twice.
            kept[number] = None if found["indent"] == "" else line
            continue
        seen[key] = number
        kept[number] = line
    # A module of which nothing is used but what has left it.
    for name, (now, before) in names.items():
        number = seen.get((before, "", "", ""))
        if number is not None and now in wanted and kept[number] and not kept[number].startswith("@") and not (
                used & (declared.get(before, set()) - set(names))):
            kept[number] = None
    present = {plan.MODULES.get(found["module"], found["module"]) for number, line in kept.items() if line
               and (found := IMPORT.match(line))}
    # What a test saw of the old room's inside, it sees of the new one's.
    testable = {now for name, (now, before) in names.items() if (number := seen.get((before, "", "", ""))) is not None
                and "@testable" in IMPORT.match(lines[number])["attributes"]}
    added = [f"{'@testable ' if name in testable else ''}import {name}" for name in sorted(wanted - present)]
    result, done = [], not added
    for number, line in enumerate(lines):
        if number in kept:
            if not done:
                result += added
                done = True
            if kept[number] is not None:
                result.append(kept[number])
        else:
            result.append(line)
    if not done:
        result = added + [""] + result
    return "\n".join(in_order(result))


def in_order(lines):
    """Imports that stand together, by the names of their modules."""
    at = set(import_lines(lines))
    result, run = [], []
    for number, line in enumerate([*lines, None]):
        if number in at and line is not None:
            run.append(line)
            continue
        result += sorted(run, key=lambda each: (IMPORT.match(each)["indent"], "@testable" in each, IMPORT.match(each)["module"],
                                                each))
        run = []
        if line is not None:
            result.append(line)
    return result


# MARK: Traits

def condition_of(new, text):
    if new.endswith("/Package.swift"):
        return None
    for folder, condition in plan.GUARDED:
        if new.startswith(folder + "/"):
            return condition
    if not new.startswith("Tests/"):
        return None
    modules = {IMPORT.match(line)["module"] for line in text.split("\n") if IMPORT.match(line)}
    return "Server" if modules & set(plan.SERVER_MODULES) else None


def guard(places):
    """Puts a whole file behind its trait."""
    tests_of_tls = [new for new in places.values() if new.endswith("CurlTransportTests/TLSProxy.swift")]
    for new in places.values():
        path = ROOT / new
        if not new.endswith(".swift") or module_of(new) is None:
            continue
        text = path.read_text()
        condition = condition_of(new, text)
        if new.endswith("CurlTransportTests/TLSTests.swift") and tests_of_tls:
            condition = condition_of(tests_of_tls[0], (ROOT / tests_of_tls[0]).read_text())
        if condition is None or re.match(r"(?:\s*//.*\n)*#if (?:Server|Lab)\b", text):
            continue
        # What is written over a program, its usage, stays on top.
        head = re.match(r"(?://.*\n)+(?=\n)", text)
        top = head[0] + "\n" if head else ""
        body = text[len(top):].lstrip("\n") if head else text
        without = without_trait(new, text)
        path.write_text(f"{top}#if {condition}\n{body.rstrip()}\n{without}#endif\n")


def without_trait(new, text):
    """What the main file of a program is without its trait: a program cannot be empty."""
    program = next((name for place, name, kind in manifest.OTHERS if kind == "lab program" and new.startswith(place + "/")), None)
    if program is None or not (new.endswith("/main.swift") or "@main" in text):
        return ""
    say = f'print("{program} was built without its trait; try: swift build --traits Lab --product {program}")'
    return f"#else\n{say}\n" if new.endswith("/main.swift") else (
        f"#else\n@main\nstruct WithoutLab {{\nstatic func main() {{\n{say}\n}}\n}}\n")


def format_swift(changed):
    for start in range(0, len(changed), 100):
        ended = subprocess.run(
            ["swift", "format", "-i", *changed[start:start + 100]], cwd=ROOT, capture_output=True, text=True)
        if ended.returncode != 0:
            PROBLEMS.append(f"swift format: {ended.stderr[-1000:]}")


def main():
    if git("status", "--porcelain", "--untracked-files=no").strip():
        sys.exit(f"regroup: {ROOT} has changes that no commit has; commit them first")
    if (ROOT / "Sources/Format").exists():
        sys.exit(f"regroup: {ROOT}/Sources/Format is there; this checkout has been regrouped")
    plan.prepare(ROOT)
    files = tracked()
    places = move(files)
    manifest.forget()
    rewrite_texts(places)
    rewrite_imports(places)
    edits.apply(ROOT, HERE / "regroup/texts", PROBLEMS)
    guard(places | {new: new for new in edits.ADDED})
    (ROOT / "Package.swift").write_text(manifest.text(ROOT, PROBLEMS))
    git("add", "--all", ".")
    format_swift([name for name in tracked() if name.endswith(".swift") and not UNTOUCHED.match(name)
                  and not name.startswith("Tests/AppleSystems/")])
    git("add", "--all", ".")
    edits.after_format(ROOT, PROBLEMS)
    git("add", "--all", ".")
    for problem in PROBLEMS:
        print(f"regroup: {problem}")
    print(f"regroup: {sum(old != new for old, new in places.items())} files moved, {len(PROBLEMS)} problems")
    sys.exit(1 if PROBLEMS else 0)


if __name__ == "__main__":
    main()
