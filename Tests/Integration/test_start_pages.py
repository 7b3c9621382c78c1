"""README and the start pages: the commands shown to newcomers succeed and print the output shown."""
import os
import re
import subprocess

import pytest

import rsdump
from git import ENVIRONMENT, Repository
from test_snippets import compiler

PAGES = rsdump.REPOSITORY / "Sources/Tool/rsdump/Documentation.docc"
README = (rsdump.REPOSITORY / "README.md").read_text()
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(page):
    return [text for language, text in BLOCK.findall(page) if language == "shell"]


def shown(page):
    """The lines of each block of output that follows commands."""
    blocks = BLOCK.findall(page)
    for (before, _), (language, text) in zip(blocks, blocks[1:]):
        if before == "shell" and language == "":
            yield from (line for line in text.splitlines() if line != "…")


def without_values(text):
    """Replaces times, hashes, sizes and ports, which differ between runs."""
    text = re.sub(r"\d{4}-\d\d-\d\d(T[\d:.]+Z)?", "DATE", text)
    text = re.sub(r"\b(?=\w*\d)[0-9a-f]{12,}\b", "HASH", text)
    text = re.sub(r"\d+(\.\d+)?", "N", text)
    return re.sub(r" +", " ", text)


def compare(page, printed):
    printed = without_values(printed)
    for line in shown(page):
        for part in without_values(line).split("…"):
            assert part.strip() in printed, f"the page shows\n{line}\nbut the output is\n{printed}"


@pytest.mark.parametrize("name", ["StartNightly", "StartApp", "StartRelease", "StartPublish"])
def test_the_commands_of_a_start_page_print_what_it_shows(name, tmp_path):
    page = (PAGES / f"{name}.md").read_text()
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "rsdump").symlink_to(rsdump.BINARY)
    folder = tmp_path / "work"
    folder.mkdir()
    ran = subprocess.run(
        ["bash", "-c", "set -e -o pipefail\n" + "\n".join(commands(page))], cwd=folder, capture_output=True, text=True,
        timeout=60, env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert list(shown(page))
    compare(page, ran.stdout + ran.stderr)
    if name == "StartApp":
        module = folder / "Sources/EmbeddedDumps/include"
        (module / "module.modulemap").write_text('module EmbeddedDumps { header "EmbeddedDumps.h" export * }\n')
        assert compiler("-typecheck", "-swift-version", "6", "-package-name", "app", "-I", module,
                        *(folder / "Sources/App").glob("*.swift")) == []


@pytest.fixture
def machine(tmp_path, real):
    """A machine without any files of this project, and a clone of an app's repository.

    The project is cloned from this checkout. The tests' build replaces a release build, and a Kinto with Mozilla's collections
    replaces Mozilla's server.
    """
    tools = tmp_path / "bin"
    tools.mkdir()
    # rsdump add without --server would use Mozilla's production server.
    program = tmp_path / "rsdump"
    program.write_text(f"""#!/bin/sh
        case "$*" in
            *--server*) ;;
            add\\ *) set -- "$@" --server {real.url} --trust-root {real.root} ;;
        esac
        exec {rsdump.BINARY} "$@"
        """)
    program.chmod(0o755)
    (tools / "swift").write_text(f"""#!/bin/sh
        test "$*" = "build -c release --product rsdump" || exit 2
        mkdir -p .build/release && ln -s {program} .build/release/rsdump
        """)
    (tools / "swift").chmod(0o755)
    (tmp_path / "home").mkdir()
    origin = Repository.create(tmp_path / "origin.git", bare=True)
    app = origin.clone(tmp_path / "app")
    (app.path / "README").write_text("An app\n")
    app.commit("An app")
    app("push", "-q", "origin", "HEAD:main")
    address = re.search(r"git clone (\S+)", README)[1]
    environment = rsdump.environment({
        **ENVIRONMENT, "PATH": f"{tools}:{os.environ['PATH']}", "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{rsdump.REPOSITORY}.insteadOf", "GIT_CONFIG_VALUE_0": address})

    def run(script):
        ran = subprocess.run(
            ["bash", "-c", f"set -e -o pipefail\n{script}"], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=rsdump.TIMEOUT, env=environment)
        assert ran.returncode == 0, f"{script}\n{ran.stdout}{ran.stderr}"
        return ran.stdout + ran.stderr
    return run


def test_the_commands_of_readme_succeed_in_the_order_shown(machine):
    install, = commands(README)
    rows = README[README.index("| You want to | Run |"):README.index("## App developers")]
    package, embed, night, freeze, compare = re.findall(r"^\|[^|]*\| `([^`]+)`", rows, re.MULTILINE)
    commit = "git add dumps; git commit -qm Dumps; git push -q origin HEAD:main; git tag v1.0"
    printed = machine("\n".join([install, "cd ../app", package, embed, commit, night, freeze, compare]))
    for expected in ("main/password-rules  created", "Nothing has changed", "1 of 1 bundle verified", "1 collection unchanged"):
        assert expected in printed, printed
