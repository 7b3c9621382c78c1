"""The changes of programs below Tests/Checks, Tests/Benchmark, scripts and .github."""
import json
import re


def checks(edits):
    root = edits.root
    edits.replace(
        "Tests/Checks/apple.py",
        ('parts = {"os": [STANDINS / "os.swift"], "Locks": found["Locks"].copies()}',
         'locks = [path for path in found["RemoteSettingsModel"].copies() if path.parent.name == "Locks"]\n'
         '    parts = {"os": [STANDINS / "os.swift"], "Locks": locks}'),
        ('if "Locks" in wanted and "Locks" not in failed:',
         'if "RemoteSettingsModel" in wanted and "RemoteSettingsModel" not in failed:'),
        ('    for name in sorted(apps_targets(manifest) & set(texts)):\n'
         '        yield from privacy.problems(name, ROOT / "Sources" / name, texts[name], declaring)',
         '    places = {target["name"]: ROOT / target["path"] for target in manifest["targets"]}\n'
         '    for name in sorted(apps_targets(manifest) & set(texts)):\n'
         '        yield from privacy.problems(name, places[name], texts[name], declaring)'),
        (r'C_LIBRARY = re.compile(r"^\s*import (?:LibC|Darwin|AppleFoundation)$", re.MULTILINE)',
         r'C_LIBRARY = re.compile(r"^\s*(?:@_exported )?import (?:RemoteSettingsModel|Darwin|AppleFoundation)$", re.MULTILINE)'))
    edits.sub("Tests/Checks/apple.py", (
        r"^# What this package has of its own on Apple systems \(.*\n",
        "# What this package has of its own on Apple systems (the model's folder Locks, OlderSystems.swift), and on Linux takes from\n# Swift.\n"))
    edits.replace("Tests/AppleSystems/availability.txt", ("(import Locks instead)", "(import RemoteSettingsModel instead)"))
    edits.sub(
        "Tests/Checks/linkage.py",
        (r"^RUNTIME = \{\n(?:.*\n)*?\}\n",
         'RUNTIME = {\n'
         '    "CZlib", "CCurl", "CThreads", "RemoteSettingsModel", "SnapshotTrust", "SnapshotBundle", "TargetFilter", "RemoteSettingsHTTP",\n'
         '    "CurlTransport", "URLSessionTransport", "RemoteSettings", "RemoteSettingsBlocking", "ConfigParameters", "RemoteConfiguration",\n'
         '}\n'),
        (r"^        sources = pathlib\.Path\(target\.get\(\"path\"\).*\n", '        sources = pathlib.Path(target["path"]).rglob("*.swift")\n'),
        (r"^        folder = .*\n", ""),
        (r"^        targets, products = dependencies\(target\)\n        for name in sorted\(\(targets \| products\) - imported - NOT_IMPORTED\):\n",
         '        targets, products = dependencies(target)\n'
         '        # Tests may use what their room does, and every target may use the model.\n'
         '        shared = set().union(*dependencies(rooms.get(target["name"].removesuffix("Tests"), {"dependencies": []})))\n'
         '        given = NOT_IMPORTED | {"RemoteSettingsModel"} | (shared if target["type"] == "test" else set())\n'
         '        for name in sorted((targets | products) - imported - given):\n'),
        (r"^def unused_dependencies\(package\):\n", 'def unused_dependencies(package):\n    rooms = {target["name"]: target for target in package["targets"]}\n'))
    edits.sub("Tests/Checks/promises.py",
              (r'"RemoteSettingsModel", "RemoteSettingsHTTP", "ContentSignature", "UpdateEvents"\]', '"RemoteSettingsModel", "RemoteSettingsHTTP", "SnapshotTrust"]'),
              (r'ROOT\.glob\("Sources/\*/module\.modulemap"\), \*ROOT\.glob\("Sources/\*/include/module\.modulemap"\)',
               'ROOT.glob("Sources/C/*/module.modulemap"), *ROOT.glob("Sources/*/*/include/module.modulemap")'))
    api = root / "Tests/Promises/api"
    for old, new in (("ContentSignature", "SnapshotTrust"), ("UpdateEvents", "RemoteSettingsHTTP")):
        if (api / f"{old}.txt").exists():
            lines = set((api / f"{old}.txt").read_text().splitlines())
            if (api / f"{new}.txt").exists():
                lines |= set((api / f"{new}.txt").read_text().splitlines())
            (api / f"{new}.txt").write_text("".join(f"{line}\n" for line in sorted(lines)))
            (api / f"{old}.txt").unlink()
    documents_check(edits)
    consumers(edits)
    costs(edits)
    sizes(edits)
    edits.sub("Tests/Checks/instructions.py", (
        r'output\("swift", "build", "--product", product, \*options\)', 'options = ["--traits", "Server,Lab", *options]\n    output("swift", "build", "--product", product, *options)'))
    edits.replace("Tests/Benchmark/size.py", ('options = ["--disable-default-traits", "-Xswiftc"', 'options = ["--traits", "Lab", "-Xswiftc"'))
    edits.replace("Tests/Checks/size.py", ('size.build(product, ["--static-swift-stdlib"])', 'size.build(product, ["--traits", "Server,Lab", "--static-swift-stdlib"])'))
    edits.sub(
        "Tests/Benchmark/bench",
        (r"^    cd \"\$directory\"\n", '    cd "$directory"\n    # Commits before the trait have everything without one.\n'
         "    ! grep -q 'name: \"Lab\"' Package.swift || options+=(--traits Server,Lab)\n"),
        (r"swift build -c release --static-swift-stdlib --product \\\$each", r"swift build -c release --traits Server,Lab --static-swift-stdlib --product \\$each"),
        (r"do swift build --product \$product >&2; done", "do swift build --traits Server,Lab --product $product >&2; done"))


