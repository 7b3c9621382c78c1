"""The scripts and CI files for publishing: validated by standard tools, and run."""
import base64
import json
import os
import re
import shutil
import subprocess
import sys

import jsonschema
import pytest
from ruamel.yaml import YAML

import rsdump
from test_publish import CONFIG, SETTINGS

EXAMPLES = rsdump.REPOSITORY / "Examples/publish"
WEEKS = rsdump.REPOSITORY / "Tests/Integration/weeks"
ARTICLES = rsdump.REPOSITORY / "Sources/Tool/rsdump/Documentation.docc"
SCHEMA = json.loads((ARTICLES / "Resources/source.schema.json").read_text())


def run(*command):
    tools = os.path.dirname(sys.executable)
    return subprocess.run(
        [str(each) for each in command], capture_output=True, text=True,
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "RSDUMP": str(rsdump.BINARY)})


@pytest.mark.parametrize("name", ["github-actions.yml", "gitlab-ci.yml"])
def test_publish_workflows_give_proposals_no_keys(name):
    text = (EXAMPLES / name).read_text()
    assert "pull_request_target" not in text
    document = YAML(typ="safe").load(text)
    jobs = document.get("jobs", document)
    check = json.dumps(jobs["check"])
    assert "publish --dry-run" in check and "SIGNER_KEY" not in check and "INTERMEDIATE_KEY" not in check and "secrets." not in check
    if "jobs" in document:
        assert jobs["check"]["permissions"] == {"contents": "read"} and "environment" not in jobs["check"]
        # The job with write access runs no code from the proposal.
        assert jobs["comment"]["permissions"] == {"pull-requests": "write"} and "checkout" not in json.dumps(jobs["comment"])
        assert "event_name != 'pull_request'" in jobs["publish"]["if"] and jobs["publish"]["environment"] == "publish"
        # A bundle in a proposal is also checked.
        assert "dumps/**" in text.split("push:")[0]


def test_gitlab_tokens_are_not_in_arguments_or_files(tmp_path):
    """Runs the jobs' own commands, with stubs that record arguments, input, and the headers that git would send."""
    jobs = YAML(typ="safe").load((EXAMPLES / "gitlab-ci.yml").read_text())
    clone, tools = tmp_path / "clone", tmp_path / "tools"
    subprocess.run(["git", "init", "-q", clone], check=True)
    subprocess.run(["git", "-C", clone, "remote", "add", "origin", "https://gitlab-ci-token:JOBTOKEN@git.test/g/p.git"], check=True)
    tools.mkdir()
    record = f'#!/bin/bash\nprintf "%s\\n" "${{0##*/}}" "$@" >>"{tmp_path}/arguments"\n'
    for name, more in {
        "git": f'exec {shutil.which("git")} "$@"', "base64": 'exec /usr/bin/base64 "$@"',
        "curl": f'cat >>"{tmp_path}/read"', "rsdump":
            f'git config --get-urlmatch http.extraheader https://git.test/g/p.git >>"{tmp_path}/sent" || true',
    }.items():
        (tools / name).write_text(f"{record}{more}\n")
        (tools / name).chmod(0o755)
    environment = {
        "PATH": f"{tools}:/usr/bin:/bin", "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1", "CI_SERVER_URL": "https://git.test",
        "CI_SERVER_HOST": "git.test", "CI_PROJECT_PATH": "g/p", "CI_PROJECT_URL": "https://git.test/g/p", "CI_PROJECT_ID": "7",
        "CI_API_V4_URL": "https://git.test/api/v4", "CI_MERGE_REQUEST_IID": "3"}

    def run_job(name, **variables):
        job = dict(jobs[name])
        while (base := job.get("extends")) in jobs and base != ".rsdump":
            job = {**jobs[base], **job, "extends": jobs[base].get("extends")}
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", "\n".join(job["script"])], cwd=clone, capture_output=True, text=True,
            env={**environment, **{n: v for n, v in job.get("variables", {}).items() if n not in variables}, **variables})
        assert done.returncode == 0, done.stdout + done.stderr

    run_job("check", COMMENT_TOKEN="SECRET1")
    run_job("publish", PUBLISH_TOKEN="SECRET2")
    run_job("resign", PUBLISH_TOKEN="SECRET2")
    arguments = (tmp_path / "arguments").read_text()
    called = re.findall(r"^rsdump\n(.*?)(?=\n(?:git|base64|curl|rsdump)\n|\n*\Z)", arguments, re.MULTILINE | re.DOTALL)
    assert [each.split("\n") for each in called] == [
        ["check"], ["publish", "--dry-run", "--format", "markdown"], ["publish", "--push"], ["publish", "--push", "--resign"]]
    kept = "".join(path.read_text(errors="replace") for path in clone.rglob("*") if path.is_file())
    encoded = base64.b64encode(b"publish:SECRET2").decode()
    for secret in ("SECRET1", "SECRET2", encoded):
        assert secret not in arguments and secret not in kept
    assert "JOBTOKEN" not in kept and 'header = "PRIVATE-TOKEN: SECRET1"' in (tmp_path / "read").read_text()
    assert (tmp_path / "sent").read_text().split("\n")[-3:-1] == [f"Authorization: Basic {encoded}"] * 2


