"""The start pages of the documentation: what they show a newcomer to type ends with a success."""
import os
import re
import subprocess

import pytest

import rsdump

PAGES = rsdump.REPOSITORY / "Sources/Tool/rsdump/Documentation.docc"


@pytest.mark.parametrize("name, shown", [
    ("StartNightly", "2 of 2 bundles verified"),
    ("StartApp", "main/regions  up to date"),
    ("StartRelease", "2 of 2 bundles rebuilt to the same bytes"),
    ("StartPublish", "Good morning"),
])
def test_the_commands_of_a_start_page_succeed(name, shown, tmp_path):
    blocks = re.findall(r"^```shell\n(.*?)^```$", (PAGES / f"{name}.md").read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "rsdump").symlink_to(rsdump.BINARY)
    folder = tmp_path / "work"
    folder.mkdir()
    ran = subprocess.run(
        ["bash", "-c", "set -e -o pipefail\n" + "\n".join(blocks)], cwd=folder, capture_output=True, text=True, timeout=60,
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
    assert ran.returncode == 0 and shown in ran.stdout, ran.stdout + ran.stderr
