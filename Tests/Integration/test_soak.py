"""A short run of Tests/Faults/soak: four days with every kind of fault, including an expired chain."""
import json
import os
import pathlib
import subprocess

import pytest

import rsdump

pytestmark = pytest.mark.nightly


def test_four_days(tmp_path):
    finished = subprocess.run(
        [rsdump.REPOSITORY / "Tests/Faults/soak", "--minutes", "0", "--days", "4", "--starts", "80", "--events", "1,2,3",
         tmp_path / "soak"],
        capture_output=True, text=True, timeout=2 * rsdump.TIMEOUT,
        env=rsdump.environment({"RSDUMP": str(rsdump.BINARY), "TEST_PROCESS": str(pathlib.Path(rsdump.BINARY).parent / "test-process"),
                                "PATH": os.environ["PATH"]}))
    assert finished.returncode == 0, finished.stdout + finished.stderr
    counts = json.loads(finished.stdout.splitlines()[-1])
    assert counts["starts"] >= 80 and counts["answers"] >= 80 * 4
    assert counts["keys"] == 3 and counts["signature renewals"] == 1
    for name in ("refreshes killed", "refreshes on a full disk", "apps killed", "apps on a full disk", "refreshes refused",
                 "syncs failed"):
        assert counts[name] > 0, counts
