"""Alternating runs of commands, as a table."""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

MEASURE = pathlib.Path(__file__).resolve().parent.parent / "Servers/measure.py"


def run_measured(command, *, name=None):
    """Runs a command, discards its output, and returns its wall and CPU seconds and its peak memory in bytes."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as result:
        finished = subprocess.run(
            [sys.executable, "-I", "-S", MEASURE, result.name, *map(str, command)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        measured = json.load(result)
    if measured["code"] != 0:
        raise RuntimeError(f"{name or command} failed with {measured['code']}:\n{finished.stdout[-4000:]}")
    return measured


class Row:
    """A command in a table. `command(folder)` returns its arguments; the folder is new, or the result of `prepare`."""

    def __init__(self, name, command, prepare=None):
        self.name, self.command, self.prepare = name, command, prepare
        self.runs = []

    def median(self, key):
        return statistics.median(run[key] for run in self.runs)

    def run(self, scratch):
        folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
        if self.prepare:
            folder = self.prepare(folder)
        measured = run_measured(self.command(folder), name=self.name)
        self.runs.append(measured)


def measure(rows, runs, scratch):
    """Runs the rows alternately, once to warm up and then `runs` times."""
    for number in range(runs + 1):
        for row in rows:
            row.run(scratch)
            if number == 0:
                row.runs.clear()


def spread(values, scale, digits):
    numbers = (min(values), statistics.median(values), max(values))
    return " / ".join(f"{number * scale:.{digits}f}" for number in numbers)


def render(title, rows, baseline):
    """A Markdown table. The ratio compares each median wall time with that of the row named `baseline`."""
    base = next(statistics.median(run["wall"] for run in row.runs) for row in rows if row.name == baseline)
    lines = [
        f"### {title}", "",
        f"min / median / max of {len(rows[0].runs)} alternating runs", "",
        f"| | wall ms | CPU ms | peak MiB | × {baseline} |", "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        wall, cpu, peak = ([run[key] for run in row.runs] for key in ("wall", "cpu", "peak"))
        ratio = statistics.median(wall) / base
        lines.append(
            f"| {row.name} | {spread(wall, 1000, 1)} | {spread(cpu, 1000, 1)} | {spread(peak, 1 / (1 << 20), 1)} "
            f"| {ratio:.2f} |")
    return "\n".join(lines) + "\n"
