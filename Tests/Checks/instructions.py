#!/usr/bin/env python3
"""scripts/check instructions [--accept]: counts the instructions of what every run of the tool and every start of an app
does, by valgrind's callgrind, and compares them with Tests/Benchmark/instructions.json. A rise of more than 5 % fails.

  --accept   writes the counts of this build into that file; commit it with the change that explains them

Unlike times, the counts hardly depend on the machine and on what else it does. They do depend on the compiler, the system's
libraries and the kind of processor, which the file names: counts from another environment are not compared, and the check
fails. What is counted:
  - an app's first read, by the release build of rsbench-app, which is built here (minutes from nothing, else seconds);
  - `rsdump --version` and a refresh that finds nothing new, by the debug build of rsdump. A release build of the tool would
    take ten minutes, and what makes these two slow shows in either: the types that Swift's runtime has to look up.
    RSDUMP names another build, such as one of a release; its counts cannot be compared with those of the file.
The profiles are kept in .build/instructions: callgrind_annotate .build/instructions/NAME.callgrind
"""
import contextlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "Tests/Benchmark/instructions.json"
PROFILES = ROOT / ".build/instructions"
MOST = 1.05
COLLECTION = "main/large"


def fail(text):
    print(f"check instructions: {text}", file=sys.stderr)
    sys.exit(1)


def output(*command, **options):
    ended = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True, **options)
    if ended.returncode != 0:
        fail(f"{' '.join(map(str, command))} ended with {ended.returncode}:\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}")
    return ended.stdout + ended.stderr


