#!/usr/bin/env python3
"""A part of scripts/check documents: compares the statements in every .md file with the program.

  - Commands and options of rsdump, in code spans and blocks, against Tests/Promises/options.txt. An option alone in a code
    span must be an option of some command, or of a script of this repository.
  - Files and folders of the repository in code spans, against the file tree. A name in capitals (LAYER) and * match any name.
  - Numbers that can be counted in the repository: the table COUNTED.
  - The exit codes in FAQ.md, against Sources/Dumps/Dumps/ExitStatus.swift.
  - Links, against files and headings; `doc:` links, against articles.
  - Swift members in code spans, against the declarations in Sources, Examples and Plugins.
  - Messages in double quotes, and the words in shown output, against the strings in the program and in the scripts.
"""
import functools
import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPTIONS = "Tests/Promises/options.txt"
FENCE = re.compile(r"^( *)(```+)(\w*)\n(.*?)^ *\2$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^ {4,}\S.*\n)+", re.MULTILINE)
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
FOLDERS = ("Sources/", "Tests/", "scripts/", "Examples/", "dumps/", ".github/")
# Files in a user's own package, or in a dumps directory during a command.
THEIRS = re.compile(r"Sources/(EmbeddedDumps|App\b.*|.*\+EmbeddedDumps\.swift)|dumps/(\.rsdump/?.*|\.gitattributes|main/.*)")
NUMBERS = dict(zip("two three four five six seven eight nine ten eleven twelve".split(), range(2, 13)))
# Options of other programs that occur alone in documents, without their program.
FOREIGN = {"--product", "--target", "--filter"}


def documents():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split()
    return [name for name in listed if (ROOT / name).is_file()]


def commands(text):
    """Each command in the text, such as "keys create", and each group of commands, with its options."""
    always = {"--help", "--version", "-h"}
    found = {"": set(always) | {"--generate-completion-script"}}
    for line in text.splitlines():
        name = re.match(r"[a-z]+(?: [a-z]+)*", line)[0]
        found.setdefault(name, set(always)).update(re.findall(r"(?<![\w<-])--?[a-z][a-z-]*", line[len(name):]))
        if " " in name:
            found.setdefault(name.split()[0], set(always))
    return found


def code(text):
    """The code spans of a text and the lines of its code blocks, each with whether it is from a block."""
    for found in FENCE.finditer(text):
        language, block = found[3], re.sub(r"\\\n\s*", " ", found[4])
        # The help texts in Commands.md.
        if language == "text":
            continue
        for line in block.splitlines():
            yield re.sub(r"(^|\s)#.*" if language != "swift" else r"//.*", "", line), True
    text = FENCE.sub("", text)
    for found in INDENTED.finditer(text):
        if "rsdump" in found[0]:
            for line in re.sub(r"\\\n\s*", " ", found[0]).splitlines():
                yield re.sub(r"\s#.*", "", line), True
    for found in SPAN.finditer(text):
        yield " ".join(found[2].split()), False


def calls(line):
    """Each command line of rsdump in a line, as its words."""
    line = re.sub(r"'[^']*'|\"[^\"]*\"", "TEXT", line)
    for found in re.finditer(r"(?<![\w/.-])rsdump ([^|;&>`)]*)", line):
        yield found[1].split()


def command_problems(name, text, known, others):
    options = set().union(*known.values())
    for line, is_block in code(text):
        for words in calls(line):
            words = words[1:] if words[:1] == ["help"] else words
            if not words or not re.fullmatch(r"[a-z][a-z-]*", words[0]):
                path = ""
            elif words[0] not in known:
                yield f"{name}: `{line.strip()}`: rsdump has no command {words[0]}"
                continue
            else:
                path = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
                if path == words[0] and any(each.startswith(f"{path} ") for each in known) and len(words) > 1 \
                        and re.fullmatch(r"[a-z][a-z-]*", words[1]):
                    yield f"{name}: `{line.strip()}`: rsdump has no command {path} {words[1]}"
                    continue
            for option in (re.match(r"--?[a-z][a-z-]*", word) for word in words):
                if option and option[0] not in known[path]:
                    yield f"{name}: `{line.strip()}`: rsdump {path} has no option {option[0]}"
        if not is_block and re.match(r"--[a-z]", line):
            option = re.match(r"--[a-z][a-z-]*", line)[0]
            if option not in options | others | FOREIGN:
                yield f"{name}: `{line}`: no command of rsdump and no script has the option {option}"


def scripts_options():
    """The options that occur in scripts and checks."""
    paths = [*(ROOT / "scripts").iterdir(), *(ROOT / "Tests/Benchmark").iterdir(), *(ROOT / "Examples").rglob("*"),
             *(ROOT / "Tests/Checks").glob("*.py"), *(ROOT / "Tests/Servers").rglob("*.py")]
    texts = [path.read_text(errors="replace") for path in paths if path.is_file() and path.suffix != ".zip"
             and path.name != "statements.py" and ".build" not in path.parts]
    return set().union(*(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text) for text in texts))


