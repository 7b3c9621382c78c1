"""What no table can say: small changes of single files, each by what it looks for. One that finds nothing is reported."""
import pathlib
import re
import subprocess
import textwrap

from checks_edits import checks, scripts, workflows
from swift_text import code_words

ADDED = []  # new Swift files, which are guarded and formatted like the others


class Edits:
    def __init__(self, root, texts, problems):
        self.root, self.texts, self.problems = root, texts, problems

    def add(self, path, name, is_optional=False):
        """A new file."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text((self.texts / name).read_text())
        if path.endswith(".swift"):
            ADDED.append(path)

    def replace(self, path, *pairs, count=1, optional=False):
        """Replaces texts that are there; with `optional`, those that are not are passed over."""
        target = self.root / path
        if not target.exists():
            if not optional:
                self.problems.append(f"{path} is not there")
            return
        text = target.read_text()
        for old, new in pairs:
            if old not in text:
                if not optional and new not in text:
                    self.problems.append(f"{path}: nothing like {old!r}")
                continue
            text = text.replace(old, new) if count == 0 else text.replace(old, new, count)
        target.write_text(text)

    def sub(self, path, *pairs, count=0, optional=False, flags=re.MULTILINE):
        """The same with regular expressions."""
        target = self.root / path
        if not target.exists():
            if not optional:
                self.problems.append(f"{path} is not there")
            return
        text = target.read_text()
        for pattern, new in pairs:
            changed, found = re.subn(pattern, new, text, count=count, flags=flags)
            if not found and not optional:
                self.problems.append(f"{path}: nothing like {pattern!r}")
            text = changed
        target.write_text(text)

    def section(self, path, heading, name):
        """Replaces a section of a document, up to the next heading of the same level."""
        target = self.root / path
        text = target.read_text()
        level = re.match(r"#+", heading)[0]
        found = re.search(rf"^{re.escape(heading)}\n.*?(?=^{level} |\Z)", text, flags=re.MULTILINE | re.DOTALL)
        if not found:
            self.problems.append(f"{path} has no heading {heading}")
            return
        target.write_text(text[:found.start()] + (self.texts / name).read_text().rstrip() + "\n\n" + text[found.end():])

    def wrap(self, path, start, condition):
        """Puts one declaration, with its comment and attributes, behind a condition. `start` is a part of its first line."""
        target = self.root / path
        lines = target.read_text().split("\n")
        at = next((number for number, line in enumerate(lines) if start in line), None)
        if at is None:
            self.problems.append(f"{path}: nothing like {start!r}")
            return
        first = at
        while re.match(r"\s*(///|@)", lines[first - 1]):
            first -= 1
        if lines[first - 1].strip().startswith("#if"):
            if condition not in lines[first - 1]:
                lines[first - 1] += f" && {condition}"
            target.write_text("\n".join(lines))
            return
        depth, last = 0, at
        for last in range(at, len(lines)):
            code = re.sub(r'"(?:\\.|[^"\\])*"', "", lines[last])
            depth += code.count("{") - code.count("}")
            if depth == 0 and "{" in "".join(lines[at:last + 1]):
                break
        lines[first:last + 1] = [f"#if {condition}", *lines[first:last + 1], "#endif"]
        target.write_text("\n".join(lines))

    def widen_for(self, folder, users):
        """Makes visible what the sources of another room use of this one: members and types without an access level of their own."""
        words = set()
        for path in (self.root / users).rglob("*.swift"):
            words |= code_words(path.read_text())
        for path in sorted((self.root / folder).rglob("*.swift")):
            lines, is_protocol = path.read_text().split("\n"), False
            for number, line in enumerate(lines):
                is_protocol = bool(re.match(r"(?:package )?protocol\b.*\{$", line)) or is_protocol and line != "}"
                found = re.match(r"( {0,4})((?:static |mutating )?(?:func|var|let|struct|enum|protocol)\b (\w+)|init\()", line)
                if found and not (is_protocol and found[1]) and (found[3] is None or found[3] in words):
                    lines[number] = f"{found[1]}package {line[len(found[1]):]}"
            path.write_text("\n".join(lines))

    def move_extension(self, path, to, name):
        """Moves an extension, of which the file has one, to the end of another file."""
        source, target = self.root / path, self.root / to
        text = source.read_text()
        found = re.search(rf"\n((?:///[^\n]*\n)*extension {name} \{{\n.*?\n\}}\n)", text, flags=re.DOTALL)
        if not found:
            self.problems.append(f"{path} has no extension of {name}")
            return
        source.write_text(text[:found.start()] + text[found.end():])
        target.write_text(f"{target.read_text().rstrip()}\n\n{found[1]}")

    def widen(self, path, *declarations):
        """Makes declarations visible to other rooms: each is a part of its line, from its first word on."""
        target = self.root / path
        if not target.exists():
            self.problems.append(f"{path} is not there")
            return
        text = target.read_text()
        for declaration in declarations:
            if re.search(rf"\bpackage {re.escape(declaration)}", text):
                continue
            changed = re.sub(rf"^( *)(?:internal )?{re.escape(declaration)}", rf"\1package {declaration}", text, flags=re.MULTILINE)
            if changed == text:
                self.problems.append(f"{path}: nothing like {declaration!r}")
            text = changed
        target.write_text(text)


def apply(root, texts, problems):
    edits = Edits(root, texts, problems)
    for each in (sources, traits, tests, checks, scripts, workflows, documents):
        each(edits)


def sources(edits):
    edits.replace(".swift-format", ('  "lineBreakBeforeEachArgument"', '  "indentConditionalCompilationBlocks": false,\n  "lineBreakBeforeEachArgument"'))
    # What signs is a room before keys, for the testing product signs, too.
    signing = "Sources/Format/ContentSigning"
    edits.move_extension("Sources/Publish/SigningKeys/Succession.swift", f"{signing}/CertificateAuthority.swift", "SigningCertificate")
    edits.widen_for(signing, "Sources/Publish/SigningKeys")
    # LZ4's library is for those who serve; an app's tests do without.
    origin = "Sources/Network/SnapshotOrigin"
    edits.sub(
        f"{origin}/Origin.swift",
        (r"^    package let limits: Limits\n",
         "    package let limits: Limits\n"
         "    /// Packs the bundles of changesets; without it there are none.\n"
         "    let mozlz4: (@Sendable ([Bytes]) -> Bytes?)?\n"),
        (r"^(    ///   - softwareVersion: .*\n(?:    ///     .*\n)*)", r"\1    ///   - mozlz4: packs the bundles of changesets; without it there are none.\n"),
        (r"softwareVersion: String,(\s+)limits: Limits = Limits\(\)\n",
         r"softwareVersion: String,\1limits: Limits = Limits(),\n        mozlz4: (@Sendable ([Bytes]) -> Bytes?)? = nil\n"),
        (r"^        self\.limits = limits\n", "        self.limits = limits\n        self.mozlz4 = mozlz4\n"))
    edits.replace(f"{origin}/Origin+Documents.swift", ("guard let packed = MozLZ4.pack(segments) else", "guard let packed = mozlz4?(segments) else"))
    edits.sub("Sources/Server/StaticMirror/MozLZ4+Pack.swift",
              (r"^ *#if Tools\n", ""), (r"^ *#else\n *return nil\n *#endif\n", ""), (r"^ *#endif\n", ""), optional=True)
    edits.sub("Sources/Server/StaticMirror/MozLZ4+Pack.swift",
              (r"about 2 GB\. Without(?:.|\n)*?library\.\n", "about 2 GB.\n"), optional=True)
    for path in ("Sources/Server/StaticMirror/MirrorPublication.swift", "Sources/Server/SnapshotServer/State/DumpsLoader.swift"):
        edits.replace(path, ("softwareVersion: softwareVersion, limits: limits)", "softwareVersion: softwareVersion, limits: limits, mozlz4: MozLZ4.pack)"))
    edits.replace("Sources/Server/SnapshotServer/State/DumpsLoader.swift", ("import SnapshotOrigin\n", "import SnapshotOrigin\nimport StaticMirror\n"))
    # Below Sources, arithmetic on times saturates.
    edits.sub("Sources/Tool/rsdump/Demo/DemoOrigin.swift",
              (r"Timestamp\(milliseconds: now\.milliseconds - 86_400_000\)", "now.advanced(by: .seconds(-86_400))"))
    # The folder is one deeper.
    edits.replace("Sources/Library/EmbeddedFirefoxDumps/EmbeddedFirefoxDumps.c", ('"../../dumps/', '"../../../dumps/'), count=0)


def traits(edits):
    commands = "Sources/Tool/rsdump"
    path = edits.root / f"{commands}/Commands/Serve.swift"
    stub = (edits.texts / "ServeMissing.swift").read_text()
    path.write_text(f"#if Server\n{path.read_text().rstrip()}\n#else\n{stub.rstrip()}\n#endif\n")
    edits.replace(f"{commands}/CommandFailure.swift", ("import SnapshotServer\n", "#if Server\nimport SnapshotServer\n#endif\n"))
    edits.sub(f"{commands}/CommandFailure.swift", (
        r"^( *)case (.*), is ServerError: \.usage\n",
        r"\1case \2: .usage\n#if Server\n\1case is ServerError: .usage\n#endif\n"))
    edits.sub(f"{commands}/Commands/WatchCommand.swift", (r"^import UnixSignals\n", ""),
              (r"await UnixSignalsSequence\(trapping: \.sigterm, \.sigint\)", "TerminationSignals.stream()"))
    edits.add(f"{commands}/TerminationSignals.swift", "TerminationSignals.swift")


def tests(edits):
    root = edits.root
    edits.wrap("Tests/Library/RemoteSettingsTests/BlockingTests.swift", "func callsAtOnceEnd(", "Lab")
    # What makes servers for tests exports the library, whose names are those of the blocking calls.
    for path in ("Tests/Library/RemoteSettingsTests/BlockingTests.swift", "Tests/Lab/blocking-process/main.swift"):
        edits.replace(path, ("import RemoteSettingsBlocking\n",
                             "import RemoteSettingsBlocking\nimport class RemoteSettingsBlocking.RemoteSettingsClient\n"
                             "import class RemoteSettingsBlocking.RemoteSettingsService\n"))
    concurrency = "Tests/Library/RemoteSettingsTests/ConcurrencyTests.swift"
    edits.wrap(concurrency, "func twoProcesses(", "Lab")
    edits.wrap(concurrency, "static var storageProcess:", "Lab")
    stress = "Tests/Library/RemoteConfigurationTests/StressTests.swift"
    edits.wrap(stress, "static var program:", "Lab")
    edits.wrap(stress, "func killedAtAnyMoment(", "Lab")
    edits.replace("Tests/Lab/rsfuzz/rsfuzz.swift", ("FuzzProgram(FuzzTarget.all)", "FuzzProgram(FuzzTarget.all + FuzzTarget.server)"))
    target = root / "Tests/Lab/FuzzTargets/FuzzTarget.swift"
    target.write_text(target.read_text().rstrip() + "\n\n#if !Server\nextension FuzzTarget {\n    /// Those of the server are there with its trait.\n"
                      "    package static let server: [FuzzTarget] = []\n}\n#endif\n")
    edits.sub("Tests/Lab/FuzzTargets/Server/HeadTarget.swift", (
        r"    /// The targets of what needs NIO and Hummingbird, in a program of their own: with these, each run of the others\n"
        r"    /// would be slower\.\n", "    /// The targets of what needs NIO and Hummingbird.\n"), optional=True)
    edits.replace("Tests/Lab/FuzzTargets/StateTargets.swift", ("import RemoteSettingsModel\n", "import RemoteSettingsModel\nimport StaticMirror\n"))
    edits.replace("Tests/Integration/test_snippets.py", ('"Sources/*/Documentation.docc/*.md"', '"Sources/*/*/Documentation.docc/*.md"'),
                  ('"Sources/*/include"', '"Sources/*/*/include"'))
    edits.replace("Tests/Integration/test_tables.py", ('"Tests/*Tests/*.swift"', '"Tests/*/*Tests/**/*.swift"'))
    origin = "Tests/Network/SnapshotOriginTests/OriginTests.swift"
    edits.sub(origin, (r'softwareVersion: "([\d.]+)"\)', r'softwareVersion: "\1", mozlz4: MozLZ4.pack)'))
    edits.replace(origin, ("import SnapshotBundle\n", "import SnapshotBundle\nimport StaticMirror\n"))


def documents(edits):
    root = edits.root
    architecture = "ARCHITECTURE.md"
    edits.section(architecture, "## The picture", "picture.md")
    edits.section(architecture, "## The rooms", "rooms.md")
    edits.sub(
        architecture,
        (r"room `ContentSignature`", "room `SnapshotTrust`"),
        (r"\| room `Notifications`; the steps for each", "| `Notifications` in the room `DumpsRefresh`; the steps for each"),
        (r"`Tests/ROOMTests`, such as `swift test --filter NotificationsTests`",
         "`Tests/FLOOR/ROOMTests`, such as `swift test --filter NotificationsTests`"),
        (r"^(\| Where is a lock entry made\?)",
         "| Where is an option of `refresh`? | floor `Tool`: `rsdump/Commands/RefreshCommand.swift`, and what it does in `DumpsRefresh` |\n"
         "| Where is a type of remote config's records? | floor `Library`: `ConfigParameters/ParameterRecord.swift` |\n"
         r"| Where is a page of `serve`? | floor `Server`: `SnapshotServer/Page/Pages` |" "\n" r"\1"),
        (r"what each feature costs\.\n", "what it all costs.\n"),
        (r"^## What each feature costs\n\nLines of code and of tests, counted by `scripts/check costs`, which prints this table anew; comments and empty lines do\nnot count\.",
         "## What it all costs\n\n`scripts/check costs` prints both tables anew. Rooms are the targets of the floors, and an edge is one that uses another.\n"
         "Options are all that `rsdump` declares, its arguments with them.\n\nFIGURES\n\n"
         "Lines of code and of tests, where comments and empty lines do not count."), optional=True)
    edits.replace("CONTRIBUTING.md",
                  ("    swift build --build-tests      # debug, all targets: some minutes on two cores\n",
                   "    swift build                    # debug, all but serve: some minutes on two cores\n"
                   "    swift test                     # what needs neither a server nor other programs of this package\n"
                   "    swift build --build-tests --traits Server,Lab        # what scripts/test builds: everything\n"))
    edits.sub(
        "CONTRIBUTING.md",
        (r"(To work on one library alone, `swift build --target RemoteSettings` is enough\.)",
         r"\1 The trait `Server` adds `serve`, which needs\n"
         r"NIO and Hummingbird; `Lab` adds fuzzers, benchmarks, the soak and the processes that tests start. With other traits\n"
         r"than before, SwiftPM compiles this package anew."),
        (r"    swift test --skip-build --filter LieTests", "    swift test --traits Server,Lab --skip-build --filter LieTests"),
        (r"^\*\*A room\.\*\* `Package\.swift`; the tables of \[ARCHITECTURE\.md\]\(ARCHITECTURE\.md#the-rooms\), below all that it imports; a\nfeature in `Tests/Checks/costs\.py`; and `RUNTIME` in `Tests/Checks/linkage\.py` if apps link it\.",
         "**A room.** A line on its floor in `Package.swift`, and its folder there; the tables of\n"
         "[ARCHITECTURE.md](ARCHITECTURE.md#the-rooms), below all that it imports; a feature in `Tests/Checks/costs.py`; and\n"
         "`RUNTIME` in `Tests/Checks/linkage.py` if apps link it. First ask whether it is a trade of its own, or a folder of a\n"
         "room that there is."),
        (r"packages that depend on this one, with and without the tool", "packages that depend on this one, with and without traits"))
    edits.replace("README.md", ("swift build -c release --product rsdump`", "swift build -c release --traits Server --product rsdump`"))
    edits.sub("DECISIONS.md", (r"`AuthoredText` makes its tree", "`AuthoredText` (in `Dumps`) makes its tree"),
              (r"`FirebaseFormats` reads", "`FirebaseFormats` (in `Publish`) reads"),
              (r"an app that depends on this package with\n`traits: \[\]` does not even fetch it\. The trait `Tools` would bring NIO together with Hummingbird, libarchive and\neverything else of the tool\.",
               "an app that names no trait\ndoes not even resolve it. The trait `Server` would bring NIO together with Hummingbird."), optional=True)
    commands = "Sources/Tool/rsdump/Documentation.docc"
    edits.sub(
        f"{commands}/StartApp.md",
        (r"With `\.package\(url: \"…\", from: \"0\.1\.0\", traits: \[\]\)` SwiftPM does not even fetch them\.",
         "SwiftPM resolves six packages for it, and none of a server: traits that add\\n  more are off unless you name them.".replace("\\n", "\n")),
        (r"library, SwiftPM builds every target that there is, the tool's too, and ends with `no such module 'CLZ4'`\.",
         "library, SwiftPM builds every target that there is, the tool's too, which need the headers of libarchive and libyaml."))
    edits.sub("Sources/Library/RemoteSettingsTesting/Documentation.docc/RemoteSettingsTesting.md",
              (r"^With `traits: \[\]` in the package's dependency, nothing is fetched", "Nothing is fetched"), (r"``/InMemoryOrigin/", "``"))
    edits.sub("Sources/Library/RemoteSettings/Documentation.docc/RealTime.md", (r"nothing else that only the tool needs", "nothing else that only the server needs"), optional=True)
    edits.sub("Sources/Library/RemoteSettings/Documentation.docc/AppleSystems.md",
              (r"swift test --no-parallel`", "swift test --traits Server,Lab --no-parallel`"))
    edits.sub("Sources/Tool/DumpsRefresh/Documentation.docc/Benchmarks.md",
              (r"swift build -c release --static-swift-stdlib$", "swift build -c release --traits Server,Lab --static-swift-stdlib"))
    edits.sub("Sources/Format/Dumps/Configuration/DumpsConfiguration.swift", (r"`ContentSignature\.TrustPolicy`", "`SnapshotTrust.TrustPolicy`"), optional=True)
    edits.sub("Sources/Format/RemoteSettingsModel/Snapshot/Snapshot.swift", (r"\(`ContentSignature`\)", "(`SnapshotTrust`)"), optional=True)
    edits.sub("Sources/Format/SnapshotBundle/Read/BundleVerification.swift", (r"\(`ContentSignature` does that\)", "(`SnapshotTrust` does that)"), optional=True)
    edits.sub("Tests/fetch-autograph-chains", (r"tests of ContentSignature", "tests of SnapshotTrust"))
    edits.replace("CHANGELOG.md", (
        "The first release.\n\n",
        "The first release.\n\n"
        "- The package has no default traits. An app names none, and resolves six packages. `rsdump serve` is there with the trait\n"
        "  `Server`: `swift build --traits Server --product rsdump`. Installed packages have it. The trait `Tools` is gone.\n"))


def rewrapped(text):
    """A document whose paragraphs have lines of at most 120 columns, where some have more; tables and code stay."""
    result, paragraph, is_code = [], [], False

    def end():
        if any(len(line) > 120 for line in paragraph):
            first = re.match(r" *(?:- |\d+\. |> )?", paragraph[0])[0]
            words = " ".join(line.strip() for line in [paragraph[0][len(first):], *paragraph[1:]])
            result.extend(textwrap.wrap(
                words, 120, initial_indent=first, subsequent_indent=" " * len(first), break_long_words=False,
                break_on_hyphens=False))
        else:
            result.extend(paragraph)
        paragraph.clear()

    for line in text.split("\n"):
        is_fence = line.lstrip().startswith("```")
        if is_code or is_fence or not line.strip() or re.match(r"\||#|    (?! *[-\d])|@|<|\[", line):
            end()
            result.append(line)
            is_code = is_code != is_fence
            continue
        if re.match(r" *(?:- |\d+\. )", line):
            end()
        paragraph.append(line)
    end()
    return "\n".join(result)


def after_format(root, problems):
    for path in [*root.glob("*.md"), *root.glob("Sources/*/*/Documentation.docc/*.md")]:
        text = path.read_text()
        wrapped = rewrapped(text)
        if wrapped != text:
            path.write_text(wrapped)
    figures(root, problems)


def figures(root, problems):
    """The table of figures, which needs everything else to be in place."""
    path = root / "ARCHITECTURE.md"
    text = path.read_text()
    if "FIGURES\n" not in text:
        return
    ended = subprocess.run(["python3", "Tests/Checks/costs.py"], cwd=root, capture_output=True, text=True)
    if ended.returncode != 0:
        problems.append(f"scripts/check costs: {ended.stderr[-2000:]}")
    tables = ended.stdout.split("\n\n")
    if len(tables) < 2:
        return
    text = text.replace("FIGURES\n", tables[0].strip() + "\n")
    text = text[:text.index("| feature | who uses it")] + tables[1].strip() + "\n"
    path.write_text(text)
