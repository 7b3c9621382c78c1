"""The text of a pull request after several nights with all kinds of changes and failures, as a reviewer reads it."""
import contextlib
import datetime
import json
import math
import os
import pathlib
import re
import subprocess

import pytest

import rsdump
import samples
from dumps import Dumps
from nightly import BRANCH, Nightly
from rs_server.client import Server
from test_changes import ICONS, MARKETS, SETTINGS

HINTS, LARGE, FONTS, SHAPES = "main/search-hints", "main/large", "main/fonts", "main/shapes"
SERVERS = rsdump.REPOSITORY / "Tests/Servers"


class Nights:
    """Nights at 03:17 UTC, on a shared clock for the server, rsdump and git."""

    def __init__(self, folder):
        import toolchain
        self.file, library = folder / "shift", folder / "shifted_clock.so"
        subprocess.run([toolchain.clang(), "-O1", "-shared", "-fPIC", "-o", library, SERVERS / "clock/shifted_clock.c"], check=True)
        self.environment = {"LD_PRELOAD": str(library), "SHIFTED_CLOCK": str(self.file)}
        today = datetime.datetime.now(datetime.timezone.utc)
        self.first = today.replace(hour=3, minute=17, second=0, microsecond=0) + datetime.timedelta(days=1)
        self.set(0)

    def set(self, night, hours=0):
        offset = self.first + datetime.timedelta(days=night, hours=hours) - datetime.datetime.now(datetime.timezone.utc)
        self.file.write_text(f"{math.ceil(offset.total_seconds())}\n")

    def day(self, night):
        return (self.first + datetime.timedelta(days=night)).date().isoformat()


@contextlib.contextmanager
def serving(folder):
    """A server, and nights whose clock all processes use."""
    nights, plain = Nights(folder), rsdump.environment
    samples.write(folder / "samples")
    (folder / "server").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in nights.environment.items():
            patch.setenv(name, value)
        patch.setattr(rsdump, "environment", lambda changes=None: plain({**nights.environment, **(changes or {})}))
        with Server.start(folder / "server") as server:
            server.load(folder / "samples")
            yield server, nights


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """Runs seven nights. Returns the nightly job, the nights, and the last run."""
    folder = tmp_path_factory.mktemp("nights")
    with serving(folder) as (server, nights):
        yield run_nights(folder, server, nights)


@pytest.mark.nightly
def test_month_of_nights(tmp_path):
    """Something changes every night, the server fails in three, and a person merges weekly, alternating two methods."""
    from conftest import add_and_refresh
    with serving(tmp_path) as (server, nights):
        nightly = Nightly(tmp_path, add_and_refresh(Dumps(tmp_path / "dumps"), server, samples.NAMES))
        for night in range(30):
            nights.set(night)
            server.patch_record(SETTINGS, "telemetry", {"value": night})
            server.faults(*([{"path": "changeset", "status": 503}] if night % 10 == 4 else []))
            assert (run := nightly.run()).code == (rsdump.UNREACHABLE if night % 10 == 4 else rsdump.DONE), str(run)
            if night % 7 == 6:
                nightly.merge(squash=night % 2 == 0)
        after = nightly.checkout(BRANCH, "after")
        assert after.verify("--locked").code == rsdump.DONE and {"value": 29}.items() <= after.bundle(SETTINGS).records[-1].items()
    assert [each["state"] for each in nightly.requests] == ["MERGED"] * 4 + ["OPEN"]


