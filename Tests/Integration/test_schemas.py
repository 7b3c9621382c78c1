"""`rsdump check` validates records against their collection's JSON Schema, tested with the official JSON Schema test suite."""
import json
import pathlib
import re

import pytest

import rsdump

# Debian's json-schema-test-suite, from 2022 in Debian 12; scripts/setup installs it. If an update adds a group that fails, fix
# SchemaValidator, or add the reason to REFUSED.
SUITE = pathlib.Path("/usr/share/json-schema-test-suite/tests/draft7")

# Parts of the errors for groups whose schemas are rejected, because they refer to something outside the schema or use custom
# keywords.
REFUSED = ("is not a plain path in this schema", "there is no #", "unknown keyword", "unknown format")
# Formats that are checked less strictly than in the optional part of the suite.
FORMATS = ("date", "date-time", "uri", "uri-reference", "regex")


def inside(schema, isRoot=True):
    """The schema with its references adjusted to its place within the collection's schema."""
    if isinstance(schema, list):
        return [inside(each, False) for each in schema]
    if not isinstance(schema, dict):
        return schema
    moved = {}
    for key, value in schema.items():
        if key == "$ref" and isinstance(value, str) and (value == "#" or value.startswith("#/")):
            moved[key] = "#/properties/data" + value[1:]
        elif key in ("const", "enum"):
            moved[key] = value
        else:
            moved[key] = inside(value, False)
    return moved


def groups(files):
    for file in sorted(files):
        for number, group in enumerate(json.loads(file.read_text())):
            yield f"{file.stem}-{number}".lower(), group


def judge(sources, files):
    """Checks the suite's groups as collections. Returns expected and found invalid records, and the errors of rejected schemas."""
    wanted = {}
    for name, group in groups(files):
        records = {f"r{number}": {"data": test["data"]} for number, test in enumerate(group["tests"])}
        text = json.dumps({
            "metadata": {"schema": {"properties": {"data": inside(group["schema"])}}}, "records": records})
        (sources / "main" / f"{name}.json").write_text(text)
        wanted[name] = {f"r{number}" for number, test in enumerate(group["tests"]) if not test["valid"]}
    outcome = rsdump.run("check", "--sources", sources, "--dumps", sources.parent / "dumps")
    found, refused = {}, {}
    for line in outcome.err.splitlines():
        place = re.match(r".*/main/([^/:]+)\.json(?::\d+)?: (.*)", line)
        assert place, line
        record = re.match(r"the record (r\d+) does not match the schema", place[2])
        if record:
            found.setdefault(place[1], set()).add(record[1])
        else:
            refused[place[1]] = place[2]
    return wanted, found, refused


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "sources/main").mkdir(parents=True)
    return tmp_path / "sources"


def test_every_required_case_of_the_suite(sources):
    wanted, found, refused = judge(sources, set(SUITE.glob("*.json")) - {SUITE / "refRemote.json"})
    for name, why in refused.items():
        assert any(part in why for part in REFUSED), (name, why)
    assert len(refused) < len(wanted) / 8, refused
    wrong = {name: (ids, found.get(name, set())) for name, ids in wanted.items()
             if name not in refused and ids != found.get(name, set())}
    assert not wrong
    assert len(wanted) - len(refused) > 100


def test_the_formats_that_are_checked(sources):
    """Every valid case in the suite is accepted; most invalid ones are rejected."""
    wanted, found, refused = judge(sources, [SUITE / "optional/format" / f"{name}.json" for name in FORMATS])
    assert not refused
    extra = {name: found.get(name, set()) - ids for name, ids in wanted.items()}
    assert not any(extra.values()), extra
    hits = sum(len(found.get(name, set()) & ids) for name, ids in wanted.items())
    assert hits >= 0.6 * sum(map(len, wanted.values()))
