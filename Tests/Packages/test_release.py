"""Runs the steps of "Make a release" in CONTRIBUTING.md as printed, and those of release.yml between them.

They run in a clone of the last commit, in the order of this file, for a release and for the next one. There is no release
build: the packages contain a C program that starts the debug build of rsdump.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import textwrap

import pytest
import yaml

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / ".build/debug"
OWNER, VERSION, IMAGE = "somebody", "9.8.7", f"swift:6.3.1-bookworm@sha256:{'c' * 64}"
TAG = f"v{VERSION}"
# Includes the section that scripts/package clears.
STARTER = """#include <unistd.h>
__attribute__((section(".swift_modhash"), used)) static const char hash[16] = "a hash";
int main(int count, char **arguments) { execv("%s", arguments); return 127; }
"""


def run(*command, cwd, code=0, **environment):
    done = subprocess.run([str(each) for each in command], cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, **environment})
    assert done.returncode == code, f"{command} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


class Clone:
    """A clone with a remote, a fake swift that has built everything, and a fake gh that records its arguments."""

    def __init__(self, folder):
        self.path, self.remote, self.programs = folder / "clone", folder / "remote.git", folder / "bin"
        run("git", "clone", "-q", "--bare", REPOSITORY, self.remote, cwd=folder)
        run("git", "clone", "-q", self.remote, self.path, cwd=folder)
        run("git", "checkout", "-q", "-B", "main", cwd=self.path)
        scratch, built = self.path / ".build/packages-build", folder / "built"
        for each in (scratch, built, self.programs):
            each.mkdir(parents=True)
        # The files that the tests' job passes on, and those that SwiftPM leaves next to a build.
        shutil.copy(REPOSITORY / "Package.resolved", self.path)
        shutil.copy(REPOSITORY / ".build/workspace-state.json", scratch)
        (scratch / "checkouts").symlink_to(REPOSITORY / ".build/checkouts")
        (folder / "rsdump.c").write_text(STARTER % str(BUILD / "rsdump"))
        run("gcc", "-O2", "-o", built / "rsdump", folder / "rsdump.c", cwd=folder)
        (built / "generate-manual").symlink_to(BUILD / "generate-manual")
        self.packages = self.path / ".build/packages"
        self.program("swift", f'case " $* " in *" --show-bin-path "*) echo {built} ;; *" --version "*) exec {shutil.which("swift")} --version ;; esac')
        self.program("gh", f'if [ "$2" = download ]; then cat {self.packages}/SHA256SUMS; else printf "%s\\n" "$@" >gh.txt; fi')

    def program(self, name, text):
        (self.programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.programs / name).chmod(0o755)

    def __call__(self, *command, cwd=None, **options):
        who = {f"GIT_{role}_{key}": "n@example.org" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
        return run(*command, cwd=cwd or self.path, PATH=f"{self.programs}:{os.environ['PATH']}", **who, **options)

    def step(self, number, version=VERSION):
        """Runs the commands of a step, and returns the omitted ones: the tests, which include this one."""
        section = re.split(r"^## .*release.*$", (self.path / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE)[1]
        text = re.split(r"^\d+\. ", section, flags=re.MULTILINE)[number]
        lines = textwrap.dedent("".join(re.findall(r"^ {7}.*\n", text, re.MULTILINE))).splitlines()
        tests = [line for line in lines if line.startswith("scripts/test")]
        self("bash", "-euo", "pipefail", "-c", "\n".join(line for line in lines if line not in tests),
             OWNER=OWNER, VERSION=version, IMAGE=IMAGE)
        return tests

    def write_notes(self, text):
        """Adds a line as every visible change does, with a new section if the last commit is a release."""
        path = self.path / "CHANGELOG.md"
        notes = path.read_text()
        if "## Unreleased" not in notes:
            notes = re.sub(r"^## (?=\d)", "## Unreleased\n\n## ", notes, count=1, flags=re.MULTILINE)
        path.write_text(re.sub(r"^## Unreleased.*\n", rf"\g<0>\n{text}\n", notes, flags=re.MULTILINE))
        self("git", "commit", "-qam", text)

    def package(self):
        """The stage packages of scripts/test nightly."""
        self("scripts/package", "--no-lint")

    def workflow(self, name="release"):
        return yaml.safe_load((self.path / f".github/workflows/{name}.yml").read_text())["jobs"]

    def values(self):
        return json.loads((self.path / "Examples/release.json").read_text())


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    return Clone(tmp_path_factory.mktemp("release"))


def test_release_steps_tag_a_tested_commit(clone):
    clone.write_notes("- A change that users notice.")
    clone.step(2)
    assert clone("scripts/package", "--version").strip() == VERSION
    clone("scripts/fill-release", "--check")
    clone("git", "grep", "-nE", r"github\.com/OWNER|: OWNER/|is not released yet\. It", "--", ":!Tests", code=1)
    assert f"version {VERSION} is released" in (clone.path / "README.md").read_text()
    assert clone.step(3) == ["scripts/test", "scripts/test nightly"]
    assert "packages" in re.search(r"^nightly=\((.*)\)", (clone.path / "scripts/test").read_text(), re.MULTILINE)[1].split()
    # By now, a nightly stage has recorded its run.
    with open(clone.path / "Tests/last-runs.txt", "a") as notes:
        notes.write("a stage\n")
    clone.package()
    clone.step(4)
    assert run("git", "rev-parse", "main", cwd=clone.remote) == run("git", "rev-parse", f"{TAG}^{{commit}}", cwd=clone.remote)


def test_workflow_makes_a_release(clone):
    jobs = clone.workflow()
    assert {job["container"] for job in jobs.values() if "container" in job} == {IMAGE}
    assert {job["container"]["image"] for job in clone.workflow("nightly-tests").values() if "image" in job["container"]} == {IMAGE}
    artifact = clone.path.parent / "artifact"
    artifact.mkdir()
    done = []
    for name in ("package", "release"):
        for step in jobs[name]["steps"]:
            if "run" not in step or "safe.directory" in step["run"]:
                continue
            place = clone.path if name == "package" else artifact / step.get("working-directory", "")
            command = "scripts/package --no-lint" if step["run"] == "scripts/package" else step["run"]
            clone("bash", "-eo", "pipefail", "-c", command, cwd=place, TAG=TAG)
            done.append(step["run"].split()[0])
        if name == "package":
            # Same layout as the job's artifact.
            shutil.copytree(clone.packages, artifact / "packages")
            shutil.copy(clone.path / ".build/release-notes.md", artifact)
    assert done == ["test", "scripts/package", "scripts/package", "sha256sum", "gh"]
    assert "- A change that users notice." in (artifact / "release-notes.md").read_text()
    names = {each.name for each in (artifact / "packages").iterdir()}
    assert len(names) == 7 and all(VERSION in name for name in names - {"SHA256SUMS"}), names
    arguments = (artifact / "gh.txt").read_text().splitlines()
    assert arguments[:4] == ["release", "create", TAG, "--verify-tag"] and arguments[-7:] == sorted(f"packages/{each}" for each in names)
    assert (artifact / arguments[arguments.index("--notes-file") + 1]).is_file()


def test_wrong_tag_or_changed_file_stops_release(clone):
    [compares] = [step["run"] for step in clone.workflow()["package"]["steps"] if step.get("name") == "The tag is the version"]
    clone("bash", "-ec", compares, code=1, TAG="v9.8.8")
    clone("scripts/package", "--notes", "9.8.8", code=1)
    clone("scripts/fill-release", "version=", code=1)
    (clone.path / "README.md").write_text("changed\n")
    clone("scripts/package", code=1)
    clone("git", "checkout", "-q", "README.md")
    # The tag's name triggers the workflow.
    [pattern] = re.findall(r'tags: \["(.*)"\]', (clone.path / ".github/workflows/release.yml").read_text())
    assert re.fullmatch(pattern.replace(".", r"\."), TAG)


def test_examples_install_the_released_package(clone):
    clone.step(6)
    [deb] = clone.packages.glob("*.deb")
    digest = next(line.split()[0] for line in (clone.packages / "SHA256SUMS").read_text().splitlines() if line.endswith(".deb"))
    assert clone.values() == {
        "owner": OWNER, "version": VERSION, "commit": clone("git", "rev-parse", f"{TAG}^{{commit}}").strip(), "sha256": digest, "image": IMAGE}
    job = yaml.safe_load((clone.path / "Examples/nightly/gitlab-ci.yml").read_text())["dumps"]["variables"]
    assert job["RSDUMP_SHA256"] == digest and job["RSDUMP_VERSION"] == VERSION and f"github.com/{OWNER}/" in job["RSDUMP_RELEASES"]
    assert clone("dpkg-deb", "--field", deb, "Version").strip() == VERSION
    assert f"@{clone.values()['commit']} # {TAG}" in (clone.path / "Examples/nightly/github-actions.yml").read_text()
    assert clone("git", "status", "--porcelain") == ""


def test_next_release_follows(clone):
    clone.write_notes("- Another change.")
    clone.step(2, "9.8.8")
    clone.package()
    clone.step(4, "9.8.8")
    notes = clone("scripts/package", "--notes", "9.8.8")
    assert "- Another change." in notes and "that users notice" not in notes
    clone.step(6, "9.8.8")
    assert clone("scripts/package", "--version").strip() == "9.8.8"
