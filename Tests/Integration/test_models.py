"""The order of a refresh's writes and of its readers' reads, as a model that spin explores whole.

Tests/Models/dumps.pml says what the model is about. The controls leave something out that the order needs: spin must find
each of them wrong, or the model would prove nothing.
"""
import pathlib
import re
import shutil
import subprocess

import pytest

MODEL = pathlib.Path(__file__).resolve().parents[1] / "Models/dumps.pml"


def explore(folder, *options):
    """The number of errors that an exhaustive search finds, and of the states that it has seen."""
    assert shutil.which("spin"), "spin is not installed; scripts/setup installs it"
    subprocess.run(["spin", *options, "-a", MODEL], cwd=folder, check=True, capture_output=True)
    subprocess.run(["gcc", "-O2", "-DSAFETY", "-o", "pan", "pan.c"], cwd=folder, check=True, capture_output=True)
    found = subprocess.run(["./pan", "-m100000"], cwd=folder, check=True, capture_output=True, text=True).stdout
    assert "max search depth too small" not in found
    return int(re.search(r"errors: (\d+)", found)[1]), int(float(re.search(r"([\d.e+]+) states, stored", found)[1]))


def test_every_reader_sees_the_old_state_or_the_new_one(tmp_path):
    errors, states = explore(tmp_path)
    assert errors == 0
    assert states > 1_000_000


@pytest.mark.parametrize("left_out", ["LOCK_FIRST", "NO_NOTES", "IMPATIENT"])
def test_the_model_finds_what_is_left_out(tmp_path, left_out):
    errors, _ = explore(tmp_path, f"-D{left_out}")
    assert errors > 0
