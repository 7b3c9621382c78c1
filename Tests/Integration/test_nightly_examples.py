"""The files in Examples/nightly and the scripts, checked by the tools that read them."""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml

import rsdump

EXAMPLES = rsdump.REPOSITORY / "Examples/nightly"
TOOLS = os.path.dirname(sys.executable)
# The project's workflows, and examples to be copied.
WORKFLOWS = [
    *sorted((rsdump.REPOSITORY / ".github/workflows").glob("*.yml")),
    rsdump.REPOSITORY / "Examples/object-store/github-actions.yml", EXAMPLES / "github-actions-reminder.yml", EXAMPLES / "github-actions-check.yml"]
PUBLISH = EXAMPLES.parent / "publish/github-actions.yml"
ACTION = rsdump.REPOSITORY / ".github/actions/nightly/action.yml"
UPLOAD_SCRIPT = rsdump.REPOSITORY / "Examples/object-store/upload"
UPLOAD = [UPLOAD_SCRIPT.parent / f"remote-settings-upload.{kind}" for kind in ("service", "timer")]
UNITS = ("remote-settings-dumps.service", "remote-settings-dumps.timer", "remote-settings-dumps-failed.service", *(path.name for path in UPLOAD))


def run(*command):
    return subprocess.run(
        [str(each) for each in command], capture_output=True, text=True,
        env={**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}"})


@pytest.fixture
def systemd_root(tmp_path):
    """A root file system with the units, and the programs they run at the expected paths."""
    units = tmp_path / "etc/systemd/system"
    units.mkdir(parents=True)
    shutil.copytree("/usr/lib/systemd/system", tmp_path / "usr/lib/systemd/system", symlinks=True)
    (tmp_path / "lib").symlink_to("usr/lib")
    programs = tmp_path / "usr/local/bin"
    programs.mkdir(parents=True)
    shutil.copy(UPLOAD_SCRIPT, programs / "remote-settings-upload")
    shutil.copy("/bin/true", programs / "rsdump")
    (tmp_path / "bin").mkdir()
    shutil.copy("/bin/sh", tmp_path / "bin")
    for unit in UNITS[:3]:
        shutil.copy(EXAMPLES / unit, units)
    for path in UPLOAD:
        shutil.copy(path, units)
    return tmp_path


def test_systemd_units_verify(systemd_root):
    judged = run("systemd-analyze", "verify", f"--root={systemd_root}", *UNITS)
    assert judged.returncode == 0 and not judged.stdout + judged.stderr, judged.stderr


@pytest.mark.parametrize("unit", [UNITS[0], UPLOAD[0].name])
def test_systemd_services_are_hardened(systemd_root, unit):
    judged = run("systemd-analyze", "security", "--offline=true", f"--root={systemd_root}", "--threshold=15", unit)
    assert judged.returncode == 0, judged.stdout[-2000:] + judged.stderr


FORMS = rsdump.REPOSITORY / ".github/ISSUE_TEMPLATE"
PUBLISH_GITLAB = PUBLISH.with_name("gitlab-ci.yml")
SCHEMAS = [
    *(("github-workflows", path) for path in (EXAMPLES / "github-actions.yml", PUBLISH, *WORKFLOWS)), ("github-actions", ACTION),
    ("gitlab-ci", EXAMPLES / "gitlab-ci.yml"), ("gitlab-ci", PUBLISH_GITLAB),
    ("github-issue-forms", FORMS / "bug.yml"), ("github-issue-config", FORMS / "config.yml")]


@pytest.mark.parametrize("schema, path", SCHEMAS, ids=str)
def test_workflows_and_forms_match_their_schema(schema, path):
    judged = run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", path)
    assert judged.returncode == 0, judged.stdout + judged.stderr


def test_schema_check_finds_a_misspelled_key(tmp_path):
    broken = tmp_path / "gitlab-ci.yml"
    broken.write_text(PUBLISH_GITLAB.read_text().replace("resource_group", "resource_groups"))
    assert run("check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", broken).returncode == 1


def test_workflows_pass_actionlint_and_zizmor():
    paths = EXAMPLES / "github-actions.yml", PUBLISH, *WORKFLOWS
    judged = run("actionlint", "-no-color", *paths)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    judged = run("zizmor", "--offline", "--no-config", "--no-progress", *paths, ACTION)
    assert judged.returncode == 0 and "No findings" in judged.stdout + judged.stderr, judged.stdout + judged.stderr


def test_documentation_is_built_for_each_product():
    """Swift Package Index builds the documentation of exactly the library products."""
    manifest = (rsdump.REPOSITORY / "Package.swift").read_text()
    products = re.findall(r'\.library\(name: "(\w+)"', manifest)
    built = re.findall(r"^ +- (\w+)$", (rsdump.REPOSITORY / ".spi.yml").read_text(), re.MULTILINE)
    assert sorted(built) == sorted(products)


def test_release_values_are_in_one_file(tmp_path):
    """Every example, action and workflow takes its release values from that file."""
    script = rsdump.REPOSITORY / "scripts/fill-release"
    assert run(script, "--check").returncode == 0
    copied = ("Examples", ".github", "scripts")
    for folder in copied:
        shutil.copytree(rsdump.REPOSITORY / folder, tmp_path / folder, ignore=shutil.ignore_patterns(".build", "__pycache__"))
    sources = ["README.md", "Sources/Dumps/Dumps/Configuration/DumpsConfiguration.swift"]
    subprocess.run(["cp", "--parents", *sources, tmp_path], cwd=rsdump.REPOSITORY, check=True)
    values = {"owner": "somebody", "version": "9.8.7", "commit": "a" * 40, "sha256": "b" * 64, "image": f"swift:9@sha256:{'c' * 64}"}
    (tmp_path / "Examples/release.json").write_text(json.dumps(values))
    assert run(tmp_path / "scripts/fill-release", "--check").returncode == 1
    assert run(tmp_path / "scripts/fill-release").returncode == 0
    files = [path for folder in copied for path in (tmp_path / folder).rglob("*")
             if path.is_file() and path.suffix in {".yml", ""} and path.name not in {"fill-release"}]
    left = [path for path in files if re.search(r"OWNER/|\b0{40}|swift:6", path.read_text(errors="replace"))]
    assert files and not left
    assert "@sha256:${DEBIAN}" in (EXAMPLES.parent / "container/Containerfile").read_text()


def test_release_has_the_tested_dependencies(tmp_path):
    """The bill of materials must match the versions that the tests used."""
    script, resolved = rsdump.REPOSITORY / "scripts/bill-of-materials", rsdump.REPOSITORY / "Package.resolved"

    def judge(path):
        return run(sys.executable, script, "--copyright", "--checkouts", rsdump.REPOSITORY / ".build", "--resolved", path,
                   "--output", tmp_path / "copyright")

    judged = judge(resolved)
    assert judged.returncode == 0, judged.stderr
    document = json.loads(resolved.read_text())
    document["pins"][0]["state"]["revision"] = "0" * 40
    other = tmp_path / "Package.resolved"
    other.write_text(json.dumps(document))
    judged = judge(other)
    assert judged.returncode != 0 and document["pins"][0]["identity"] in judged.stderr, judged.stderr


@pytest.mark.parametrize("path", [
    EXAMPLES / "github-actions.yml", EXAMPLES / "gitlab-ci.yml", ACTION,
    EXAMPLES.parent / "publish/github-actions.yml", EXAMPLES.parent / "publish/gitlab-ci.yml",
    EXAMPLES.parent / "object-store/github-actions.yml"], ids=str)
def test_example_jobs_compile_nothing(path):
    text = path.read_text()
    assert not re.search(r"swift build|swift:|-dev\b|actions/cache", text)
    # Every download is pinned by its hash.
    assert re.search("sha256", text, re.IGNORECASE)


@pytest.mark.parametrize("code, expected", [(0, 0), (3, 3), (4, 0)])
def test_backoff_fails_no_nightly_job(tmp_path, code, expected):
    *_, step = yaml.safe_load(ACTION.read_text())["runs"]["steps"]
    stub = tmp_path / "rsdump"
    stub.write_text(f"#!/bin/sh\nexit {code}\n")
    stub.chmod(0o755)
    environment = dict.fromkeys(("BASE", "OPTIONS", "GH_TOKEN", "GITHUB_WORKSPACE", "GITHUB_SERVER_URL"), "x")
    judged = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        env={**environment, "HOME": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert judged.returncode == expected
    job = yaml.safe_load((EXAMPLES / "gitlab-ci.yml").read_text())["dumps"]
    assert job["allow_failure"] == {"exit_codes": 4}
    assert "SuccessExitStatus=4\n" in (EXAMPLES / UNITS[0]).read_text()


@pytest.mark.parametrize("path", [EXAMPLES / "github-actions-reminder.yml", WORKFLOWS[0].parent / "reminder.yml"], ids=str)
@pytest.mark.parametrize("runs, created, code", [("1", "2020-01-01T00:00:00Z", 0), ("0", "2020-01-01T00:00:00Z", 1), ("0", "2999-01-01T00:00:00Z", 0)])
def test_reminder_fails_after_a_week_without_runs(tmp_path, path, runs, created, code):
    """A new workflow is exempt."""
    [step] = yaml.safe_load(path.read_text())["jobs"]["reminder"]["steps"]
    stub = tmp_path / "gh"
    stub.write_text(f'#!/bin/sh\necho "$@" >>"{tmp_path}/calls"\n[ "$1" = api ] && echo {created} || echo {runs}\n')
    stub.chmod(0o755)
    judged = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], capture_output=True, text=True,
        env={**step["env"], "GH_REPO": "o/r", "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert judged.returncode == code and ("::error::" in judged.stdout) == bool(code), judged
    name = step["env"]["WORKFLOWS"]
    assert f"--workflow {name} --event schedule" in (tmp_path / "calls").read_text()
    # The workflow exists under the name in its comment and has a schedule.
    named = EXAMPLES / "github-actions.yml" if path.parent == EXAMPLES else path.parent / name
    assert f"# .github/workflows/{name}" in named.read_text() or named.name == name
    assert "  schedule:\n" in named.read_text()


def test_scheduled_examples_name_the_reminder():
    scheduled = [path for path in EXAMPLES.parent.glob("*/github-actions*.yml") if "  schedule:\n" in path.read_text()]
    assert len(scheduled) == 4 and all("reminder" in path.read_text() for path in scheduled)


def test_workflow_actions_are_pinned():
    for path in (EXAMPLES / "github-actions.yml", *WORKFLOWS):
        text = path.read_text()
        used = re.findall(r"uses: (\S+)(.*)", text)
        assert (used or "reminder" in path.name) and all(
            re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action) and re.fullmatch(r" # v\d+\.\d+\.\d+", version)
            for action, version in used), used
        assert "permissions: {}" in text
        # External values appear only in settings and variables, never in the text of a shell command.
        expressions = [line for line in text.splitlines() if "${{" in line]
        assert all(re.fullmatch(r" *(group|options|GH_TOKEN|GH_REPO|TAG|STORE|URL|AWS_[A-Z_]+): .*", line) for line in expressions), path
    # An action's inputs reach its commands through environment variables.
    for block in re.findall(r"run: \|\n((?: {8}.*\n|\n)+)", ACTION.read_text()):
        assert "${{" not in block


def test_release_notes_are_those_of_the_version():
    script = rsdump.REPOSITORY / "scripts/package"
    noted = run(script, "--notes", run(script, "--version").stdout.strip())
    assert noted.returncode == 0 and "rsdump" in noted.stdout and "## " not in noted.stdout
    missing = run(script, "--notes", "99.0.0")
    assert missing.returncode == 1 and 'no section "## 99.0.0"' in missing.stderr


def test_crontab_prints_only_failures(tmp_path):
    """cron mails everything that a line prints."""
    setting, line = [each for each in (EXAMPLES / "crontab").read_text().splitlines() if each and not each.startswith("#")]
    assert setting.startswith("MAILTO=")
    assert re.match(r"\d+ \d+ \* \* \* ", line) and "%" not in line, "cron treats % as a line break"
    script = tmp_path / "bin/rsdump"
    script.parent.mkdir()

    def mail(code):
        script.write_text(f'#!/bin/sh\necho "rsdump $1 in $PWD"\nexit {code}\n')
        script.chmod(0o755)
        done = subprocess.run(["/bin/sh", "-c", line.split(" ", 5)[5]], capture_output=True, text=True,
                              env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
        return done.stdout + done.stderr
    assert "repository" in mail(0), "a missing clone must be reported"
    (tmp_path / "repository").mkdir()
    assert mail(0) == "" and mail(4) == ""
    assert f"rsdump nightly in {tmp_path}/repository" in mail(3)
    log = tmp_path / "dumps.log"
    log.write_text("x" * 3_000_000)
    assert mail(0) == "" and log.stat().st_size < 1000 and (tmp_path / "dumps.log.1").stat().st_size == 3_000_000


def test_scripts_pass_shellcheck():
    scripts = ("scripts/package", "scripts/check", "Tests/Benchmark/bench", UPLOAD_SCRIPT,
               *(f"Examples/on-change/{name}" for name in ("webhook", "slack", "fcm")))
    judged = run("shellcheck", *(rsdump.REPOSITORY / name for name in scripts))
    assert judged.returncode == 0, judged.stdout
