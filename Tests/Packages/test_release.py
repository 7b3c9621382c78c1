"""The steps of "Make a release" in CONTRIBUTING.md and of .github/workflows/release.yml, in a clone.

Only the release build is left out: the packages get a program in C that starts the debug build of rsdump.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
import yaml

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / ".build/debug"
VERSION, TAG = "9.8.7", "v9.8.7"
# With the section that scripts/package clears.
STARTER = """#include <unistd.h>
__attribute__((section(".swift_modhash"), used)) static const char hash[16] = "a hash";
int main(int count, char **arguments) { execv("%s", arguments); return 127; }
"""


def run(*command, cwd, code=0, **environment):
    done = subprocess.run([str(each) for each in command], cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, **environment})
    assert done.returncode == code, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def replace(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1, f"{path}: {old!r}"
    path.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A clone in which steps 1, 2, 3 and 6 are done, with a swift that has built everything."""
    folder = tmp_path_factory.mktemp("release")
    clone = folder / "clone"
    run("git", "clone", "-q", "--shared", REPOSITORY, clone, cwd=folder)
    version = run("scripts/package", "--version", cwd=clone).strip()
    replace(clone / "Sources/Dumps/Dumps/Configuration/DumpsConfiguration.swift", f'let tool = "{version}"', f'let tool = "{VERSION}"')
    values = json.loads((clone / "Examples/release.json").read_text())
    values |= {"owner": "somebody", "version": VERSION, "image": f"swift:6.3.1-bookworm@sha256:{'c' * 64}"}
    (clone / "Examples/release.json").write_text(json.dumps(values))
    run("scripts/fill-release", "--check", cwd=clone, code=1)
    run("scripts/fill-release", cwd=clone)
    run("scripts/fill-release", "--check", cwd=clone)
    replace(clone / "CHANGELOG.md", f"## Unreleased ({version})\n", f"## {VERSION} (2026-12-01)\n")
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    run("git", *who, "commit", "-qam", VERSION, cwd=clone)
    run("git", *who, "tag", "-a", TAG, "-m", VERSION, cwd=clone)
    # What the job of the tests hands on, and what SwiftPM leaves beside a build.
    shutil.copy(REPOSITORY / "Package.resolved", clone)
    scratch = clone / ".build/packages-build"
    scratch.mkdir(parents=True)
    shutil.copy(REPOSITORY / ".build/workspace-state.json", scratch)
    (scratch / "checkouts").symlink_to(REPOSITORY / ".build/checkouts")
    built = folder / "built"
    built.mkdir()
    (folder / "rsdump.c").write_text(STARTER % str(BUILD / "rsdump"))
    run("gcc", "-O2", "-o", built / "rsdump", folder / "rsdump.c", cwd=folder)
    (built / "generate-manual").symlink_to(BUILD / "generate-manual")
    swift = folder / "bin/swift"
    swift.parent.mkdir()
    swift.write_text(f'#!/bin/sh\ncase " $* " in *" --show-bin-path "*) echo {built} ;; *" --version "*) exec {shutil.which("swift")} --version ;; esac\n')
    swift.chmod(0o755)
    return clone


def test_the_workflow_makes_a_release(clone):
    jobs = yaml.safe_load((clone / ".github/workflows/release.yml").read_text())["jobs"]
    assert {job["container"] for job in jobs.values() if "container" in job} == {f"swift:6.3.1-bookworm@sha256:{'c' * 64}"}
    path = f"{clone.parent / 'bin'}:{os.environ['PATH']}"
    artifact = clone.parent / "artifact"
    artifact.mkdir()
    (clone.parent / "bin/gh").write_text('#!/bin/sh\nprintf "%s\\n" "$@" >gh.txt\n')
    (clone.parent / "bin/gh").chmod(0o755)
    done = []
    for name in ("package", "release"):
        for step in jobs[name]["steps"]:
            if "run" not in step or "safe.directory" in step["run"]:
                continue
            place = clone if name == "package" else artifact / step.get("working-directory", "")
            command = step["run"].replace("scripts/package\n", "scripts/package --no-lint\n")
            command = "scripts/package --no-lint" if command == "scripts/package" else command
            run("bash", "-eo", "pipefail", "-c", command, cwd=place, TAG=TAG, PATH=path)
            done.append(step["run"].split()[0])
        if name == "package":
            # As the artifact of the job has them.
            shutil.copytree(clone / ".build/packages", artifact / "packages")
            shutil.copy(clone / ".build/release-notes.md", artifact)
    assert done == ["test", "scripts/package", "scripts/package", "sha256sum", "gh"]
    assert "rsdump" in (artifact / "release-notes.md").read_text()
    names = {each.name for each in (artifact / "packages").iterdir()}
    assert len(names) == 7 and all(VERSION in name for name in names - {"SHA256SUMS"}), names
    arguments = (artifact / "gh.txt").read_text().splitlines()
    assert arguments[:4] == ["release", "create", TAG, "--verify-tag"] and arguments[-7:] == sorted(f"packages/{each}" for each in names)
    assert (artifact / arguments[arguments.index("--notes-file") + 1]).is_file()


def test_another_tag_or_a_change_stops_it(clone):
    steps = yaml.safe_load((clone / ".github/workflows/release.yml").read_text())["jobs"]["package"]["steps"]
    [compares] = [step["run"] for step in steps if step.get("name") == "The tag is the version"]
    run("bash", "-ec", compares, cwd=clone, code=1, TAG="v9.8.8")
    run("scripts/package", "--notes", "9.8.8", cwd=clone, code=1)
    (clone / "README.md").write_text("changed\n")
    run("scripts/package", cwd=clone, code=1)
    run("git", "checkout", "-q", "README.md", cwd=clone)
    # The tag's workflow starts by its name.
    [pattern] = re.findall(r'tags: \["(.*)"\]', (clone / ".github/workflows/release.yml").read_text())
    assert re.fullmatch(pattern.replace(".", r"\."), TAG)


def test_after_it_the_examples_install_what_was_released(clone):
    """Step 8."""
    values = json.loads((clone / "Examples/release.json").read_text())
    digest = next(line.split()[0] for line in (clone / ".build/packages/SHA256SUMS").read_text().splitlines() if line.endswith(".deb"))
    values |= {"commit": run("git", "rev-parse", "HEAD", cwd=clone).strip(), "sha256": digest}
    (clone / "Examples/release.json").write_text(json.dumps(values))
    run("scripts/fill-release", cwd=clone)
    job = yaml.safe_load((clone / "Examples/nightly/gitlab-ci.yml").read_text())["dumps"]["variables"]
    [deb] = (clone / ".build/packages").glob(f"rsdump_{job['RSDUMP_VERSION']}_*.deb")
    assert job["RSDUMP_SHA256"] == digest and "github.com/somebody/" in job["RSDUMP_RELEASES"]
    assert run("dpkg-deb", "--field", deb, "Version", cwd=clone).strip() == VERSION
    assert f"@{values['commit']} # v{VERSION}" in (clone / "Examples/nightly/github-actions.yml").read_text()
