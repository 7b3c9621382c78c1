"""The tables and lists of tests name tests that there are."""
import re

import pytest

import rsdump

INTEGRATION = rsdump.REPOSITORY / "Tests/Integration"
SWIFT = "\n".join(path.read_text() for path in sorted(rsdump.REPOSITORY.glob("Tests/*/*Tests/**/*.swift")))


def is_there(name):
    place, _, test = name.partition(".")
    if place.startswith("test_"):
        file = INTEGRATION / f"{place}.py"
        return file.is_file() and (not test or f"def {test}(" in file.read_text())
    if not re.search(rf"\b(struct|enum|class) {place}\b", SWIFT):
        return False
    return not test or f"func {test}(" in SWIFT


@pytest.mark.parametrize("path", ["Tests/RealServer.md", "Tests/Library/RemoteSettingsTests/MozillaClientTests.swift"])
def test_every_test_that_is_named_is_there(path):
    text = (rsdump.REPOSITORY / path).read_text()
    rows = "\n".join(line for line in text.splitlines() if re.match(r"\||    /// ", line))
    names = set(re.findall(r"`(test_[a-z_]+\.\w+|\w+(?:Tests|Examples)(?:\.\w+)?)`", rows))
    assert len(names) > 20
    assert not {name for name in names if not is_there(name)}
