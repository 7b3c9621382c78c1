"""é as one scalar and as e with a combining accent: two keys to JavaScript, Rust and every signature, and to each layer here."""
import hashlib
import json
import urllib.parse

import pytest

import rsdump
from dumps import Dumps
from serve import Serving

ONE, TWO = "caf\u00e9", "cafe\u0301"


def values(folder, records, *arguments):
    path = folder / "parameters.json"
    path.write_text(json.dumps(records))
    outcome = rsdump.run("values", "--parameters", path, *arguments)
    assert outcome.code == rsdump.DONE, str(outcome)
    return outcome.out


@pytest.mark.parametrize("country, expected", [(ONE, "a=1\n"), (TWO, "b=1\n")])
def test_a_filter_and_a_context(country, expected, tmp_path):
    records = [
        {"id": name, "key": name, "value": 1, "filter_expression": f'env.country == "{spelling}"'}
        for name, spelling in (("a", ONE), ("b", TWO))]
    path = tmp_path / "parameters.json"
    path.write_text(json.dumps(records))
    assert rsdump.run("values", "--parameters", path, "--context", f"country={country}").out == expected


def test_parameters(tmp_path):
    records = [{"id": "a", "key": ONE, "value": 1}, {"id": "b", "key": TWO, "value": 2}]
    assert values(tmp_path, records) == f"{TWO}=2\n{ONE}=1\n"
    assert (values(tmp_path, records, ONE), values(tmp_path, records, TWO)) == ("1\n", "2\n")


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_sources(ending, tmp_path):
    """Records, named conditions, parameters and an attachment's path."""
    sources = tmp_path / "sources/main"
    sources.mkdir(parents=True)
    contents = {
        "records": {"records": [{"id": "c", ONE: 1, TWO: 2, "attachment": f"{ONE}.txt"},
                                {"id": "d", "attachment": f"{TWO}.txt"}]},
        "config": {"conditions": {ONE: "env.country == 'A'", TWO: "env.country == 'B'"},
                   "parameters": {ONE: {"when": {ONE: 1}, "value": 0}, TWO: {"when": {TWO: 2}, "value": 3}}}}
    for name, content in contents.items():
        # JSON is YAML, and libyaml reads it as such in a file of that name.
        (sources / f"{name}.{ending}").write_text(json.dumps(content, ensure_ascii=False))
    (sources / f"{ONE}.txt").write_text("one")
    (sources / f"{TWO}.txt").write_text("two")
    assert rsdump.run("keys", "create", tmp_path / "keys").code == rsdump.DONE
    outcome = rsdump.run(
        "publish", "--sources", tmp_path / "sources", "--keys", tmp_path / "keys", "--dumps", tmp_path / "dumps",
        "--no-catalogue")
    assert outcome.code == rsdump.DONE, str(outcome)
    dumps = Dumps(tmp_path / "dumps")
    records = {record["id"]: record for record in dumps.bundle("main/records").records}
    assert (records["c"][ONE], records["c"][TWO]) == (1, 2)
    for name, content in (("c", b"one"), ("d", b"two")):
        assert records[name]["attachment"]["hash"] == hashlib.sha256(content).hexdigest()
    filters = {(each["key"], each["value"]): each.get("filter_expression") for each in dumps.bundle("main/config").records}
    assert filters == {(ONE, 1): "env.country == 'A'", (ONE, 0): None, (TWO, 2): "env.country == 'B'", (TWO, 3): None}


@pytest.mark.parametrize("schema, problem", [
    ({"properties": {"x": {"enum": [ONE]}}}, "expected"),
    ({"properties": {"x": {"const": ONE}}}, "expected"),
    ({"required": [ONE]}, "is missing"),
    ({"properties": {ONE: True, "x": True}, "additionalProperties": False}, "does not allow"),
    ({"properties": {TWO: {"type": "integer"}, ONE: {"type": "string"}}}, "expected integer"),
    ({"definitions": {ONE: {"required": ["none"]}, TWO: {}}, "properties": {TWO: {"$ref": f"#/definitions/{ONE}"}},
      "$ref": f"#/definitions/{ONE}"}, "is missing"),
    ({"dependencies": {TWO: [ONE]}}, "is missing"),
    ({"properties": {ONE: {"type": "integer"}, TWO: {"type": "string"}}}, None),
])
def test_schemas(schema, problem, tmp_path):
    (tmp_path / "sources/main").mkdir(parents=True)
    text = json.dumps({"metadata": {"schema": schema}, "records": {"a": {"x": TWO, TWO: "text"}}})
    (tmp_path / "sources/main/c.json").write_text(text)
    outcome = rsdump.run("check", "--sources", tmp_path / "sources", "--dumps", tmp_path / "dumps")
    if problem:
        assert outcome.code != rsdump.DONE and outcome.says("does not fit the schema", problem), str(outcome)
    else:
        assert outcome.code == rsdump.DONE, str(outcome)


def test_locations_and_differences(tmp_path):
    """`serve` and a mirror have each file's bytes under its own location, and `diff` sees which spelling a record has."""
    tree, records = tmp_path / "tree", []
    (tree / "main/files").mkdir(parents=True)
    for name, spelling in (("a", ONE), ("b", TWO)):
        content = f"content of {name}".encode()
        location = f"main/files/{spelling}.txt"
        record = {"id": name, "last_modified": 1_700_000_000_001, spelling: 1, "attachment": {
            "filename": "x", "hash": hashlib.sha256(content).hexdigest(), "size": len(content), "location": location,
            "mimetype": "text/plain"}}
        records.append(record)
        (tree / f"main/files/{name}").write_bytes(content)
        (tree / f"main/files/{name}.meta.json").write_text(json.dumps(record))

    def take(folder):
        (tree / "main/files.json").write_text(json.dumps({"data": records, "timestamp": records[0]["last_modified"]}))
        outcome = rsdump.run("import", "--from", "firefox", tree, "--dumps", folder)
        assert outcome.code == rsdump.DONE, str(outcome)

    take(tmp_path / "dumps")
    mirror = tmp_path / "mirror"
    outcome = rsdump.run(
        "export", "--to", "mirror", "--dumps", tmp_path / "dumps", "--url", "https://settings.test", "--output", mirror)
    assert outcome.code == rsdump.DONE, str(outcome)
    with Serving("--dumps", tmp_path / "dumps") as serving:
        for record in records:
            location = record["attachment"]["location"]
            answer = serving.ask(f"/attachments/{urllib.parse.quote(location)}")
            assert answer.status == 200
            for content in (answer.body, (mirror / "current/attachments" / location).read_bytes()):
                assert content == f"content of {record['id']}".encode()
    for record in records:
        record["last_modified"] += 1
    records[0][TWO] = records[0].pop(ONE)
    records[1]["attachment"]["location"] = records[0]["attachment"]["location"]
    take(tmp_path / "later")
    changes = rsdump.run("diff", tmp_path / "dumps", tmp_path / "later", "--format", "json").json()
    first, second = changes["collections"][0]["records"]
    assert [(each["path"], each.get("old"), each.get("new")) for each in first["fields"][:2]] == [
        ([TWO], None, 1), ([ONE], 1, None)]
    assert [second["attachment"][side]["location"] for side in ("old", "new")] == [
        f"main/files/{TWO}.txt", f"main/files/{ONE}.txt"]
