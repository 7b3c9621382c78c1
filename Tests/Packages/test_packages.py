"""Tests the packages of scripts/package in minimal Debian 12 and 13 systems, which debootstrap creates in folders.

Run by `scripts/test packages`, which builds the packages first. Needs root, for chroot. The systems use this machine's
network: they connect to Debian's mirror for dependencies, and to an origin on loopback.
"""
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile

import pytest
from ruamel.yaml import YAML

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = REPOSITORY / ".build/packages"
# The packages are built on Debian 12. In 13, libarchive13t64 and libcurl4t64 provide their dependencies.
RELEASES = ["bookworm", "trixie"]
# The first archive in this machine's own configuration; it has both releases.
MIRROR = subprocess.check_output(["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages"], text=True).split()[0]


def run(*command, check=True, **options):
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, **options)
    assert not check or done.returncode == 0, f"{command} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done


def package(pattern):
    [found] = PACKAGES.glob(pattern)
    return found


@pytest.fixture(scope="session", params=RELEASES)
def bare(request):
    """A tar of a minimal Debian, with apt's lists."""
    tar = REPOSITORY / f".cache/debian-{request.param}.tar"
    if not tar.exists():
        work = tar.with_suffix(".work")
        shutil.rmtree(work, ignore_errors=True)
        # Every Debian release uses this script; an older debootstrap does not know the names of newer releases.
        run("debootstrap", "--variant=minbase", request.param, work, MIRROR, "/usr/share/debootstrap/scripts/sid")
        with mounted(work):
            run("chroot", work, "apt-get", "-qq", "update")
        run("tar", "--create", "--one-file-system", "--directory", work, "--file", f"{tar}.part", ".")
        shutil.rmtree(work)
        os.replace(f"{tar}.part", tar)
    return tar


@contextlib.contextmanager
def mounted(root):
    """Mounts what programs in the folder need, and always unmounts it."""
    run("mount", "--types", "proc", "proc", root / "proc")
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    shutil.copy("/etc/hosts", root / "etc/hosts")
    # Prevent installations from starting services.
    (root / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
    (root / "usr/sbin/policy-rc.d").chmod(0o755)
    try:
        yield
    finally:
        run("umount", root / "proc")


@pytest.fixture
def system(bare, tmp_path):
    root = tmp_path / "system"
    root.mkdir()
    run("tar", "--extract", "--directory", root, "--file", bare)
    with mounted(root):
        yield System(root)


class System:
    def __init__(self, root):
        self.root = root

    def run(self, *command, check=True, **environment):
        clean = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive",
                 "LC_ALL": "C.UTF-8", "MANPAGER": "cat", **environment}
        return run("chroot", self.root, *command, check=check, env=clean)

    def install(self, *names):
        return self.run("apt-get", "-qq", "install", "--yes", "--no-install-recommends", *names)

    def files(self):
        """This project's files, except those kept by apt and dpkg."""
        left_out = ("/proc", "/tmp", "/var/cache", "/var/lib/apt", "/var/lib/dpkg", "/var/log")
        pruned = [word for path in left_out for word in ("-path", path, "-prune", "-o")]
        found = self.run("find", "/", "-xdev", *pruned, "-print").stdout.splitlines()
        return {path for path in found if "rsdump" in path or "remote-settings" in path}