def environment():
    """What the counts depend on, besides this package."""
    swift = re.search(r"swift-\S+|Swift version \S+", output("swift", "--version"))
    system = re.search(r'PRETTY_NAME="(.*)"', pathlib.Path("/etc/os-release").read_text())
    flags = re.search(r"^flags.*", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    wide = [name for name in ("avx", "avx2", "bmi2") if flags and name in flags[0].split()]
    return {
        "swift": swift[0] if swift else "unknown", "system": system[1] if system else "unknown",
        "processor": " ".join([platform.machine(), *wide]), "valgrind": output("valgrind", "--version").strip(),
    }


def build(product, *options):
    options = ["--traits", "Server,Lab", *options]
    output("swift", "build", "--product", product, *options)
    return pathlib.Path(output("swift", "build", "--show-bin-path", *options).strip().splitlines()[-1]) / product


def stripped(program, folder):
    """The program without debug information, which valgrind would read for minutes."""
    output("strip", "-g", "-o", folder / program.name, program)
    return folder / program.name


@contextlib.contextmanager
def demo_server(rsdump, folder):
    """The sample collections on loopback; its URL and its root."""
    with open(folder / "server.txt", "w+") as told:
        server = subprocess.Popen([rsdump, "serve", "--demo", "--port", "0"], stdout=told, stderr=subprocess.DEVNULL)
        try:
            while "trust-root" not in (text := (folder / "server.txt").read_text()):
                try:
                    server.wait(0.1)
                    fail("rsdump serve --demo ended before it served")
                except subprocess.TimeoutExpired:
                    pass
            yield text.splitlines()[0], re.search(r"trust-root (\S+)", text)[1]
        finally:
            server.terminate()
            server.wait()


def suspending(folder):
    """A library in which sigsuspend gives the system a copy of its mask. Valgrind 3.19 writes to the mask, and Dispatch, whose
    main thread waits in this call, keeps it where nothing can be written: valgrind would crash."""
    source, library = folder / "sigsuspend.c", folder / "sigsuspend.so"
    source.write_text("""
        #define _GNU_SOURCE
        #include <signal.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        int sigsuspend(const sigset_t *mask) {
            sigset_t copy = *mask;
            return syscall(SYS_rt_sigsuspend, &copy, _NSIG / 8);
        }
        """)
    output(shutil.which("clang") or "cc", "-shared", "-fPIC", "-O1", "-o", library, source)
    return library


def count(name, *command, preloaded=None):
    """The instructions of a process and all its threads."""
    profile = PROFILES / f"{name.replace(' ', '-')}.callgrind"
    # Else the order of sets and dictionaries, and with it the work, differs from run to run.
    fixed = os.environ | {"SWIFT_DETERMINISTIC_HASHING": "1"}
    if preloaded:
        fixed["LD_PRELOAD"] = str(preloaded)
    told = output("valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", *command, env=fixed)
    return int(re.search(r"Collected : (\d+)", told)[1])


def counts(folder):
    tool = pathlib.Path(os.environ["RSDUMP"]).resolve() if "RSDUMP" in os.environ else build("rsdump")
    rsbench = build("rsbench")
    app = stripped(build("rsbench-app", "--configuration", "release", "--static-swift-stdlib"), folder)
    rsdump = stripped(tool, folder)
    preloaded = suspending(folder)
    dumps, stored, storage = folder / "dumps", folder / "stored", folder / "storage"
    with demo_server(rsdump, folder) as (url, root):
        trust = ["--server", f"{url}/v2", "--trust-root", root]
        output(rsdump, "add", "main/settings", "main/regions", "main/icons", "main/search-hints", COLLECTION,
               "--dumps", dumps, *trust)
        output(rsdump, "refresh", "--dumps", dumps)
        output(rsdump, "get", COLLECTION, "--sync", "--storage", storage, *trust)
        output(rsbench, "stored", dumps, COLLECTION, stored)

        def read(source, packaged):
            return count(f"app {source}", app, source.split()[0], packaged, storage, root, COLLECTION)
        return {
            "rsdump --version": count("version", rsdump, "--version"),
            "refresh, nothing changed": count(
                "refresh", rsdump, "refresh", "--dumps", dumps, preloaded=preloaded),
            "app: no read": read("nothing", dumps),
            "app: first read, embedded, stored": read("embedded stored", stored),
            "app: first read, embedded, deflated": read("embedded deflated", dumps),
            "app: first read, directory, verified": read("directory", dumps),
            "app: first read, cache, verified": read("cache", dumps),
        }


def compare(found, kept):
    """Prints a table; returns what rose too much."""
    risen = []
    width = max(map(len, found))
    for name, number in found.items():
        before = kept.get(name)
        change = f"{number / before - 1:+7.1%} of {before / 1e6:8.2f}" if before else "    new"
        print(f"{name:{width}} {number / 1e6:8.2f} million {change}")
        if not before or number > before * MOST:
            risen.append(name)
    return risen


def main():
    arguments = sys.argv[1:]
    if arguments not in ([], ["--accept"]):
        print(__doc__.splitlines()[0] + "\n" + __doc__, file=sys.stderr)
        sys.exit(2)
    if not shutil.which("valgrind"):
        fail("valgrind was not found; scripts/setup installs it")
    PROFILES.mkdir(parents=True, exist_ok=True)
    here = environment()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {"environment": {}, "instructions": {}}
    with tempfile.TemporaryDirectory() as name:
        found = counts(pathlib.Path(name))
    if arguments:
        compare(found, kept["instructions"] if kept["environment"] == here else {})
        KEPT.write_text(json.dumps({"environment": here, "instructions": found}, indent=2) + "\n")
        print(f"check instructions: written to {KEPT.relative_to(ROOT)}; commit it with the change that explains the counts")
        return
    if kept["environment"] != here:
        compare(found, {})
        differences = "; ".join(
            f"{key}: {kept['environment'].get(key, 'none')} there, {here[key]} here"
            for key in here if kept["environment"].get(key) != here[key])
        fail(f"{KEPT.relative_to(ROOT)} was counted in another environment ({differences}), so that nothing can be compared.\n"
             "Check out the commit before your change, run scripts/check instructions --accept here, and commit the file; then "
             "check your change against it.")
    risen = compare(found, kept["instructions"])
    if risen:
        fail(f"more than {MOST - 1:.0%} above {KEPT.relative_to(ROOT)}, or not in it: {'; '.join(risen)}.\n"
             "Where the change is worth that, run scripts/check instructions --accept, and commit the file with the reason. Else "
             "see where the instructions go: callgrind_annotate .build/instructions/NAME.callgrind")


main()
