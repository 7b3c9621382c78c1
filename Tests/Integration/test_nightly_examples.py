"""The ready files of Examples/nightly, and the scripts, as the tools that read them judge them."""
import os
import re
import shutil
import subprocess
import sys

import pytest

import rsdump

EXAMPLES = rsdump.REPOSITORY / "Examples/nightly"
TOOLS = os.path.dirname(sys.executable)
UNITS = ("remote-settings-dumps.service", "remote-settings-dumps.timer")


def run(*command):
    return subprocess.run(
        [str(each) for each in command], capture_output=True, text=True,
        env={**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}"})


@pytest.fixture
def systemd_root(tmp_path):
    """A tree with the units and what they run where they say it is."""
    units = tmp_path / "etc/systemd/system"
    units.mkdir(parents=True)
    shutil.copytree("/usr/lib/systemd/system", tmp_path / "usr/lib/systemd/system", symlinks=True)
    (tmp_path / "lib").symlink_to("usr/lib")
    script = tmp_path / "usr/local/bin/remote-settings-nightly"
    script.parent.mkdir(parents=True)
    shutil.copy(rsdump.REPOSITORY / "scripts/nightly", script)
    for unit in UNITS:
        shutil.copy(EXAMPLES / unit, units)
    return tmp_path


def test_the_units_verify(systemd_root):
    judged = run("systemd-analyze", "verify", f"--root={systemd_root}", *UNITS)
    assert judged.returncode == 0 and not judged.stdout + judged.stderr, judged.stderr
    # What it says of a unit with a mistake, so that its silence means something.
    unit = systemd_root / "etc/systemd/system" / UNITS[0]
    unit.write_text(unit.read_text().replace("PrivateTmp=", "PrivateTemp="))
    assert "PrivateTemp" in run("systemd-analyze", "verify", f"--root={systemd_root}", *UNITS).stderr


def test_the_service_is_hardened(systemd_root):
    judged = run("systemd-analyze", "security", "--offline=true", f"--root={systemd_root}", "--threshold=15", UNITS[0])
    assert judged.returncode == 0, judged.stdout[-2000:] + judged.stderr


@pytest.mark.parametrize("schema, name", [("github-workflows", "github-actions.yml"), ("gitlab-ci", "gitlab-ci.yml")])
def test_the_workflows_match_their_schema(schema, name, tmp_path):
    judged = run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", EXAMPLES / name)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    broken = tmp_path / name
    broken.write_text((EXAMPLES / name).read_text().replace("timeout", "timeouts"))
    assert run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", broken).returncode == 1


def test_the_workflow_passes_actionlint(tmp_path):
    judged = run("actionlint", "-no-color", EXAMPLES / "github-actions.yml")
    assert judged.returncode == 0, judged.stdout + judged.stderr
    # What a schema cannot see: an expression that means nothing, and a mistake in a shell command.
    text = (EXAMPLES / "github-actions.yml").read_text()
    for find, put, word in (
            ("steps.tool.outputs", "steps.tools.outputs", "steps.tools|tools"),
            ("swift build ", "cd $RSDUMP_REPOSITORY && swift build ", "SC2086")):
        broken = tmp_path / "broken.yml"
        broken.write_text(text.replace(find, put))
        judged = run("actionlint", "-no-color", broken)
        assert judged.returncode == 1 and re.search(word, judged.stdout), judged.stdout + judged.stderr


@pytest.mark.parametrize("name", ["github-actions.yml", "gitlab-ci.yml"])
def test_the_workflows_install_what_the_build_needs(name):
    [needed] = re.findall(r"^packages=\((.*)\)$", (rsdump.REPOSITORY / "scripts/setup").read_text(), re.MULTILINE)
    installed = (EXAMPLES / name).read_text().replace("\\\n", " ").replace("\n", " ").split()
    assert "libarchive-dev" in needed and set(needed.split()) <= set(installed), name


def test_actions_are_pinned_by_commit_and_permissions_are_few():
    text = (EXAMPLES / "github-actions.yml").read_text()
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert used and all(
        re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action) and re.fullmatch(r" # v\d+\.\d+\.\d+", version)
        for action, version in used), used
    assert "permissions: {}" in text
    # What comes from outside of the file is in settings and variables, never in the text of a shell command.
    expressions = [line for line in text.splitlines() if "${{" in line]
    assert expressions and all(re.fullmatch(r" +(key|GH_TOKEN|REFRESH_OPTIONS): .*", line) for line in expressions)


def test_the_crontab_line_runs():
    [line] = [each for each in (EXAMPLES / "crontab").read_text().splitlines() if each and not each.startswith("#")]
    assert re.match(r"\d+ \d+ \* \* \* ", line) and "%" not in line, "a % is a line break to cron"
    assert subprocess.run(["sh", "-n", "-c", line.split(" ", 5)[5]]).returncode == 0


def test_the_scripts_are_sound_shell():
    judged = run("shellcheck", rsdump.REPOSITORY / "scripts/nightly")
    assert judged.returncode == 0, judged.stdout
