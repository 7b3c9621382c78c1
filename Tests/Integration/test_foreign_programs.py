"""On another machine: the tests that start other programs, run again with foreign ones first in PATH."""
import os
import subprocess
import sys

import foreign
import pytest

import rsdump

PATH = os.environ["PATH"]
# What compiles, what asks git, what downloads with curl, what is served by nginx, and the job of each night. The stage
# `foreign` of scripts/test runs all tests like this.
TESTS = [
    "test_embed.py", "test_serve_history.py", "test_diff.py", "test_server_faults.py", "test_serve.py", "test_mirror.py",
    "test_nightly.py", "-k", "embed or true_delta or test_commits or test_curl or a_change_lands",
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return foreign.make(tmp_path_factory.mktemp("foreign"))


def test_the_tests_pass_with_foreign_programs_first(programs, tmp_path):
    report = tmp_path / "report.xml"
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junit-xml", report, *TESTS],
        cwd=rsdump.REPOSITORY / "Tests/Integration", env={**os.environ, "PATH": f"{programs}:{PATH}"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)
    assert finished.returncode == 0, finished.stdout[-4000:] + finished.stderr[-1000:]
    assert report.read_text().count("<testcase ") > 15
    assert not (programs / "refused").exists(), (programs / "refused").read_text()


@pytest.mark.parametrize("script", ["Tests/Checks/arithmetic.py", "Tests/Checks/linkage.py", "scripts/embed-dumps"])
def test_the_scripts_need_nothing_but_the_standard_library(programs, script):
    arguments = ["--check"] if script == "scripts/embed-dumps" else []
    finished = subprocess.run(
        [rsdump.REPOSITORY / script, *arguments], cwd=rsdump.REPOSITORY, stdin=subprocess.DEVNULL,
        env={**rsdump.environment(), "PATH": f"{programs}:{PATH}", "RSDUMP": rsdump.BINARY}, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_the_foreign_programs_are_asked(programs):
    """Else the tests above would say nothing."""
    calls = (programs / "calls").read_text()
    for program in ("git", "nginx", "python3"):
        assert f"{program} " in calls, program
    # Tests that compile, or that need a recent curl, name the program that they mean.
    assert "clang" not in calls and "curl" not in calls
