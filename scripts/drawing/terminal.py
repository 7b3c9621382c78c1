"""What rsdump and scripts/nightly print, as SVG: a terminal's text with its colours, and the text of a pull request.

The records are those of dumps/, which came with Firefox ESR. They are published to a server on this machine, first with two
collections as they might have been before (EARLIER), later as they are. The clock is moved, so that ages and dates are always
the same. Sizes may differ by some bytes from run to run, because signatures do, so a kept picture may have other sizes.
"""
import contextlib
import datetime
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request
import zipfile

from drawing.canvas import MONO_WIDTH, Canvas, text_width

ROOT = pathlib.Path(__file__).resolve().parents[2]
RSDUMP = pathlib.Path(os.environ.get("RSDUMP", ROOT / ".build/debug/rsdump"))
COLLECTIONS = ("main/devtools-devices", "main/language-dictionaries", "main/password-rules")
PUBLISHED, REFRESHED, CHANGED, NOW = (
    f"2026-{time}Z" for time in ("10-19T02:00:00", "10-19T03:00:00", "11-25T10:00:00", "11-26T06:00:00"))
# Where a terminal breaks a line.
COLUMNS = 150
# A size in a line of text, which may differ by some bytes.
SIZE = re.compile(r"\d+(\.\d+)? ([KM]i)?B\b")
COLOURS = {"31": "bad", "32": "good", "33": "care", "2": "soft"}


def earlier(name, records):
    """A collection as it might have been before: each has one record less, and one has another rule."""
    if name == "main/language-dictionaries":
        return [record for record in records if record["id"] != "xh"]
    if name == "main/password-rules":
        records = [record for record in records if record["Domain"] != "klm.com"]
        return [{**record, "password-rules": "minlength: 8;"} if record["Domain"] == "twitch.tv" else record
                for record in records]
    return records


def compiler():
    return shutil.which("clang") or shutil.which("cc")


def why_not():
    """What is missing, or nothing. A build that is older than a source cannot be used, because it may print something else."""
    if not RSDUMP.is_file():
        return f"without {RSDUMP.name}"
    if not compiler() or not shutil.which("git"):
        return "without a C compiler and git"
    if "RSDUMP" not in os.environ:
        newest = max((ROOT / "Sources").rglob("*.swift"), key=lambda path: path.stat().st_mtime)
        if newest.stat().st_mtime > RSDUMP.stat().st_mtime:
            return f"as {newest.relative_to(ROOT)} is newer than {RSDUMP.relative_to(ROOT)}"
    return ""