def test_the_quick_start_takes_eight_commands_and_less_than_a_minute(tmp_path):
    done = run(WEEKS / "publish-quickstart", tmp_path / "quickstart")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n8. " in done.stdout and "\n9. " not in done.stdout and "Good morning" in done.stdout
    assert int(done.stdout.rsplit("done in ", 1)[1].split()[0]) < 60


def test_publish_week_script(tmp_path):
    done = run(WEEKS / "publish-week", tmp_path / "week")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "== Sunday" in done.stdout and "Good evening" in done.stdout


@pytest.mark.nightly
@pytest.mark.parametrize("how, steps", [("overlap", 3), ("leaks", 5)])
def test_publish_root_change_and_leaked_key_scripts(how, steps, tmp_path):
    done = run(WEEKS / "publish-roots", how, tmp_path / "roots")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert done.stdout.count("== ") == steps and "done in" in done.stdout


def judge(text):
    jsonschema.Draft202012Validator(SCHEMA).validate(YAML(typ="safe", pure=True).load(text))


def examples():
    """The YAML examples in the article and in the tests."""
    for block in (ARTICLES / "Sources.md").read_text().split("```yaml\n")[1:]:
        yield block.split("```")[0]
    yield from (SETTINGS, CONFIG)


@pytest.mark.parametrize("text", [*examples()])
def test_source_schema_and_check_accept_examples(text, tmp_path):
    judge(text)
    folder = tmp_path / "sources/main/example"
    (folder / "files").mkdir(parents=True)
    (folder / "collection.yaml").write_text(text)
    for name in ("globe.svg", "flag.bin"):
        (folder / "files" / name).write_text("x")
    outcome = rsdump.run("check", cwd=tmp_path)
    assert outcome.code == rsdump.DONE, str(outcome)


@pytest.mark.parametrize("text", [
    "records: 5", "recrods: []", "metadata: {signature: x}", "records: [{id: '-a'}]", "records: [{id: a, last_modified: 1}]",
    "records: [{id: a, attachment: {path: x}}]", "records: [{id: a, attachment: /x}]", "parameters: {a: {x: 1}}",
    "parameters: {a: {value: 1, when: 5}}", "parameters: {a: {value: 1, when: [{value: 2}]}}",
    "parameters: {a: {value: 1, when: [{percent: 101, value: 2}]}}", "parameters: {a: {type: text, value: 1}}",
    "conditions: {a: {}}", "conditions: {a: {filter: 'true', seed: x}}", "text",
])
def test_source_schema_and_check_refuse_mistakes(text, tmp_path):
    with pytest.raises(jsonschema.ValidationError):
        judge(text)
    folder = tmp_path / "sources/main"
    folder.mkdir(parents=True)
    (folder / "example.yaml").write_text(text)
    assert rsdump.run("check", cwd=tmp_path).code == rsdump.USAGE
