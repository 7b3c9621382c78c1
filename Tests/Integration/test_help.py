"""The help of each command: it fits a screen of 100 columns and 30 lines, and its examples are valid."""
import concurrent.futures
import re
import shlex

import pytest

import rsdump

# publish and import have many options; import and export list the formats, one per line.
LONGER = {"publish": 33, "import": 37, "export": 36}
KEYS = [f"keys {each}" for each in ("create", "request", "issue", "renew", "status")]


@pytest.fixture(scope="module")
def helps():
    """The help of rsdump itself and of each command it lists, by name."""
    def help_of(command):
        outcome = rsdump.run(*command.split(), "--help", env={"COLUMNS": "100"})
        assert outcome.code == rsdump.DONE, str(outcome)
        return outcome.out
    listed = re.findall(r"^  ([a-z]+) +[A-Z]", help_of("").split("SUBCOMMANDS:", 1)[1], re.MULTILINE)
    assert len(listed) >= 15
    names = ["", *listed, *KEYS]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return dict(zip(names, pool.map(help_of, names)))


def test_help_fits_a_screen(helps):
    for name, text in helps.items():
        lines = text.rstrip("\n").splitlines()
        assert all(len(line) <= 100 or line.startswith("USAGE: rsdump keys create") for line in lines), text
        assert name == "" or len(lines) <= LONGER.get(name, 30), text
        overview = text.split("\nUSAGE:")[0].splitlines()
        broken = [line for line, after in zip(overview, overview[1:])
                  if line.startswith("  ") and after and after[0] != " " and not after.startswith("For details, see ")]
        assert not broken, f"rsdump {name}: {broken}"


def test_help_examples_are_valid(helps, tmp_path):
    """The parser accepts each example, run in an empty directory without any data."""
    examples = [line for name in helps if name and name not in KEYS
                for line in re.findall(r"^  (rsdump (?:.*\\\n)*.*)", helps[name].split("\nUSAGE:")[0], re.MULTILINE)]
    # The pages of refresh, publish and import have no space for examples.
    assert len(examples) >= 30

    def judge(numbered):
        number, line = numbered
        words = shlex.split(re.split(r"   | \|| && ", re.sub(r"\\\n +", "", line), maxsplit=1)[0])
        (tmp_path / str(number)).mkdir()
        if words[1] == "serve" or "--sync" in words:    # These would access the network; the others stop earlier.
            words.append("--help")
        outcome = rsdump.run(*words[1:], cwd=tmp_path / str(number))
        assert "Usage:" not in outcome.err, str(outcome)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(judge, enumerate(examples)))