def path_problems(name, text):
    for line, is_block in code(text):
        word = line.split()[0].rstrip(":,") if line.split() else ""
        if is_block or not word.startswith(FOLDERS) or THEIRS.fullmatch(word):
            continue
        pattern = re.sub(r"(?<![a-z])[A-Z]{3,}(?![a-z])|<\w+>|…", "*", re.sub(r"(\.\w+):\d+$", r"\1", word)).rstrip("/")
        if "[" not in pattern and not any(ROOT.glob(pattern)):
            yield f"{name}: `{word}` does not exist"


def fuzz_targets():
    text = (ROOT / "Tests/Lab/FuzzTargets/FuzzTarget.swift").read_text()
    listed = re.search(r"static let all: \[FuzzTarget\] = \[(.*?)\]", text, re.DOTALL)[1]
    return len(re.findall(r"\.\w+", listed))


def collections():
    return len(json.loads((ROOT / "dumps/dumps.lock.json").read_text())["collections"])


def limit(name, file="Sources/Format/RemoteSettingsModel/Values/Limits.swift"):
    """The default of a property of Limits or of ServerLimits."""
    stated = re.search(rf"(?:var|let) {name} = ([\d_]+)(?: << (\d+))?$", (ROOT / file).read_text(), re.MULTILINE)
    return int(stated[1].replace("_", "")) << int(stated[2] or 0)


