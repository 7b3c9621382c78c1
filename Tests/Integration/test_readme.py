"""README's commands, as written and in the order shown, succeed on a machine that has nothing of this project yet.

Four things stand in: the clone comes from this checkout, the build of the tests takes the place of a release build, a Kinto with
Mozilla's collections takes the place of Mozilla's server, and no gh is there.
"""
import os
import re
import subprocess

import pytest

import rsdump
from git import ENVIRONMENT, Repository

README = (rsdump.REPOSITORY / "README.md").read_text()
BLOCKS = re.findall(r"^```shell\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
INSTALL, DEMO = BLOCKS
TASKS = [
    found for row in re.findall(r"^\| .* \|$", README[:README.index("```shell\n" + DEMO)], re.MULTILINE)
    for found in re.findall(r"`([^`]+)`", row.split("|")[2]) if re.search("rsdump|nightly", found)]


@pytest.fixture
def machine(tmp_path, real):
    tools = tmp_path / "bin"
    tools.mkdir()
    # rsdump add without --server asks Mozilla's production server.
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
        test "$*" = "build -c release --traits Server --product rsdump" || exit 2
        mkdir -p .build/release && ln -s {program} .build/release/rsdump
        """)
    (tools / "swift").chmod(0o755)
    (tmp_path / "home").mkdir()
    origin = Repository.create(tmp_path / "origin.git", bare=True)
    app = origin.clone(tmp_path / "app")
    (app.path / "README").write_text("An app\n")
    app.commit("An app")
    app("push", "-q", "origin", "HEAD:main")
    address = re.search(r"git clone (\S+)", INSTALL)[1]
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


def test_every_command_succeeds_in_the_order_shown(machine):
    assert len(TASKS) == 3, TASKS
    package, night, freeze = TASKS
    commit = "git add dumps; git commit -qm Dumps; git push -q origin HEAD:main"
    printed = machine("\n".join([INSTALL, "cd ../app", package, commit, night, freeze, "git add dumps; cd ..; mkdir try; cd try", DEMO]))
    for expected in ("main/password-rules  created", "Nothing has changed", "1 of 1 bundle verified", "2 created", "1 request"):
        assert expected in printed, printed
