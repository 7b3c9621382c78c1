"""Remote config from the command line: `rsdump values`, `check --parameters` and `export` of parameters."""
import json
import pathlib
import re
import shutil
import subprocess

import jsonschema
import pytest

import rsdump

SCHEMA = rsdump.REPOSITORY / "Sources/Format/SnapshotBundle/Documentation.docc/Resources/parameter-record.schema.json"

RECORDS = [
    {"id": "banner", "key": "banner_text", "value": "Welcome"},
    {"id": "banner-de", "key": "banner_text", "value": "Willkommen", "filter_expression": "env.locale in ['de', 'de-AT']"},
    {"id": "banner-trial", "key": "banner_text", "value": "Try it", "priority": 10,
     "filter_expression": "[env.id, 'trial']|bucketSample(0, 10, 100)"},
    {"id": "adult", "key": "adult", "value": True, "filter_expression": "env.age >= 18"},
    {"id": "price", "key": "price", "value": 2.5},
    {"id": "limit", "key": "limit", "value": 3, "note": "kept"},
    {"id": "menu", "key": "menu", "value": {"items": ["ü", 0.5]}},
    {"id": "own", "key": "class", "in_app_default": True},
]


@pytest.fixture
def parameters(tmp_path):
    def write(records):
        path = tmp_path / "parameters.json"
        path.write_text(json.dumps(records))
        return path
    return write


def packed(folder, records, name="app"):
    """A dumps directory with these parameters, imported without a signature."""
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"metadata": {"bucket": "main", "id": name}, "timestamp": 2000,
                                "changes": [{"last_modified": 1000, **each} for each in records]}))
    outcome = rsdump.run("import", "--from", "changeset", path, "--dumps", folder / "dumps")
    assert outcome.code == rsdump.DONE, str(outcome)


def export(folder, form, *arguments):
    return rsdump.run("export", "--to", form, *arguments, "--dumps", folder / "dumps", "-o", folder / f"exported.{form}")


def exported(*arguments):
    outcome = export(*arguments)
    assert outcome.code == rsdump.DONE, str(outcome)
    return arguments[0] / f"exported.{arguments[1]}"


KEYWORDS = pathlib.Path(shutil.which("swiftc")).resolve().parents[1] / "lib/swift/host/SwiftSyntax.swiftmodule"
READING = """
public protocol RemoteConfigReading: Sendable {
    func string(forKey: String, default: String) -> String
    func bool(forKey: String, default: Bool) -> Bool
    func number(forKey: String, default: Double) -> Number
    func configValue(forKey: String) -> RemoteConfigValue
}
public struct Number { public var intValue: Int { 0 }; public var doubleValue: Double { 0 } }
public struct RemoteConfigValue {}
"""


def test_accessors_of_every_keyword_compile(tmp_path):
    """Tests all keywords of the installed compiler, contextual ones included, and the names that the accessors use themselves."""
    [interface] = [each for each in KEYWORDS.glob("*.swiftinterface") if "private" not in each.name]
    listed = re.search(r"enum Keyword\b.*?\n  }", interface.read_text(), re.DOTALL)[0]
    words = sorted(set(re.findall(r"case `?([A-Za-z_]+)", listed)) - {"_"})
    assert {"precedencegroup", "class", "async"} < set(words) and len(words) > 150
    words += ["string", "bool", "number", "configValue", "forKey", "hashValue", "description", "x*/", "\u202egpj"]
    words = list({"".join(part[:1].upper() + part[1:] for part in word.split("_")).lower(): word for word in words}.values())
    values = [1, "x", True, {}, 1.5]
    records = [{"id": f"r{n}", "key": word, "value": values[n % 5]} for n, word in enumerate(words)]
    packed(tmp_path, records)
    source = exported(tmp_path, "swift")
    text = source.read_text()
    assert "\u202e" not in text
    source.write_text(text.replace("public import RemoteConfiguration", READING))
    checked = subprocess.run(
        ["swiftc", "-frontend", "-typecheck", "-parse-as-library", source], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_schema_and_tool_agree(parameters):
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    good = [*RECORDS, {"id": "a", "key": "ü" * 256, "value": None, "priority": None, "filter_expression": None}]
    bad = [
        {"id": "a"}, {"id": "a", "key": "k"}, {"id": "a", "key": 5, "value": 1}, {"id": "a", "key": "", "value": 1},
        {"id": "a", "key": "a\nb", "value": 1}, {"id": "a", "key": "k", "value": 1, "in_app_default": True},
        {"id": "a", "key": "k", "in_app_default": False}, {"id": "a", "key": "k", "value": 1, "priority": 1.5},
        {"id": "a", "key": "k", "value": 1, "priority": 2**53}, {"id": "a", "key": "k" * 257, "value": 1},
        {"id": "a", "key": "k", "value": 1, "filter_expression": True}]
    for record in good:
        validator.validate(record)
    assert rsdump.run("check", "--parameters", parameters(good)).code == rsdump.DONE
    for record in bad:
        assert not validator.is_valid(record), record
        assert rsdump.run("check", "--parameters", parameters([record])).code == rsdump.USAGE, record
