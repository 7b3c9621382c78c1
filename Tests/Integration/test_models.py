"""Models of the order of writes and reads, which spin explores exhaustively.

Each file in Tests/Models describes its subject. As a control, each option omits a necessary step: spin must find an error, or the
models would prove nothing.
"""
import pathlib
import re
import shutil
import subprocess

import pytest

MODELS = pathlib.Path(__file__).resolve().parents[1] / "Models"

pytestmark = pytest.mark.nightly


def explore(folder, model, *options):
    """Runs an exhaustive search. Returns the number of errors and of explored states."""
    assert shutil.which("spin"), "spin is not installed; scripts/setup installs it"
    subprocess.run(["spin", *options, "-a", MODELS / f"{model}.pml"], cwd=folder, check=True, capture_output=True)
    subprocess.run(["gcc", "-O2", "-DSAFETY", "-o", "pan", "pan.c"], cwd=folder, check=True, capture_output=True)
    found = subprocess.run(["./pan", "-m100000"], cwd=folder, check=True, capture_output=True, text=True).stdout
    assert "max search depth too small" not in found
    return int(re.search(r"errors: (\d+)", found)[1]), int(float(re.search(r"([\d.e+]+) states, stored", found)[1]))


@pytest.mark.parametrize("model, least", [("dumps", 1_000_000), ("keys", 500_000)])
def test_every_reader_sees_the_old_state_or_the_new_one(tmp_path, model, least):
    errors, states = explore(tmp_path, model)
    assert errors == 0
    assert states > least


@pytest.mark.parametrize("model, left_out", [
    ("dumps", "CLEAR_FIRST"), ("dumps", "NO_LOG"), ("dumps", "LOG_FIRST"), ("dumps", "IMPATIENT"), ("dumps", "BLIND"),
    ("keys", "NO_NEXT"), ("keys", "NO_LOCK"), ("keys", "CLEAR_FIRST"), ("keys", "IMPATIENT"),
])
def test_the_model_finds_what_is_left_out(tmp_path, model, left_out):
    errors, _ = explore(tmp_path, model, f"-D{left_out}")
    assert errors > 0