SERVER_LIMITS = "Sources/Server/SnapshotServer/State/ServerLimits.swift"
# A pattern for a number in a document, and the function that counts it. Numbers up to twelve may be words.
COUNTED = [
    (r"([\w,]+) fuzz targets", fuzz_targets),
    (r"([\w,]+) of Mozilla's collections", collections),
    (r"a collection's changeset, decompressed \| ([\d,]+) MiB", lambda: limit("changesetBytes") >> 20),
    (r"records; one record \| ([\d,]+);", lambda: limit("records")),
    (r"attachments; one attachment \| ([\d,]+);", lambda: limit("attachments")),
    (r"certificate chain \| ([\d,]+) certificates", lambda: limit("chainCertificates")),
    (r"one request \| ([\d,]+) tries", lambda: limit("tries")),
    (r"a document; a download; a run \| ([\d,]+) minutes", lambda: limit("documentSeconds") // 60),
    (r"waiting for updates \| ([\d,]+);", lambda: limit("connections", SERVER_LIMITS)),
    (r"at most ([\d,]+) of its [\d,]+ connections", lambda: limit("connectionsPerAddress", SERVER_LIMITS)),
    (r"of its ([\d,]+) connections", lambda: limit("connections", SERVER_LIMITS)),
    (r"and ([\d,]+) more that wait for updates", lambda: limit("updateStreamsPerAddress", SERVER_LIMITS)),
]


def number_problems(name, text):
    text = " ".join(text.split())
    for pattern, count in COUNTED:
        for found in re.finditer(pattern, text):
            stated = found[1].replace(",", "")
            stated = str(NUMBERS.get(stated.lower(), stated))
            if re.fullmatch(r"[\d.]+", stated) and stated != str(count()):
                yield f"{name}: \"{found[0]}\": counted again, it is {count()}"


def section(text, heading):
    """The text under a heading of the second level."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def rows(text):
    """The cells of each row of the tables in a text, without their headings."""
    found, heading = [], True
    for line in text.splitlines():
        if not line.startswith("|"):
            heading = True
        elif re.match(r"\| *:?-", line):
            heading = False
        elif not heading:
            found.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return found


def exit_code_problems(faq, swift, known):
    """The tables of FAQ.md: "Exit codes" lists each code of the enum once, "Special exit codes" only existing commands."""
    codes = re.findall(r"^    case \w+ = (\d+)$", swift, re.MULTILINE)
    stated = [cells[0].strip("`") for cells in rows(section(faq, "Exit codes")) if re.fullmatch(r"`?\d+`?", cells[0])]
    if stated != codes:
        yield f"FAQ.md: the table under \"Exit codes\" has {stated}, and ExitStatus.swift has {codes}"
    for cells in rows(section(faq, "Special exit codes")):
        for command in re.findall(r"`rsdump ([a-z -]+?)(?: --[\w-]+)*`", cells[0]):
            if command not in known:
                yield f"FAQ.md: there is no command rsdump {command}"


# GitHub's anchors; DocC's anchors keep capital letters.
def anchors(text):
    for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def link_problems(name, text):
    articles = {path.stem for path in ROOT.glob("Sources/*/*/Documentation.docc/*.md")}
    text = FENCE.sub("", text)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        if not file.exists():
            yield f"{name}: a link leads to {path}, which does not exist"
        elif anchor and file.suffix == ".md" and anchor.lower() not in set(anchors(file.read_text())):
            yield f"{name}: a link leads to {target}, and {path or name} has no such heading"
    for target in re.findall(r"<doc:([A-Z]\w+)>", text):
        if target not in articles:
            yield f"{name}: <doc:{target}> leads to an article that does not exist"


SWIFT = ("Sources", "Examples", "Plugins")
# Words that the program combines from two alternatives.
ALTERNATIVES = {"key here"}
# Members of other libraries: Firebase, Mozilla's older binding, Apple.
FOREIGN_MEMBERS = {
    "sharedInstance", "invalidSetDefaultsInput", "activateConfig", "activateFetched", "fetchConfig", "getBool", "getString",
    "getNumber", "isDeveloperModeEnabled", "registerObserver", "getRecordsSince", "downloadAttachmentToPath", "beginBackgroundTask"}


@functools.cache
def texts(folders, suffixes):
    return "\n".join(path.read_text(errors="replace") for folder in folders for path in sorted((ROOT / folder).rglob("*"))
                     if path.is_file() and path.suffix in suffixes and ".build" not in path.parts)


@functools.cache
def declared():
    """Names that Swift code declares, and words that are a whole string literal, such as YAML and JSON keys."""
    text = texts(SWIFT, (".swift",))
    names = set(re.findall(r"\b(?:func|var|let|case|struct|enum|class|actor|protocol|typealias)\s+`?(\w+)", text))
    names |= {"init"} | FOREIGN_MEMBERS | set(re.findall(r"\b([a-z]\w*):", text))
    for cases in re.findall(r"\bcase ([^\n:]+)", text):
        names.update(re.findall(r"\w+", cases))
    return names, set(re.findall(r'"([\w.-]+)"', text))


def member_problems(name, text):
    names, literals = declared()
    for span, is_block in code(text):
        found = re.fullmatch(r"(?:[A-Za-z]\w*\.)*([a-z]\w*)(?:\((?:[\w:, _]*|…)\))?[?!]?", span)
        is_member = found and ("(" in span or re.search(r"[a-z][A-Z]", found[1]) or re.match(r"[A-Z]\w*\.[a-z]", span))
        other = re.search(r"^env\.|\.(py|pub|pem|org|com)\b", span)
        if is_member and not is_block and not other and found[1] not in names and span not in literals:
            yield f"{name}: `{span}`: nothing declares {found[1]}"


def without_interpolations(text):
    """Replaces each \\(…) of Swift with one NUL."""
    pieces, position = [], 0
    while (start := text.find("\\(", position)) >= 0:
        pieces.append(text[position:start] + "\0")
        position, depth = start + 2, 1
        while depth and position < len(text):
            depth += {"(": 1, ")": -1}.get(text[position], 0)
            position += 1
    return "".join(pieces) + text[position:]


@functools.cache
def printed():
    """The strings in the program and in the scripts, without line breaks; string literals joined by + are merged."""
    text = re.sub(r"^\s*//.*$", "", texts(("Sources", "Examples", "Plugins", "scripts"), (".swift", ".c", "")), flags=re.MULTILINE)
    text = re.sub(r'"\s*\+\s*"', "", re.sub(r"\\\n\s*", "", text))
    return re.sub(r"\s+", " ", without_interpolations(text))


def message_problems(name, text):
    prose = SPAN.sub(lambda span: span[0].replace('"', "”"), FENCE.sub("", text))
    for quoted in re.findall(r'"([^"\n|]*(?:\n[^"\n|]*)?)"', prose):
        quoted = " ".join(quoted.split())
        for part in re.split(r"…|`[^`]*`|\b[A-Z]{2,}[/A-Z]*\b|\b\d+\b", quoted):
            part = part.strip(" .,;:")
            if len(quoted.split()) > 2 and " " in part and part not in printed():
                yield f"{name}: \"{quoted}\": the program never prints \"{part}\""


def output_problems(name, text):
    for block in FENCE.finditer(text):
        lines = block[4].splitlines()
        if block[3] not in ("", "console") or any(re.match(r"dependencies:|[{}]", line) for line in lines):
            continue
        for line in lines:
            if re.match(r"\s*([$#\"]|rsdump |git |sudo )", line):
                continue
            # The program inserts a number and its noun.
            counted = re.sub(r"\b\d+ [a-z]+", "\0", line)
            for part in re.findall(r"(?<![\w./-])[a-z][a-z']*(?: [a-z][a-z']*)+(?![\w./-])", counted):
                if part not in printed() and part not in ALTERNATIVES:
                    yield f"{name}: the output \"{line.strip()}\": the program never prints \"{part}\""


def problems():
    known, others = commands((ROOT / OPTIONS).read_text()), scripts_options()
    for name in documents():
        text = (ROOT / name).read_text()
        yield from command_problems(name, text, known, others)
        yield from path_problems(name, text)
        yield from number_problems(name, text)
        yield from link_problems(name, text)
        # CONTRIBUTING.md names the tests, and documents.py compares those names.
        if name != "CONTRIBUTING.md" and not name.startswith("Tests/"):
            yield from member_problems(name, text)
            yield from message_problems(name, text)
            yield from output_problems(name, text)
    swift = (ROOT / "Sources/Dumps/Dumps/ExitStatus.swift").read_text()
    yield from exit_code_problems((ROOT / "FAQ.md").read_text(), swift, known)
