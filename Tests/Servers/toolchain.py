"""The programs of the Swift toolchain and the system, even if others come first in PATH."""
import functools
import json
import pathlib
import shutil
import subprocess


@functools.cache
def clang():
    """The toolchain's C compiler. Other compilers may be too old for `#embed`."""
    printed = subprocess.run(["swift", "-print-target-info"], check=True, capture_output=True, text=True).stdout
    # …/usr/lib/swift
    resources = pathlib.Path(json.loads(printed)["paths"]["runtimeResourcePath"])
    compiler = resources.parent.parent / "bin/clang"
    if not compiler.is_file():
        raise FileNotFoundError(f"{compiler}: expected the C compiler of the Swift toolchain, found none")
    return compiler


def preloadable(source, folder):
    """Compiles a C source of Tests into a library for LD_PRELOAD in the folder."""
    source = pathlib.Path(__file__).resolve().parents[1] / source
    library = pathlib.Path(folder) / f"{source.stem}.so"
    if not library.exists():
        subprocess.run(
            [clang(), "-std=gnu17", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source, "-ldl", "-lpthread"],
            check=True)
    return library


@functools.cache
def curl():
    """The system's curl: others may be too old for the options that the tests use."""
    return shutil.which("curl", path="/usr/bin:/bin") or "curl"
