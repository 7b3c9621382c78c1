"""Finds uses of declarations that the oldest systems of Package.swift do not have, and that no #available guards.

What Swift, Foundation and other packages declare, and since when, is in the toolchain and in the debug build (symbol
graphs); which of it a source file uses, the compiler's index says. What the frameworks of Apple systems declare is in
availability.txt, and is looked for in the text.
"""
import bisect
import ctypes
import json
import pathlib
import re
import subprocess
import tempfile

PLATFORMS = ("iOS", "macOS", "tvOS", "watchOS", "visionOS")
# The modules of the toolchain whose declarations say since when Apple systems have them.
TOOLCHAIN = ("Swift", "_Concurrency", "Synchronization", "_StringProcessing", "Observation", "Dispatch",
             "FoundationEssentials", "Foundation", "FoundationNetworking")
WORD = "[A-Za-z_][A-Za-z_0-9]*"


def oldest(package):
    """The oldest version of each platform that a manifest asks for, as tuples."""
    names = {platform.lower(): platform for platform in PLATFORMS}
    return {names[entry["platformName"]]: version(entry["version"]) for entry in package["platforms"]}


def version(text):
    parts = [int(part) for part in text.split(".")]
    return tuple(parts + [0] * (3 - len(parts)))


def printed(number):
    return ".".join(map(str, number[:2] if number[1] or number[2] else number[:1]))


class Since:
    """Since when declarations are there: by USR what is newer than the oldest systems."""

    def __init__(self, systems):
        self.systems = systems
        self.newer = {}

    def extract(self, module, search, cache):
        graph = cache / f"{module}.json"
        if not graph.exists():
            with tempfile.TemporaryDirectory() as place:
                subprocess.run(
                    ["swift-symbolgraph-extract", "-module-name", module, "-target", "x86_64-unknown-linux-gnu",
                     "-output-dir", place, "-minimum-access-level", "public", "-skip-synthesized-members", *search],
                    check=True, capture_output=True, text=True)
                symbols = [
                    (symbol["identifier"]["precise"], ".".join(symbol["pathComponents"]),
                     symbol.get("availability", []))
                    for part in sorted(pathlib.Path(place).glob("*.json"))
                    for symbol in json.loads(part.read_text())["symbols"]]
            cache.mkdir(parents=True, exist_ok=True)
            graph.write_text(json.dumps(symbols))
        needed, older = {}, set()
        for usr, name, availability in json.loads(graph.read_text()):
            needs = {}
            for entry in availability:
                introduced = entry.get("introduced")
                if entry.get("domain") in self.systems and introduced:
                    number = (introduced["major"], introduced.get("minor", 0), introduced.get("patch", 0))
                    if number > self.systems[entry["domain"]]:
                        needs[entry["domain"]] = number
            if needs:
                needed[usr] = (name, needs)
            else:
                older |= {usr, name}
        for usr, (name, needs) in needed.items():
            # Of two declarations of one name, the compiler takes the one that is there.
            if usr not in older and name not in older:
                self.newer[usr] = (f"{module}.{name}", needs)


def table(path, systems):
    """The rows of availability.txt that are newer than the oldest systems: (name, pattern, needs)."""
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        # A pattern may have bars of its own.
        name, _, rest = line.partition(" | ")
        fields = rest.rsplit(" | ", 2)
        if len(fields) != 3:
            raise SystemExit(f"{path}:{number}: expected name | pattern | versions | source")
        pattern, versions, _ = fields
        needs = {}
        for entry in versions.split(","):
            platform, _, text = entry.strip().partition(" ")
            if platform not in PLATFORMS:
                raise SystemExit(f"{path}:{number}: {platform} is none of {', '.join(PLATFORMS)}")
            if platform in systems and version(text) > systems[platform]:
                needs[platform] = version(text)
        if needs:
            rows.append((name, re.compile(pattern), needs))
    return rows


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


GUARD = re.compile(r"\b(if|guard|while)\b([^\n;{}]*)#available\(([^)]*)\)|@available\(([^)]*)\)")


def guards(text):
    """Where a source is reached on newer systems only: (first line, last line, {platform: version})."""
    text = blanked(text)
    starts = [0] + [match.end() for match in re.finditer("\n", text)]

    def line(offset):
        return bisect.bisect_right(starts, offset)

    def closing(offset):
        """The offset after the block that begins with the first brace behind an offset."""
        depth = 0
        for at in range(offset, len(text)):
            if text[at] == "{":
                depth += 1
            elif text[at] == "}":
                depth -= 1
                if depth == 0:
                    return at
                if depth < 0:
                    return at
        return len(text)

    found = []
    for match in GUARD.finditer(text):
        condition = match.group(3) or match.group(4)
        promised = {platform: version(number) for platform, number in re.findall(r"(\w+) ([\d.]+)", condition)}
        if not promised:
            continue
        if match.group(4):
            brace, end = text.find("{", match.end()), text.find("\n\n", match.end())
            last = closing(brace) if brace >= 0 and (end < 0 or brace < end) else max(end, match.end())
        elif match.group(1) == "guard":
            # Until the end of the block that the guard stands in.
            inner, depth, last = closing(text.find("{", match.end())) + 1, 1, len(text)
            for at in range(inner, len(text)):
                depth += {"{": 1, "}": -1}.get(text[at], 0)
                if depth == 0:
                    last = at
                    break
        else:
            last = closing(text.find("{", match.end()))
        found.append((line(match.start()), line(last), promised))
    return found


