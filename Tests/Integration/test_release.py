"""The steps of a release that need no build: the version, the notes, and what the workflow asks about both."""
import re
import subprocess

import pytest

import rsdump

VERSION = rsdump.run("--version").out.strip()
WORKFLOW = (rsdump.REPOSITORY / ".github/workflows/release.yml").read_text()


def run(command, **environment):
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command], cwd=rsdump.REPOSITORY, capture_output=True, text=True,
        timeout=rsdump.TIMEOUT, env=rsdump.environment(environment))


def step(name):
    """The command of a step of the workflow."""
    return re.search(rf"- name: {name}\n(?: +env:\n +TAG: .*\n)? +run: (.*)", WORKFLOW)[1]


def test_the_scripts_know_the_version_of_the_program():
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)
    assert run("scripts/package --version").stdout == f"{VERSION}\n"


@pytest.mark.parametrize("tag, code", [(f"v{VERSION}", 0), ("v999.0.0", 1), ("v", 1)])
def test_the_workflow_compares_the_tag_with_the_version(tag, code):
    assert run(step("The tag is the version"), TAG=tag).returncode == code


def test_there_are_notes_for_this_version_only():
    notes = step("Release notes").split(" > ")[0]
    assert "- " in run(notes, TAG=f"v{VERSION}").stdout
    other = run(notes, TAG="v999.0.0")
    assert other.returncode == 1 and "CHANGELOG.md" in other.stderr