def run_nights(folder, server, nights):
    from conftest import add_and_refresh
    nights.set(-1)
    for name in (FONTS, SHAPES):
        server.put_collection(name)
    server.put_record(SHAPES, {"id": "circle", "title": "Circle", "corners": 0})
    server.put_record(FONTS, {"id": "serif", "title": "Serif", "size": 12})
    nightly = Nightly(folder, add_and_refresh(Dumps(folder / "dumps"), server, [*samples.NAMES, FONTS, SHAPES]))
    make = ["--before-commit",
            '"$RSDUMP" embed --output Sources/EmbeddedDumps --swift Sources/App/Dumps.swift --types --dumps dumps',
            "--also", "Sources"]

    def edit(path, change):
        def commit(tree):
            (tree / path).write_text(change((tree / path).read_text()))
        nightly.on_main(commit)

    def embed(tree):
        outcome = rsdump.run("embed", "--output", "Sources/EmbeddedDumps", "--swift", "Sources/App/Dumps.swift", "--types",
                             "--dumps", "dumps", cwd=tree)
        assert outcome.code == rsdump.DONE, str(outcome)
    nightly.on_main(embed)

    def add(*names):
        def commit(tree):
            assert rsdump.run("add", *names, "--dumps", tree / "dumps").code == rsdump.DONE
        nightly.on_main(commit)

    faults = []

    def night(number, code):
        nights.set(number)
        server.faults(*faults)
        run = nightly.run(*make)
        assert run.code == code, str(run)
        return run
    # 0: one record changes.
    nights.set(-1, 12)
    server.patch_record(SETTINGS, "telemetry", {"value": True})
    night(0, rsdump.DONE)
    # 1: a new collection is added, another does not exist, and a changeset request fails.
    nights.set(0, 12)
    server.put_collection("main/themes")
    server.put_attachment("main/themes", "dark", "dark.svg", samples.svg(1), "image/svg+xml")
    add("main/themes", "main/tracking-list")

    def pin(tree):
        outcome = rsdump.run("pin", FONTS, "--until", nights.day(60), "--reason", "bug 77", "--dumps", tree / "dumps")
        assert outcome.code == rsdump.DONE, str(outcome)
    nightly.on_main(pin)
    faults.append({"path": "collections/markets/changeset", "status": 400,
                   "body": '{"code":400,"errno":107,"error":"Invalid parameters","message":"_since in querystring: unknown"}'})
    server.delete_record(MARKETS, "nowhere")
    assert f"- at the server's current state: `{FONTS}`\n" in section(night(1, rsdump.SOME_FAILED).summary, "### Pinned")
    # 2: an attachment is missing on the server, and the pinned collection changes there.
    nights.set(1, 12)
    server.patch_record(FONTS, "serif", {"size": 13})
    server.put_attachment(ICONS, "petals-23", "petals-23.svg", samples.svg(23), "image/svg+xml")
    faults.append({"path": "/attachments/", "status": 404, "body": "Not Found"})
    night(2, rsdump.SOME_FAILED)
    # 3: someone removes a collection from dumps.yaml and acknowledges a failure.
    nights.set(2, 12)
    known = f"    acknowledged: {{error: http, until: {nights.day(30)}, reason: bug 1234}}\n"

    def configure(text):
        text = re.sub(rf"  {HINTS}:.*?(?=\n  main/|\Z)", "", text, flags=re.DOTALL)
        return text.replace(f"  {MARKETS}:\n", f"  {MARKETS}:\n{known}")
    edit("dumps/dumps.yaml", configure)
    night(3, rsdump.SOME_FAILED)
    # 4: a field of a record changes its type, so the types on main cannot decode it.
    nights.set(3, 12)
    server.patch_record(SHAPES, "circle", {"corners": "none"})
    night(4, rsdump.SOME_FAILED)
    # 5: a signature is wrong.
    nights.set(4, 12)
    server.delete_record(LARGE, server.changeset(LARGE)["changes"][0]["id"])
    forged = server.changeset(LARGE)
    forged["changes"][0]["title"] = "forged"
    faults.append({"path": "collections/large/changeset", "body": json.dumps(forged)})
    night(5, rsdump.SOME_FAILED)
    # 6: another record changes.
    nights.set(5, 12)
    server.delete_record(SETTINGS, "search-bar")
    return nightly, nights, night(6, rsdump.SOME_FAILED)


