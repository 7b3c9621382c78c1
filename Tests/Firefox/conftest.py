"""Firefox against `rsdump serve`: a suite of its own, as it needs a browser."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Integration"))
