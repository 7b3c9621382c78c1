"""What authors of parameters are told: ramps, values that nobody gets, keys that nobody reads."""
import datetime
import re

import pytest

import rsdump

RAMP = """
parameters:
  one-page:
    value: false
    when:
      - {percent: {2026-01-05: 5, 2026-02-03: 25.5, "2026-03-07T12:00:00Z": 100}, seed: checkout, value: true}
"""


@pytest.fixture
def app(tmp_path):
    (tmp_path / "sources/main").mkdir(parents=True)
    assert rsdump.run("keys", "create", tmp_path / "keys").code == 0
    return tmp_path


def write(app, text):
    (app / "sources/main/app.yaml").write_text(text)


def publish(app, *more):
    return rsdump.run("publish", "--sources", app / "sources", "--keys", app / "keys", "--dumps", app / "dumps", *more)


def get(app, moment, installation):
    time = int(datetime.datetime.fromisoformat(moment).replace(tzinfo=datetime.timezone.utc).timestamp() * 1000)
    outcome = rsdump.run(
        "values", "one-page", "--dumps", app / "dumps", "--context", f"now={time}", "--context",
        f"id={installation}", "--explain")
    assert outcome.code == 0, outcome
    return outcome.out.strip() == "true", outcome.err


def test_a_ramp_grows_and_who_has_it_keeps_it(app):
    write(app, RAMP)
    assert publish(app).code == 0
    moments = ["2026-01-04T23:59:59", "2026-01-05", "2026-02-03", "2026-03-07T11:59:59", "2026-03-07T12:00:00"]
    having = [[get(app, moment, f"device-{n}")[0] for n in range(24)] for moment in moments]
    assert not any(having[0]) and all(having[-1])
    assert 0 < sum(having[2]) < 24 and having[2] == having[3]
    for before, after in zip(having, having[1:]):
        assert all(later for earlier, later in zip(before, after) if earlier)
    explained = get(app, "2026-02-10", "a")[1]
    assert "ramp: 5 % from 2026-01-05, 25.5 % from 2026-02-03, all from 2026-03-07T12:00:00Z; now 25.5 %" in explained
    write(app, RAMP.replace("25.5", "30"))
    changes = publish(app, "--dry-run")
    assert re.search(r"- ramp: .*\[1770076800000,255000\]", changes.out), changes.out
    assert re.search(r"\+ ramp: .*\[1770076800000,300000\]", changes.out), changes.out


@pytest.mark.parametrize("old, new, problem", [
    ("25.5", "5", "does not grow"), ("2026-02-03", "2026-01-04", "does not grow"), ("2026-02-03", "soon", "is not a date or a time"),
    ("25.5", "0", "the share from 2026-02-03 on is the number 0"), ("100}", "101}", "is the number 101"),
    ("{2026-01-05: 5, 2026-02-03: 25.5, \"2026-03-07T12:00:00Z\": 100}", "{}", "the ramp has 0 steps")])
def test_a_ramp_that_is_none_is_refused(app, old, new, problem):
    write(app, RAMP.replace(old, new))
    outcome = rsdump.run("check", "--sources", app / "sources", "--dumps", app / "dumps")
    assert outcome.code == rsdump.USAGE and problem in outcome.err and "app.yaml:6" in outcome.err, outcome


CONDITIONS = """
conditions:
  beta: env.channel == 'beta'
  nordic: env.country in ['NO', 'SE']
  norway: env.country in ['NO', 'SE']
parameters:
  greeting:
    value: Hello
    when:
      nordic: Hei
      norway: Hallo
      beta: Hi
  theme:
    value: light
    when:
      - {percent: 50, value: dark}
      - {percent: [0, 50], value: blue}
      - {percent: [50, 100], value: red}
      - {condition: beta, value: green}
"""


def test_values_that_nobody_gets_are_named(app):
    write(app, CONDITIONS)
    checked = rsdump.run("check", "--sources", app / "sources", "--dumps", app / "dumps")
    notes = [line for line in checked.err.splitlines() if "no device gets" in line]
    assert checked.code == 0 and len(notes) == 2, checked
    assert "app.yaml:11:" in notes[0] and "line 10" in notes[0]
    assert "app.yaml:17:" in notes[1] and "line 16" in notes[1]
    assert publish(app).code == 0
    found = rsdump.run("check", "--parameters", "main/app", "--dumps", app / "dumps")
    assert found.code == 0
    for record in ("greeting--norway never wins", "theme--2 never wins"):
        assert f"the record {record}" in found.out, found
    assert "greeting--beta" not in found.out and "theme--1 never" not in found.out


def test_keys_that_nobody_reads_and_that_nobody_has(app):
    write(app, "parameters: {greeting: Hello, theme: light, old-flag: true, in_a_comment: 1, interval: 5}")
    assert publish(app).code == 0
    code = app / "code"
    (code / "Views").mkdir(parents=True)
    (code / ".build").mkdir()
    generated = rsdump.run(
        "export", "--to", "swift", "--dumps", app / "dumps", "-o",
        code / "Parameters.swift")
    assert generated.code == 0
    (code / "Views/View.swift").write_text('''
        let greeting = config["greeting"].stringValue  // config["in_a_comment"]
        let gone = remoteConfig.configValue(forKey: "gone").boolValue
        /* remoteConfig["in_a_comment"] */
        let defaults = UserDefaults.standard.string(forKey: "not-ours")
        let theme = config.theme
        let url = "https://example.org" + "\\(gone)"
    ''')
    (code / "Main.kt").write_text('val x = Firebase.remoteConfig.getLong("interval") + remoteConfig.getString("lost")')
    (code / ".build/Old.swift").write_text('config["old-flag"]')
    found = rsdump.run("check", "--parameters", "main/app", "--dumps", app / "dumps", "--used-in", code)
    assert found.code == 0
    warnings = sorted(line.removeprefix("warning: ") for line in found.out.splitlines())
    assert [line.split(": ")[1] for line in warnings if "mentions" in line] == ["in_a_comment", "old-flag"], warnings
    reads = [line for line in warnings if "the code reads the key" in line]
    assert len(reads) == 2 and "Main.kt:1: the code reads the key lost" in reads[0] and "View.swift:3: the code reads the key gone" in reads[1]
    missing = rsdump.run("check", "--parameters", "main/app", "--dumps", app / "dumps", "--used-in", app / "sources")
    assert missing.code == rsdump.USAGE and "there are no source files" in missing.err