def documents_check(edits):
    path = "Tests/Checks/documents.py"
    edits.replace(
        path,
        ('root.glob("Tests/*Tests/**/*.swift")', 'root.glob("Tests/**/*Tests/**/*.swift")'),
        ("  - The stops under", "  - A floor of Sources uses only floors before it, and Tool, Publish and Server use one another only in rsdump.\n"
         "  - The stops under"),
        ("ON_MACS = {\"SampleApp\"}\n", "ON_MACS = {\"SampleApp\"}\n# The folders of Sources, each of which uses only those before it.\n"
         'FLOORS = ["C", "Format", "Network", "Library", "Tool", "Publish", "Server"]\n'
         "# These three are used by nothing but the commands and themselves.\n"
         'LAST_FLOORS = {"Tool", "Publish", "Server"}\n'),
        ("def code(text):\n",
         'def floor_problems(package):\n'
         '    floors = {target["name"]: target["path"].split("/")[1] for target in package["targets"]\n'
         '              if target["path"].startswith("Sources/")}\n'
         '    for name in sorted(name for name, floor in floors.items() if floor not in FLOORS):\n'
         '        yield f"the room {name} is on no floor; expected Sources/FLOOR/{name} with one of {\', \'.join(FLOORS)}"\n'
         '    for target in package["targets"]:\n'
         '        name = target["name"]\n'
         '        if floors.get(name) not in FLOORS or name == "rsdump":\n'
         '            continue\n'
         '        for other in sorted(dependencies(target)):\n'
         '            floor, used = floors[name], floors.get(other)\n'
         '            if used not in FLOORS:\n'
         '                yield f"the room {name} uses {other}, which is on no floor"\n'
         '            elif FLOORS.index(used) > FLOORS.index(floor) or used != floor and {floor, used} <= LAST_FLOORS:\n'
         '                yield f"the room {name} of {floor} uses {other} of {used}"\n'
         '\n\n'
         'def code(text):\n'),
        ('    yield from room_problems(texts["ARCHITECTURE.md"], manifest())\n',
         '    package = manifest()\n    yield from room_problems(texts["ARCHITECTURE.md"], package)\n    yield from floor_problems(package)\n'))
    tests = "Tests/Integration/test_documents.py"
    edits.replace(tests, ("`Notifications`", "`DumpsExchange`"), ("| Notifications |", "| DumpsExchange |"), count=0)
    edits.replace(tests, ("Notifications of Package.swift", "DumpsExchange of Package.swift"), ("`Locks`", "`TargetFilter`"),
                  ("Locks is in the table", "TargetFilter is in the table"),
                  ('("ContentSignature", "SnapshotBundle"), ("UpdateEvents", "UpdateSchedule"),', '("SnapshotTrust", "SnapshotBundle"), ("CurlTransport", "SnapshotOrigin"),'), count=0)
    edits.replace(tests, ("@pytest.mark.parametrize(\"path, old, new\", [",
                          '@pytest.mark.parametrize("name, other, problem", [\n'
                          '    ("SnapshotBundle", "RemoteSettingsHTTP", "SnapshotBundle of Format uses RemoteSettingsHTTP of Network"),\n'
                          '    ("Publish", "DumpsRefresh", "Publish of Publish uses DumpsRefresh of Tool"),\n'
                          '    ("SnapshotServer", "SigningKeys", "SnapshotServer of Server uses SigningKeys of Publish"),\n'
                          '    ("RemoteSettings", "FaultyServer", "RemoteSettings uses FaultyServer, which is on no floor"),\n'
                          '])\n'
                          'def test_a_floor_that_uses_one_behind_it(package, name, other, problem):\n'
                          '    assert problem in told(documents.floor_problems(with_dependency(package, name, other)))\n'
                          '\n\n'
                          '@pytest.mark.parametrize("path, old, new", ['))


