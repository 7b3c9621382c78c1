"""Firefox against `rsdump serve`: a separate suite, because it needs a browser."""
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
for folder in ("Integration", "Servers/kinto", "Servers/demo-collections", "Servers/origin"):
    sys.path.insert(0, str(TESTS / folder))
