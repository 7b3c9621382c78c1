"""Every Swift block in README, start pages and articles compiles unmodified: as main.swift and as the body of an async function,
in both language modes, against the built modules; tests outside of functions. Tests/Snippets declares what an article's blocks
assume; blocks in README and in start pages assume nothing."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import rsdump

ROOT = rsdump.REPOSITORY
BUILT = ROOT / ".build/debug"
AROUND = ROOT / "Tests/Snippets"
ALONE = {"README", "StartApp", "StartPublish", "StartNightly", "StartRelease"}
# The module with the context of an article's blocks, if it is not AppAround.
MODULES = {"Behaviour": "ConfigAround", "RemoteSettingsTesting": "TestsAround"}
MODES = ["5", "6"]
BLOCK = re.compile(r"^( *)```swift\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
# Warnings because a block ends before its values are used.
HARMLESS = re.compile(r"was never used|is unused|never mutated|never read")


def pages():
    return [ROOT / "README.md", *sorted(ROOT.glob("Sources/*/*/Documentation.docc/*.md"))]


def manifests():
    """The blocks that are complete Package.swift files."""
    return [(name, text) for name, text in all_blocks() if "import PackageDescription" in text]


def blocks():
    return [(name, text) for name, text in all_blocks() if "import PackageDescription" not in text]


def all_blocks():
    """The name and text of each block, without list indentation."""
    for page in pages():
        for number, found in enumerate(BLOCK.finditer(page.read_text()), 1):
            indent, text = found.groups()
            yield f"{page.stem}-{number}", re.sub(rf"^{indent}", "", text, flags=re.MULTILINE)


def split(text):
    """The imports, and the rest."""
    lines = text.splitlines()
    imports = [line for line in lines if re.match(r"import ", line)]
    return imports, [line for line in lines if line not in imports]


def compiler(*arguments):
    """Compiles against the built modules, as another module of the package. Returns the diagnostics."""
    maps = [f"-Xcc -fmodule-map-file={path}" for path in sorted(BUILT.glob("*.build/module.modulemap"))]
    folders = {path.parent for folder in ("Sources", ".build/checkouts") for path in
               (ROOT / folder).glob("**/module.modulemap") if "Tests" not in path.parts}
    folders |= {path for path in ROOT.glob("Sources/*/*/include")}
    command = ["swiftc", "-package-name", ROOT.name.lower(), "-I", BUILT / "Modules",
               *" ".join(maps).split(), *(each for folder in sorted(folders) for each in ("-I", folder)), *arguments]
    ran = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    told = [line for line in (ran.stdout + ran.stderr).splitlines()
            if re.match(r"/.*: (error|warning): ", line) and not (": warning: " in line and HARMLESS.search(line))]
    return told or ([ran.stderr] if ran.returncode else [])


@pytest.fixture(scope="module")
def around(tmp_path_factory):
    """The modules with the context of the articles' blocks."""
    folder = tmp_path_factory.mktemp("around")
    sources = {path.stem: path for path in AROUND.glob("*.swift")}
    sources["MozillaAppServices"] = ROOT / "Tests/ConfigConsumer/Sources/OlderBinding/OlderBinding.swift"
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        told = pool.map(lambda each: compiler(
            "-emit-module", "-parse-as-library", "-module-name", each[0], "-emit-module-path", folder / f"{each[0]}.swiftmodule",
            "-swift-version", "6", each[1]), sources.items())
        assert not sum(told, [])
    return folder


def surrounded(name, text):
    """The block's imports, with those of the file that it belongs to, and its other lines."""
    imports, lines = split(text)
    if name.split("-")[0] in ALONE:
        return imports, lines
    module = MODULES.get(name.split("-")[0], "AppAround")
    if "import RemoteSettingsBlocking" in imports:
        module = "BlockingAround"
    return ["import Foundation", f"import {module}", *imports], lines


def is_test(text):
    """Whether the block is a test function, which cannot be in main.swift or inside a function."""
    return re.search(r"^@Test ", text, re.MULTILINE)


def write(path, *parts):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(line for part in parts for line in part) + "\n")
    return path


def test_every_block_compiles_in_an_asynchronous_function(around, tmp_path):
    files = []
    for number, (name, text) in enumerate(blocks()):
        imports, lines = surrounded(name, text)
        body = lines if is_test(text) else [f"func block{number}() async throws {{", *lines, "}"]
        files.append(write(tmp_path / f"{name}.swift", imports, body))
    assert len(files) > 15
    assert {mode: compiler("-typecheck", "-parse-as-library", "-swift-version", mode, "-I", around, *files)
            for mode in MODES} == {mode: [] for mode in MODES}


def test_every_block_compiles_as_main_swift(around, tmp_path):
    tasks = [(name, mode, write(tmp_path / name / "main.swift", *surrounded(name, text)))
             for name, text in blocks() if not is_test(text) for mode in MODES]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        told = pool.map(lambda task: compiler("-typecheck", "-swift-version", task[1], "-I", around, task[2]), tasks)
        problems = {f"{name}, Swift {mode}": each for (name, mode, _), each in zip(tasks, told) if each}
    assert problems == {}


def test_every_manifest_compiles_and_names_our_products(tmp_path):
    interface = pathlib.Path(shutil.which("swift")).resolve().parents[1] / "lib/swift/pm/ManifestAPI"
    products = re.findall(r'\.library\(name: "(\w+)"', (ROOT / "Package.swift").read_text())
    assert manifests()
    for name, text in manifests():
        version = re.match(r"// swift-tools-version: ([\d.]+)\n", text)[1]
        ran = subprocess.run(
            ["swiftc", "-typecheck", "-package-description-version", f"{version}.0", "-I", interface,
             write(tmp_path / name / "Package.swift", [text])], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        assert set(re.findall(r'name: "(\w+)", package: "swift-remote-settings"', text)) <= set(products)