def consumers(edits):
    for path in ("Examples/OfflineExample/Package.swift", "Examples/TestedApp/Package.swift", "Tests/ConfigConsumer/Package.swift"):
        edits.replace(path, (', traits: [])', ')'))
    edits.replace("Examples/OfflineExample/Package.swift", (
        "// A package of its own, as an app's would be: without the trait for the tool, nothing of what only the tool needs is\n// fetched.\n",
        "// A package of its own, as an app's would be: without traits, nothing of the server is fetched.\n"))
    for path in ("Tests/Checks/consumer.py", "Tests/Checks/config_consumer.py"):
        edits.replace(path, ('if changed == text or "traits: []" not in text:', "if changed == text:"))
    path = "Tests/Checks/consumer.py"
    edits.replace(
        path,
        ("depends on this package by path, with `traits: []`. Then:", "depends on this package by path, without traits. Then:"),
        ("  - no package that only the tool needs is among its dependencies, nor fetched;",
         "  - no package that only the server needs is among its dependencies, nor fetched, and there are at most six direct ones;"),
    )
    edits.sub(
        path,
        (r"TOOL_PACKAGES", "SERVER_PACKAGES"),
        (r'"async-http-client", "swift-argument-parser", "hummingbird", "swift-service-lifecycle",\n    "swift-subprocess",\n',
         '"async-http-client", "swift-http-types", "hummingbird", "swift-service-lifecycle",\n'),
        (r"^def dependency_problems\(package\):\n    found = dependencies\(package, SCRATCH\)\n",
         'def direct(package):\n'
         '    """What this package itself depends on, as SwiftPM resolves it for the consumer."""\n'
         '    tree = json.loads(swift("package", "show-dependencies", "--format", "json", package=package))\n'
         '    return {each["identity"] for own in tree["dependencies"] for each in own["dependencies"]}\n\n\n'
         'def dependency_problems(package):\n'
         '    found = dependencies(package, SCRATCH)\n'
         '    count = len(direct(package))\n'
         '    if count > MOST_DIRECT:\n'
         '        yield f"{count} direct packages are resolved, expected at most {MOST_DIRECT}"\n'),
        (r"^TOOL_SYMBOL = ", "MOST_DIRECT = 6  # crypto, certificates, asn1, log, argument-parser, subprocess\nTOOL_SYMBOL = "))