def is_guarded(line, needs, scopes):
    return any(
        first <= line <= last and all(promised.get(platform, (0,)) >= number for platform, number in needs.items())
        for first, last, promised in scopes)


IMPLICIT = 1 << 8  # INDEXSTORE_SYMBOL_ROLE_IMPLICIT of indexstore.h


class StringRef(ctypes.Structure):
    _fields_ = [("data", ctypes.POINTER(ctypes.c_char)), ("length", ctypes.c_size_t)]

    def __str__(self):
        return ctypes.string_at(self.data, self.length).decode()


VISITOR = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)
UNIT_VISITOR = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, StringRef)


class Index:
    """The compiler's index of a build, read with the toolchain's library."""

    def __init__(self, store, library):
        self.library = library
        for name in ("store_create", "record_reader_create", "unit_reader_create", "occurrence_get_symbol"):
            getattr(library, f"indexstore_{name}").restype = ctypes.c_void_p
        for name in ("symbol_get_usr", "unit_reader_get_main_file", "unit_dependency_get_name",
                     "unit_dependency_get_filepath"):
            getattr(library, f"indexstore_{name}").restype = StringRef
        library.indexstore_symbol_get_usr.argtypes = [ctypes.c_void_p]
        self.path = store
        self.store = ctypes.c_void_p(library.indexstore_store_create(str(store).encode(), None))
        if not self.store:
            raise SystemExit(f"check apple: {store} cannot be read; run swift build --build-tests first")

    def records(self):
        """Of each source file the time of its newest unit, and the names of its records."""
        library, newest = self.library, {}

        def unit(_, name):
            reader = library.indexstore_unit_reader_create(self.store, ctypes.string_at(name.data, name.length), None)
            if reader:
                reader = ctypes.c_void_p(reader)
                main = str(library.indexstore_unit_reader_get_main_file(reader))
                changed = (self.path / "v5/units" / str(name)).stat().st_mtime
                if main and changed > newest.get(main, (0, ()))[0]:
                    names = []

                    @VISITOR
                    def dependency(_, pointer):
                        pointer = ctypes.c_void_p(pointer)
                        if (library.indexstore_unit_dependency_get_kind(pointer) == 2
                                and str(library.indexstore_unit_dependency_get_filepath(pointer)) == main):
                            names.append(str(library.indexstore_unit_dependency_get_name(pointer)))
                        return True

                    library.indexstore_unit_reader_dependencies_apply_f(reader, None, dependency)
                    newest[main] = (changed, tuple(names))
                library.indexstore_unit_reader_dispose(reader)
            return True

        self.library.indexstore_store_units_apply_f(self.store, 0, None, UNIT_VISITOR(unit))
        return newest

    def all_records(self):
        """The names of all records, for a store that one module was compiled into."""
        return [path.name for path in (self.path / "v5/records").glob("*/*")]

    def uses(self, record, wanted):
        """Where a record's file uses one of the symbols: (USR, line)."""
        library = self.library
        reader = library.indexstore_record_reader_create(self.store, record.encode(), None)
        if not reader:
            raise SystemExit(f"check apple: the record {record} of {self.path} cannot be read")
        reader, found, is_of_interest = ctypes.c_void_p(reader), [], []

        @VISITOR
        def symbol(_, pointer):
            if str(library.indexstore_symbol_get_usr(pointer)) in wanted:
                is_of_interest.append(True)
                return False
            return True

        @VISITOR
        def occurrence(_, pointer):
            pointer = ctypes.c_void_p(pointer)
            usr = str(library.indexstore_symbol_get_usr(library.indexstore_occurrence_get_symbol(pointer)))
            # What the compiler adds by itself, as it does in a loop, it leaves out where it is not there.
            if usr in wanted and not library.indexstore_occurrence_get_roles(pointer) & IMPLICIT:
                line, column = ctypes.c_uint(), ctypes.c_uint()
                library.indexstore_occurrence_get_line_col(pointer, ctypes.byref(line), ctypes.byref(column))
                found.append((usr, line.value))
            return True

        library.indexstore_record_reader_symbols_apply_f(reader, True, None, symbol)
        if is_of_interest:
            library.indexstore_record_reader_occurrences_apply_f(reader, None, occurrence)
        library.indexstore_record_reader_dispose(reader)
        return found