def section(text, heading):
    """The lines below a heading, up to the next heading of the same or a higher level."""
    level = len(heading) - len(heading.lstrip("#"))
    found = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^#{{1,{level}}} |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"no heading {heading}\n{text}"
    return found[1]


def test_pull_request_text_of_seven_nights(several):
    nightly, nights, run = several
    [request] = nightly.requests
    body = request["body"]
    # Saved for human review.
    pathlib.Path(os.environ.get("NIGHT_PAGE", os.devnull)).write_text(body)
    night, changes = section(body, "## This night"), section(body, "## All changes against the branch `main`")
    # When was it refreshed, and with what result?
    assert f"Refreshed at {nights.day(6)} 03:17 UTC from `http" in night
    assert "Of 8 collections, 1 changed, 3 failed, 1 failed as acknowledged in `dumps.yaml`, 1 pinned; the other 2 are up to date." in night
    # What failed, why, since when, which data remains, and who must act?
    icons = section(night, "### Server failures")
    assert "The next refresh will try again." in icons and f"- `{ICONS}` keeps its current bundle (data of " in icons
    assert f"; failing since {nights.day(2)}\n  - reason: attachment of record `petals-23`: the server answered 404: Not Found\n  - URL: `http" in icons
    assert icons.count(".svg") == 1
    signature = section(night, "### Signature failures")
    assert f"- `{LARGE}` keeps its current bundle (data of " in signature and "Ask the server's operator" in signature
    assert f"; failing since {nights.day(5)}\n" in signature
    unknown = section(night, "### Configuration failures")
    assert f"- `main/tracking-list` has no bundle yet; failing since {nights.day(1)}\n" in unknown
    assert "until you change `dumps.yaml`" in unknown and "{" not in unknown
    # Which failures are acknowledged, until when, and why?
    known = section(night, "### Acknowledged failures")
    assert f"acknowledged in `dumps.yaml` until {nights.day(30)} (error `http`): bug 1234" in known and f"since {nights.day(1)}" in known
    assert "reason: the server answered 400: `_since` in querystring: unknown\n" in known and "errno" not in known
    assert f"`{MARKETS}`" not in icons
    pinned = section(night, "### Pinned")
    assert "bug 77" in pinned and f"; superseded since {nights.day(2)}\n" in pinned
    # What changed this night, and what in total?
    assert f"| `{SETTINGS}` | updated |" in section(night, "### Changed") and "1 deleted" in night and "~" not in night
    assert "`value`: `false` → `true`" in changes and "deleted `search-bar`" in changes
    assert re.search(r"^\| `main/themes` \|.* \| none → [\d.]+ KiB \| ", changes, re.MULTILINE), changes
    # What was added and removed, and why?
    assert "- New: `main/themes`\n" in changes
    assert f"- Removed: `{HINTS}` (no longer listed in `dumps.yaml`)" in changes
    # What breaks an app, and what else changes?
    assert "corners" in section(body, "## Type breaks: change the app before you merge") and body.index("## Type breaks") < body.index("## This night")
    assert "- changed `Sources/App/Dumps.swift`" in section(changes, "### Files generated from the dumps")
    # How can a reviewer verify it?
    assert "rsdump diff git:origin/main dumps --dumps dumps" in section(body, "## Check it yourself")
    errors = [line for line in night.splitlines() if line.startswith("**Error:**")]
    assert errors == [f"**Error:** Signature failure: no valid signature for `{LARGE}`",
                      f"**Error:** could not refresh `{ICONS}`, `main/tracking-list`; see the reasons below"]


def test_type_break_is_annotated(several):
    nightly, _, run = several
    assert "Type breaks: change the app before you merge" in run.summary and "record circle" in run.summary
    again = nightly.run("--before-commit", "true", "--also", "Sources", env={"GITHUB_ACTIONS": "true"})
    assert "::warning title=Remote Settings dumps::Type break: `Sources/App/Dumps.swift`: `main/shapes" in again.out, str(again)