def costs(edits):
    path = "Tests/Checks/costs.py"
    edits.replace(
        path,
        ('"Sources/Publish/SigningKeys", ', '"Sources/Publish/SigningKeys", "Sources/Format/ContentSigning", '),
    )
    edits.sub(path, (r'"Tests/Fuzz", "Tests/Lab/FuzzTargetsTests", ', '"Tests/Lab", "Tests/Comparisons", '), (r'"Tests/Lab/soak", ', ""))
    edits.sub(path, (r'("Sources/Tool/DumpsExchange", )"Sources/Format/RemoteSettingsModel/Compression", ', r"\1"),
              (r', "Tests/Server/StaticMirrorTests/Bundles"', ""), optional=True)
    edits.sub(
        path,
        (r'"""scripts/check costs: prints the table of ARCHITECTURE\.md that says what each feature costs, in lines of code and of tests\.\n',
         '"""scripts/check costs: prints the two tables of ARCHITECTURE.md that say what the package and each feature cost.\n'),
        (r"^import pathlib\nimport sys\n", "import json\nimport pathlib\nimport re\nimport subprocess\nimport sys\nimport tempfile\n"),
        (r"^def main\(\):\n", (edits.texts / "figures.py").read_text().replace("\\", "\\\\") + "\n\ndef main():\n"),
        (r'^    print\("\| feature \| who uses it', '    code, tests = (sum(count[kind] for count in counts) for kind in (0, 1))\n'
         '    print("| | 1cf70e2 | now | goal |\\\\n| --- | ---: | ---: | ---: |")\n'
         '    for name, before, now, goal in figures(code, tests):\n'
         '        print(f"| {name} | {before} | {now} | {goal} |")\n'
         '    print()\n'
         r'    print("| feature | who uses it'))
    edits.replace("scripts/check", (
        "#   costs           prints the table of ARCHITECTURE.md that says what each feature costs in lines",
        "#   costs           prints the tables of ARCHITECTURE.md that say what the package and each feature cost"))
    edits.replace("scripts/check", (
        "#   documents       ARCHITECTURE.md and CONTRIBUTING.md: the order of rooms, the ways,",
        "#   documents       ARCHITECTURE.md and CONTRIBUTING.md: floors and the order of rooms, the ways,"), optional=True)


def sizes(edits):
    """The kept sizes, by today's rooms: a release build measures them anew."""
    import plan
    path = edits.root / "Tests/Benchmark/size.json"
    kept = json.loads(path.read_text())
    for program, found in kept["bytes"].items():
        merged = {}
        for name, count in found.items():
            name = plan.MODULES.get(name, name)
            merged[name] = merged.get(name, 0) + count
        kept["bytes"][program] = dict(sorted(merged.items()))
    path.write_text(json.dumps(kept, indent=2) + "\n")