@pytest.fixture
def origin(tmp_path):
    """The demo server of the packaged tool, running outside the system."""
    output = tmp_path / "origin.txt"
    with open(output, "w") as out, open(tmp_path / "origin.log", "w") as log:
        server = subprocess.Popen([tool(tmp_path), "serve", "--demo", "--port", "0"], stdout=out, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while "trust-root" not in output.read_text():
            assert server.poll() is None and time.monotonic() < deadline, (tmp_path / "origin.log").read_text()
            time.sleep(0.05)
        url, root = output.read_text().splitlines()[:2]
        yield url, root.split()[1]
    finally:
        server.terminate()
        server.wait()


def tool(tmp_path):
    with zipfile.ZipFile(package("*.artifactbundle.zip")) as bundle:
        [name] = [each for each in bundle.namelist() if each.endswith("/bin/rsdump")]
        path = bundle.extract(name, tmp_path / "tool")
        os.chmod(path, 0o755)
        return path


def test_checksums_list_every_file():
    listed = dict(reversed(line.split("  ")) for line in (PACKAGES / "SHA256SUMS").read_text().splitlines())
    files = {each.name for each in PACKAGES.iterdir()} - {"SHA256SUMS"}
    assert set(listed) == files and len(files) == 6
    for name, digest in listed.items():
        assert hashlib.sha256((PACKAGES / name).read_bytes()).hexdigest() == digest, name


def test_packages_have_no_build_paths_or_times(tmp_path):
    program = pathlib.Path(tool(tmp_path)).read_bytes()
    assert b"icudt" not in program, "rsdump links all of Foundation, including 37 MB of ICU data"
    assert str(REPOSITORY).encode() not in program and os.environ.get("HOME", "/root").encode() + b"/." not in program
    commit_time = int(run("git", "-C", REPOSITORY, "log", "-1", "--format=%ct").stdout)
    for name in ("rsdump-*-linux-*.tar.gz", "rsdump-*-plugins.tar.gz"):
        with tarfile.open(package(name)) as archive:
            members = archive.getmembers()
            assert members and {each.mtime for each in members} == {commit_time}
            assert {(each.uid, each.gid, each.uname, each.gname) for each in members} == {(0, 0, "", "")}


def test_bill_of_materials_names_linked_packages():
    listed = json.loads(package("*.cdx.json").read_text())
    assert listed["bomFormat"] == "CycloneDX" and listed["metadata"]["component"]["name"] == "rsdump"
    names = {each["name"] for each in listed["components"]}
    assert {"swift-nio", "swift-certificates", "hummingbird", "libyaml-0-2", "libarchive13", "libc6"} <= names
    assert all(each["version"] for each in listed["components"])
    assert set(listed["dependencies"][0]["dependsOn"]) == {each["bom-ref"] for each in listed["components"]}


def test_bare_debian_refreshes_and_verifies(system, origin):
    url, trust_root = origin
    assert system.run("which", "swift", "gcc", "clang", check=False).stdout == "", "a bare system must have no compiler"
    before = system.files()
    shutil.copy(package("*.deb"), system.root / "rsdump.deb")
    # The dependencies are fetched before the clock starts, so that the mirror's speed does not count.
    system.install("--download-only", "/rsdump.deb")

    began = time.monotonic()
    system.install("/rsdump.deb")
    system.run("rsdump", "add", "main/markets", "main/icons", "--server", f"{url}/v2", "--trust-root", trust_root,
               "--dumps", "/srv/dumps")
    system.run("rsdump", "refresh", "--dumps", "/srv/dumps")
    verified = system.run("rsdump", "verify", "--locked", "--dumps", "/srv/dumps").stdout
    took = time.monotonic() - began
    assert "2 of 2 bundles verified" in verified
    # Not a benchmark: it usually takes a few seconds, and on a busy machine up to a minute.
    print(f"from the package file to a verified refresh: {took:.1f} s")
    assert took < 60

    pages = {each.name for each in (system.root / "usr/share/man/man1").glob("rsdump*")}
    commands = set(re.findall(r"^  ([a-z]+) ", system.run("rsdump", "--help").stdout, re.MULTILINE))
    assert {f"rsdump-{each}.1.gz" for each in ("refresh", "verify", "serve")} <= pages and commands
    system.install("man-db", "bash-completion")
    # dpkg may omit manual pages from minimal systems only if configured to; man must find and render ours.
    assert "Download" in system.run("man", "rsdump-refresh").stdout
    completed = system.run(
        "bash", "-c", ". /usr/share/bash-completion/bash_completion; . /usr/share/bash-completion/completions/rsdump;"
        " COMP_WORDS=(rsdump re); COMP_CWORD=1; _rsdump; printf '%s\n' \"${COMPREPLY[@]}\"").stdout.split()
    assert "refresh" in completed, completed

    unit = (system.root / "lib/systemd/system/remote-settings-dumps.service").read_text()
    assert "/usr/local/bin" not in unit
    enabled = list((system.root / "etc/systemd/system").rglob("remote-settings-*"))
    assert not enabled, "units must be installed disabled"

    system.run("apt-get", "-qq", "purge", "--yes", "rsdump")
    left = system.files() - before - {"/rsdump.deb"}
    assert not left, left


def test_nightly_unit_runs(system, origin):
    """Runs the unit's ExecStart line as its user, in its working directory, because a chroot has no systemd."""
    url, trust_root = origin
    shutil.copy(package("*.deb"), system.root / "rsdump.deb")
    system.install("/rsdump.deb", "git", "adduser")
    system.run("adduser", "--system", "--group", "--home", "/var/lib/dumps", "--shell", "/bin/sh", "dumps")
    unit = (system.root / "lib/systemd/system/remote-settings-dumps.service").read_text()
    settings = dict(re.findall(r"^(\w+)=(.*)$", unit, re.MULTILINE))
    script = f"""
        set -eu
        export HOME=/var/lib/dumps GIT_AUTHOR_NAME=d GIT_AUTHOR_EMAIL=d@d GIT_COMMITTER_NAME=d GIT_COMMITTER_EMAIL=d@d
        git init -q --bare /var/lib/dumps/remote.git --initial-branch main
        git clone -q /var/lib/dumps/remote.git {settings['WorkingDirectory']} 2>/dev/null
        cd {settings['WorkingDirectory']}
        git checkout -q -b main
        rsdump add main/markets --server {url}/v2 --trust-root {trust_root}
        git add dumps; git commit -qm Configuration; git push -q origin main
        export {settings['Environment']}
        {settings['ExecStart']} --no-pull-request
        git fetch -q; git show --stat origin/remote-settings-dumps
    """
    shown = system.run("su", "dumps", "-s", "/bin/sh", "-c", script).stdout
    assert "dumps/main/markets.zip" in shown, shown


def test_archive_runs_on_bare_debian(system, origin):
    url, trust_root = origin
    with tarfile.open(package("rsdump-*-linux-*.tar.gz")) as archive:
        archive.extractall(system.root / "opt")
    [folder] = (system.root / "opt").glob("rsdump-*")
    system.install("libarchive13", "libcurl4", "libstdc++6", "libyaml-0-2")
    program = f"/opt/{folder.name}/bin/rsdump"
    system.run(program, "add", "main/markets", "--server", f"{url}/v2", "--trust-root", trust_root, "--dumps", "/srv/dumps")
    system.run(program, "refresh", "--dumps", "/srv/dumps")
    assert "1 of 1 bundle verified" in system.run(program, "verify", "--locked", "--dumps", "/srv/dumps").stdout


SOURCE = "parameters:\n  greeting: Hello\n"


@pytest.mark.parametrize("example, job, command", [
    ("nightly", "dumps", "rsdump --version"),
    ("publish", ".rsdump", "rsdump publish --dry-run --format markdown >diff.md && grep -q greeting diff.md")])
def test_example_jobs_install_the_package(system, tmp_path, example, job, command):
    """Runs GitLab's job in a minimal system, with the release's files on loopback."""
    yaml = YAML(typ="safe")
    version = re.search(r"_(\d+\.\d+\.\d+)_", package("*.deb").name).group(1)
    releases = tmp_path / "releases" / f"v{version}"
    releases.mkdir(parents=True)
    shutil.copy(package("*.deb"), releases)
    server = subprocess.Popen(
        [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "--directory", tmp_path / "releases", "8766"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        job = yaml.load((REPOSITORY / f"Examples/{example}/gitlab-ci.yml").read_text())[job]
        variables = {**job["variables"], "RSDUMP_RELEASES": "http://127.0.0.1:8766", "RSDUMP_VERSION": version,
                     "RSDUMP_SHA256": hashlib.sha256(package("*.deb").read_bytes()).hexdigest()}
        lines = "\n".join(job["before_script"])
        system.run("bash", "-euc", lines, **{name: str(value) for name, value in variables.items()})
        assert system.run("which", "gcc", "clang", "swift", check=False).stdout == ""
        sources = system.root / "work/sources/main"
        sources.mkdir(parents=True)
        (sources / "app-config.yaml").write_text(SOURCE)
        system.run("bash", "-euc", f"cd /work && {command}")
        assert version in system.run("rsdump", "--version").stdout
        # A package with a different hash is never installed.
        variables["RSDUMP_SHA256"] = "0" * 64
        refused = system.run("bash", "-euc", lines, check=False, **{n: str(v) for n, v in variables.items()})
        assert refused.returncode != 0
    finally:
        server.terminate()
        server.wait()


def test_plugins_refresh_and_verify(origin, tmp_path):
    url, trust_root = origin
    with tarfile.open(package("rsdump-*-plugins.tar.gz")) as archive:
        archive.extractall(tmp_path)
    app = tmp_path / "app"
    (app / "Sources/app").mkdir(parents=True)
    (app / "Sources/app/app.swift").write_text("print(1)\n")
    (app / "Package.swift").write_text("""// swift-tools-version: 6.0
import PackageDescription
let package = Package(
    name: "app",
    dependencies: [.package(path: "../remote-settings-dumps")],
    targets: [.executableTarget(name: "app")])
""")
    program = next((tmp_path / "tool").glob("*/*/bin/rsdump"))
    run(program, "add", "main/markets", "--server", f"{url}/v2", "--trust-root", trust_root, cwd=app)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    refused = run("swift", "package", "refresh-dumps", cwd=app, env=environment, check=False, stdin=subprocess.DEVNULL)
    assert refused.returncode != 0 and "allow-" in refused.stderr, refused.stderr
    run("swift", "package", "--allow-writing-to-package-directory", "--allow-network-connections", "all",
        "refresh-dumps", cwd=app, env=environment)
    assert (app / "dumps/main/markets.zip").exists()
    assert "1 of 1 bundle verified" in run("swift", "package", "verify-dumps", cwd=app, env=environment).stdout
    bundle = app / "dumps/main/markets.zip"
    bundle.write_bytes(bundle.read_bytes()[:-1] + b"x")
    damaged = run("swift", "package", "verify-dumps", cwd=app, env=environment, check=False)
    assert damaged.returncode != 0 and "markets.zip" in damaged.stdout, damaged.stdout + damaged.stderr