class Scene:
    """A directory for the scene, with rsdump under a moved clock, and a server."""

    def __init__(self, folder):
        self.folder = folder
        self.clock = folder / "clock.so"
        subprocess.run(
            [compiler(), "-shared", "-fPIC", "-o", self.clock, ROOT / "Tests/Servers/clock/shifted_clock.c"], check=True)
        tools = folder / "tools"
        tools.mkdir()
        (tools / "gh").write_text('#!/bin/sh\n[ "$2" = list ] || echo https://github.com/example/app/pull/1\n')
        (tools / "gh").chmod(0o755)
        (tools / "rsdump").symlink_to(RSDUMP.resolve())
        names = {"PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(folder), "LANG": "C.UTF-8", "TERM": "xterm-256color",
                 "LD_PRELOAD": str(self.clock), "SHIFTED_CLOCK": str(folder / "shift"), "GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC"}
        for role in ("AUTHOR", "COMMITTER"):
            names |= {f"GIT_{role}_NAME": "Nightly", f"GIT_{role}_EMAIL": "nightly@example.com"}
        self.environment = names
        self.move(PUBLISHED)

    def move(self, moment):
        seconds = datetime.datetime.fromisoformat(moment).timestamp() - time.time()
        (self.folder / "shift").write_text(str(int(seconds)))

    def run(self, *command, cwd=".", codes=(0,)):
        """Runs a command without a terminal, and returns its output."""
        done = subprocess.run(
            command, cwd=self.folder / cwd, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode not in codes:
            raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def colored(self, *command, cwd="."):
        """Runs a command on a terminal, and returns its output."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            command, cwd=self.folder / cwd, env=self.environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.STDOUT)
        os.close(theirs)
        output = b""
        with contextlib.suppress(OSError):
            while piece := os.read(ours, 65536):
                output += piece
        os.close(ours)
        process.wait()
        text = output.decode().replace("\r\n", "\n").rstrip("\n")
        if str(self.folder) in text:
            raise RuntimeError(f"{' '.join(command)} shows the temporary directory:\n{text}")
        return text

    def publish(self, moment, change=lambda name, records: records):
        self.move(moment)
        for name in COLLECTIONS:
            with zipfile.ZipFile(ROOT / f"dumps/{name}.zip") as bundle:
                records = json.loads(bundle.read("records.json"))["data"]
            for record in records:
                del record["last_modified"]
            path = self.folder / f"sources/{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(change(name, records)))
        self.run("rsdump", "publish", "--dumps", "origin", "--keys", "keys", "--no-catalogue", "--at", moment)

    @contextlib.contextmanager
    def serving(self):
        server = subprocess.Popen(
            ["rsdump", "serve", "--dumps", "origin", "--watch", "--port", "0"], cwd=self.folder, env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
            server.wait(timeout=60)
            server.stdout.close()


def monitor(address):
    with urllib.request.urlopen(f"{address}/v2/buckets/monitor/collections/changes/changeset?_expected=0", timeout=30) as answer:
        return answer.read()


def outputs():
    """What the pictures show: the texts of status, diff and the pull request."""
    with tempfile.TemporaryDirectory(prefix="pictures-") as name:
        scene = Scene(pathlib.Path(name))
        scene.run("rsdump", "keys", "create", "keys")
        root = re.search(r"^trust-root (\w+)", scene.run("rsdump", "keys", "status", "keys"), re.MULTILINE)[1]
        scene.publish(PUBLISHED, earlier)
        with scene.serving() as address:
            for command in ("git init -q --bare remote.git", "git clone -q remote.git app"):
                scene.run(*command.split())
            scene.move(REFRESHED)
            scene.run("rsdump", "add", *COLLECTIONS, "--server", f"{address}/v2", "--trust-root", root, cwd="app")
            scene.run("rsdump", "refresh", cwd="app")
            for command in ("checkout -q -b main", "add .", "commit -q -m dumps", "push -q -u origin main"):
                scene.run("git", *command.split(), cwd="app")
            before = monitor(address)
            scene.publish(CHANGED)
            for _ in range(300):
                if monitor(address) != before:
                    break
                time.sleep(0.1)
            scene.move(NOW)
            status = scene.colored("rsdump", "status", cwd="app")
            diff = scene.colored("rsdump", "diff", "dumps", "server", cwd="app")
            scene.run(ROOT / "scripts/nightly", "--base", "main", cwd="app")
        bodies = list((scene.folder / "app/.git/rsdump-nightly").rglob("body.md"))
        if len(bodies) != 1:
            raise RuntimeError(f"scripts/nightly has written {len(bodies)} texts of a pull request, expected one")
        body = bodies[0].read_text()
    return status, diff, re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8888", body)


def spans(text):
    """The pieces of a terminal's line, each with its colour."""
    colour = "ink"
    for piece in re.split(r"(\x1b\[\d*m)", text):
        if piece.startswith("\x1b"):
            colour = COLOURS.get(piece[2:-1], "ink")
        elif piece:
            yield piece, colour


def screen(title, description, command, text):
    """A terminal with a command and what it prints, each line broken at the terminal's width."""
    size, step = 13, 19
    cell = size * MONO_WIDTH
    rows = [[("$ ", "soft"), (command, "ink")]]
    for line in text.split("\n"):
        row, column = [], 0
        for piece, colour in spans(line):
            while piece:
                part, piece = piece[:COLUMNS - column], piece[COLUMNS - column:]
                row.append((part, colour))
                column += len(part)
                if column == COLUMNS and piece:
                    rows.append(row)
                    row, column = [], 0
        rows.append(row)
    widest = max(sum(len(piece) for piece, _ in row) for row in rows)
    c = Canvas(widest * cell + 44, 32 + step * len(rows), title, description)
    for index, row in enumerate(rows):
        column = 0
        for piece, colour in row:
            # Spaces only move the position, so that columns are straight in any font.
            for word in re.finditer(r"\S+(?: \S+)*", piece):
                is_command = index == 0 and colour == "ink"
                c.cells(22 + (column + word.start()) * cell, 30 + step * index, word[0], size, colour, bold=is_command)
            column += len(piece)
    return c


def markdown(title, description, heading, text, width=980):
    """The text of a pull request, with as much of Markdown as it uses."""
    c = Canvas(width, 10000, title, description)
    c.text(30, 42, heading, 19, bold=True)
    c.path([(30, 58), (width - 30, 58)], "line", arrow=False)
    y = 84
    rows = text.replace("<details><summary>", "> ").replace("</summary>", "").split("\n")
    while rows:
        row = rows.pop(0)
        if row.startswith("|"):
            table = [row]
            while rows and rows[0].startswith("|"):
                table.append(rows.pop(0))
            y = draw_table(c, y, table)
        elif row.startswith("> "):
            c.text(30, y, f"▸ {row[2:]}", 14, "ink")
            break
        elif row.startswith("#"):
            level = len(row) - len(row.lstrip("#"))
            y += 8
            flow(c, 30, y, row.lstrip("# "), 18 if level < 4 else 15, width - 60, bold=True)
            y += 28
        elif row.lstrip().startswith("- "):
            indent = len(row) - len(row.lstrip())
            x = 44 + 11 * indent
            c.text(x, y, "•" if not indent else "◦", 14, "soft")
            y = flow(c, x + 16, y, row.lstrip()[2:], 14, width - x - 46) + 24
        elif row:
            y = flow(c, 30, y, row, 14, width - 60) + 26
        elif rows:
            y += 3
    c.height = y + 26
    return c


def pieces(text):
    """The words of a line of Markdown, each with whether it is code. Code is also broken between words."""
    for part in re.split(r"(`[^`]*`)", text):
        is_code = part.startswith("`") and len(part) > 1
        yield from ((word, is_code) for word in re.findall(r"\S+\s*|\s+", part.strip("`") if is_code else part))


def flow(c, x, y, text, size, width, bold=False):
    """Text with code in it, broken at the width. Returns the baseline of its last line."""
    at, run, start = x, "", x
    line, code_runs = [], []

    def end_run(is_code):
        nonlocal run, start
        if run.strip():
            line.append((start, run.rstrip(), is_code))
        run = ""

    def draw():
        for begin, words, is_code in line:
            if is_code:
                c.box(begin - 3, y - size, text_width(words, size - 1, mono=True) + 6, size + 6, "wash", None, 4)
            c.text(begin, y, words, size - 1 if is_code else size, mono=is_code, bold=bold and not is_code)
        line.clear()

    was_code = None
    for word, is_code in pieces(text):
        taken = text_width(word.rstrip(), size - is_code, bold and not is_code, is_code)
        if was_code is not None and is_code != was_code:
            end_run(was_code)
            at += 5
            start = at
        if at + taken > x + width:
            end_run(is_code)
            draw()
            y += size + 8
            at = start = x
        if not run:
            start = at
        run += word
        at += text_width(word, size - is_code, bold and not is_code, is_code)
        was_code = is_code
    end_run(was_code)
    draw()
    return y


def draw_table(c, y, rows):
    """A table of Markdown. Returns the baseline of what follows."""
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    ranged = ["end" if cell.endswith(":") else "start" for cell in cells[1]]
    cells = [cells[0], *cells[2:]]
    widths = [max(text_width(row[column].strip("`"), 13.5, row is cells[0], "`" in row[column]) for row in cells) + 24
              for column in range(len(ranged))]
    top = y - 18
    for index, row in enumerate(cells):
        x, base = 30, top + 30 * index + 20
        for cell, width, side in zip(row, widths, ranged):
            c.box(x, top + 30 * index, width, 30, "raised", "line", 0)
            is_code = cell.startswith("`")
            if cell:
                c.text(x + 12 if side == "start" else x + width - 12, base, cell.strip("`"), 13 if is_code else 13.5,
                       anchor=side, bold=index == 0, mono=is_code)
            x += width
    return top + 30 * len(cells) + 30


def pictures():
    """Each picture by its name. All texts come from one run."""
    status, diff, body = outputs()
    plain = re.sub(r"\x1b\[\d*m", "", status)
    counts = re.sub(r"\x1b\[\d*m", "", diff).split("\n")[-1]
    return {
        "status": screen("rsdump status in a terminal", (
            f"rsdump status prints a line for each collection: the bundle's timestamp, the server's, the age, the size, and what a "
            f"refresh would do. {plain}"), "rsdump status", status),
        "diff": screen("rsdump diff in a terminal", (
            f"rsdump diff dumps server prints what a refresh would change, record by record and field by field; what is new is "
            f"green, what is gone is red, what changed is yellow. {counts}."), "rsdump diff dumps server", diff),
        "pull-request": markdown("The text of a nightly pull request", (
            "scripts/nightly opens a pull request with the title Update Remote Settings dumps. Its text has a table of the changed "
            "collections with the numbers of records before and after, and then each created, updated and deleted record with its "
            "fields."), "Update Remote Settings dumps", body),
    }