def scripts(edits):
    edits.sub(
        "scripts/test",
        (r"^logs=\.build/test-logs\n", "logs=.build/test-logs\n# Everything that there is: one build for all stages.\ntraits=(--traits Server,Lab)\n"),
        (r"one_check build swift build --build-tests", 'one_check build swift build "${traits[@]}" --build-tests'),
        (r"swift test --skip-build --no-parallel", 'swift test "${traits[@]}" --skip-build --no-parallel'),
        (r'local options=\("\$@" --scratch-path', 'local options=("$@" "${traits[@]}" --scratch-path'))
    edits.sub(
        "scripts/package",
        (r"^options=\(--configuration release ", "options=(--traits Server --configuration release "),
        (r"^    swift package resolve >&2", "    swift package --traits Server resolve >&2"))
    edits.sub("scripts/demo", (r'swift build --product "\$1"', 'swift build --traits Server --product "$1"'))
    edits.sub("scripts/soak", (r'\["swift", "build", "--product", name\]', '["swift", "build", "--traits", "Server,Lab", "--product", name]'))
    edits.sub(
        "scripts/fuzz",
        (r"it needs the server's dependencies, so that building it takes twice as long", "it needs the trait Server, so that building it takes twice as long"),
        (r"^def build\(product, scratch, \*options\):\n    \"\"\"Builds a program and returns its path\.\"\"\"\n",
         'def build(traits, scratch, *options):\n    """Builds the fuzzers and returns the program\'s path."""\n'),
        (r'command = \["swift", "build", "--product", product, "--scratch-path", ROOT / scratch, \*options\]',
         'command = ["swift", "build", "--product", "rsfuzz", "--traits", traits, "--scratch-path", ROOT / scratch, *options]'),
        (r"return ROOT / scratch / configuration / product", 'return ROOT / scratch / configuration / "rsfuzz"'),
        (r"^def build_fuzzer\(product, with_address\):", "def build_fuzzer(traits, with_address):"),
        (r"return build\(product, ", "return build(traits, "),
        (r'"""The name of each target, its program and what it checks, from its source: no build is needed to list them\."""',
         '"""The name of each target, the traits that it needs and what it checks, from its source: no build is needed to list them."""'),
        (r'ROOT / "Tests/Fuzz" / folder', 'ROOT / "Tests/Lab" / folder'),
        (r"of Tests/Fuzz, each", "of Tests/Lab, each"),
        (r'for folder, product in \[[^\]]*\]:', 'for folder, traits in [("FuzzTargets", "Lab"), ("FuzzTargets/Server", "Server,Lab")]:'),
        (r"found\[name\] = \(product, what\)", "found[name] = (traits, what)"),
        (r"^def coverage\(product, names\):", "def coverage(traits, names):"),
        (r"program = build\(product, \"\.build-fuzz-lines\"", 'program = build(traits, ".build-fuzz-lines"'),
        (r'if known\[name\]\[0\] == "rsfuzz"\]', 'if known[name][0] == "Lab"]'),
        (r"^    product = known\[names\[0\]\]\[0\]\n", "    traits = known[names[0]][0]\n"),
        (r"coverage\(product, names\)\n        return", "coverage(traits, names)\n        return"),
        (r'program = build_fuzzer\(product, "--address" in options\)', 'program = build_fuzzer(traits, "--address" in options)'))
    edits.sub(
        "scripts/docs",
        (r'"swift", "package", "dump-symbol-graph"', '"swift", "package", "--traits", "Server,Lab", "dump-symbol-graph"'),
        (r'^def modules_in_order\(\) -> list\[str\]:', "def modules_in_order() -> dict[str, pathlib.Path]:"),
        (r'"""The package\'s own targets below Sources, each one after those that it imports\."""',
         '"""The package\'s own targets below Sources with their folders, each one after those that it imports."""'),
        (r'^    targets = \{\}\n', "    targets, places = {}, {}\n"),
        (r'^(            )targets\[target\["c99name"\]\] = (.*)\n', r'\1targets[target["c99name"]] = \2' + "\n" + r'\1places[target["c99name"]] = ROOT / target["path"]' + "\n"),
        (r"^    return \[\*ordered, START\]\n", "    return {name: places[name] for name in [*ordered, START]}\n"),
        (r"^def convert\(module: str, graphs", "def convert(module: str, place: pathlib.Path, graphs"),
        (r'catalog = ROOT / "Sources" / module / "Documentation\.docc"', 'catalog = place / "Documentation.docc"'),
        (r"^    for module in modules_in_order\(\):\n        archive, found = convert\(module, graphs",
         "    for module, place in modules_in_order().items():\n        archive, found = convert(module, place, graphs"),
        (r'\(\?:\\\.\\\.\\\\\?/\)\{2\}\(\\w\+\)', r'(?:\\.\\.\\\\?/){2,3}(?:\\w+\\\\?/)?(\\w+)'))


def workflows(edits):
    nightly = ".github/workflows/nightly-tests.yml"
    edits.sub(nightly, (r"run: swift build --product rsdump$", "run: swift build --traits Server,Lab --product rsdump"))
    edits.sub(".github/workflows/apple.yml", (r"run: swift test --no-parallel$", "run: swift test --no-parallel --traits Server,Lab"))
    edits.add(".spi.yml", "spi.yml")
