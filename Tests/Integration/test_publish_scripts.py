"""The scripts and ready files around publishing, as the tools that read them judge them, and run."""
import json
import os
import pathlib
import subprocess
import sys

import jsonschema
import pytest
from ruamel.yaml import YAML

import rsdump
from test_publish import CONFIG, SETTINGS

EXAMPLES = rsdump.REPOSITORY / "Examples/publish"
SCRIPTS = rsdump.REPOSITORY / "scripts"
WEEKS = rsdump.REPOSITORY / "Tests/Integration/weeks"
ARTICLES = rsdump.REPOSITORY / "Sources/Tool/rsdump/Documentation.docc"
SCHEMA = json.loads((ARTICLES / "Resources/source.schema.json").read_text())


def run(*command):
    tools = os.path.dirname(sys.executable)
    return subprocess.run(
        [str(each) for each in command], capture_output=True, text=True,
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "RSDUMP": str(rsdump.BINARY)})


@pytest.mark.parametrize("schema, name, key", [
    ("github-workflows", "github-actions.yml", "timeout-minutes"), ("gitlab-ci", "gitlab-ci.yml", "resource_group")])
def test_the_workflows_match_their_schema(schema, name, key, tmp_path):
    judged = run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", EXAMPLES / name)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    broken = tmp_path / name
    broken.write_text((EXAMPLES / name).read_text().replace(key, f"{key}s"))
    assert run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", broken).returncode == 1


@pytest.mark.parametrize("name", ["github-actions.yml", "gitlab-ci.yml"])
def test_proposals_get_no_keys(name):
    text = (EXAMPLES / name).read_text()
    assert "pull_request_target" not in text
    document = YAML(typ="safe").load(text)
    jobs = document.get("jobs", document)
    check = json.dumps(jobs["check"])
    assert "publish check" in check and "SIGNER_KEY" not in check and "INTERMEDIATE_KEY" not in check and "secrets." not in check
    if "jobs" in document:
        assert jobs["check"]["permissions"] == {"contents": "read"} and "environment" not in jobs["check"]
        # Who may write runs nothing of the proposal's.
        assert jobs["comment"]["permissions"] == {"pull-requests": "write"} and "checkout" not in json.dumps(jobs["comment"])
        assert "event_name != 'pull_request'" in jobs["publish"]["if"] and jobs["publish"]["environment"] == "publish"
        # A bundle that a proposal brings is looked at too.
        assert "dumps/**" in text.split("push:")[0]


@pytest.mark.parametrize("name", ["publish", "publish-week", "publish-quickstart", "publish-roots"])
def test_the_scripts_are_bash(name):
    assert run("bash", "-n", (SCRIPTS if name == "publish" else WEEKS) / name).returncode == 0


def test_publish_explains_itself():
    told = run(SCRIPTS / "publish", "--help")
    assert told.returncode == 2 and "resign" in told.stderr and "RSDUMP_INTERMEDIATE_KEY" in told.stderr


def test_the_quick_start_takes_eight_commands_and_less_than_a_minute(tmp_path):
    done = run(WEEKS / "publish-quickstart", tmp_path / "quickstart")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n8. " in done.stdout and "\n9. " not in done.stdout and "Good morning" in done.stdout
    assert int(done.stdout.rsplit("done in ", 1)[1].split()[0]) < 60


def test_the_week(tmp_path):
    done = run(WEEKS / "publish-week", tmp_path / "week")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "== Sunday" in done.stdout and "Good evening" in done.stdout


@pytest.mark.parametrize("how, steps", [("overlap", 3), ("leaks", 5)])
def test_other_roots_and_leaked_keys(how, steps, tmp_path):
    done = run(WEEKS / "publish-roots", how, tmp_path / "roots")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert done.stdout.count("== ") == steps and "done in" in done.stdout


def judge(text):
    jsonschema.Draft202012Validator(SCHEMA).validate(YAML(typ="safe", pure=True).load(text))


def examples():
    """The YAML of the article, and of the tests."""
    for block in (ARTICLES / "Sources.md").read_text().split("```yaml\n")[1:]:
        yield block.split("```")[0]
    yield from (SETTINGS, CONFIG)


@pytest.mark.parametrize("text", [*examples()])
def test_schema_and_check_take_the_examples(text, tmp_path):
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
def test_schema_and_check_refuse_the_same(text, tmp_path):
    with pytest.raises(jsonschema.ValidationError):
        judge(text)
    folder = tmp_path / "sources/main"
    folder.mkdir(parents=True)
    (folder / "example.yaml").write_text(text)
    assert rsdump.run("check", cwd=tmp_path).code == rsdump.USAGE
