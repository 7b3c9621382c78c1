"""The help of each command fits a screen of 25 lines and 100 columns."""
import pytest

import rsdump

# It has 19 options, one line each.
LONGER = {"publish": 32, "import": 31}
COMMANDS = ["list", "add", "remove", "pin", "refresh", "status", "verify", "show", "diff", "log", "merge", "keys", "check",
            "publish", "import", "export", "embed", "serve", "get", "values",
            *(f"keys {each}" for each in ("create", "request", "issue", "renew", "status"))]


def test_every_command_is_here():
    listed = rsdump.run("--help").out.split("SUBCOMMANDS:\n")[1].splitlines()
    assert {line.split()[0] for line in listed if line.startswith("  ") and line[2] != " "} - {"See"} <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_screen(command):
    outcome = rsdump.run(*command.split(), "--help", env={"COLUMNS": "100"})
    lines = outcome.out.rstrip("\n").splitlines()
    assert outcome.code == rsdump.DONE and all(
        len(line) <= 100 or line.startswith("USAGE: rsdump keys create") for line in lines), str(outcome)
    assert len(lines) <= LONGER.get(command, 30), outcome.out
