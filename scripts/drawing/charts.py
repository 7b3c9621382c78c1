"""The charts of Benchmarks.md, from Tests/Benchmark/results and Tests/Benchmark/size.json."""
import csv
import json
import math
import pathlib
import re

from drawing.canvas import Canvas, text_width

BENCHMARK = pathlib.Path(__file__).resolve().parents[2] / "Tests/Benchmark"


def table(name):
    """The rows of a table by their first cell. Each is a mapping of headings to texts."""
    with open(BENCHMARK / f"results/{name}.csv", encoding="utf-8", newline="") as file:
        first, *rest = csv.reader(line for line in file if not line.startswith("#"))
    return {row[0]: dict(zip(first[1:], row[1:])) for row in rest}


def quantity(text, unit=None):
    """The first number of a text, or the one before a unit."""
    found = re.search(rf"([\d,]+\.?\d*) ?{re.escape(unit)}" if unit else r"([\d,]+\.?\d*)", text)
    if not found:
        raise ValueError(f"expected a number{f' in {unit}' if unit else ''}, found {text!r}")
    return float(found[1].replace(",", ""))


def bars(title, subtitle, rows, unit, description, width=860, label=330):
    """Horizontal bars, one below the other: (label, value, colour)."""
    c = Canvas(width, 74 + 34 * len(rows), title, description)
    c.text(20, 30, title, 15.5, bold=True)
    c.text(20, 51, subtitle, 12.5, "soft")
    most = max(value for _, value, _ in rows)
    for index, (name, value, colour) in enumerate(rows):
        y = 66 + 34 * index
        length = max(2, (width - label - 110) * value / most)
        c.text(label - 12, y + 18, name, 13, "ink", "end", fits=label - 26)
        c.box(label, y + 3, length, 22, colour, None, 3)
        c.text(label + length + 8, y + 18, f"{value:g} {unit}", 13, "ink", bold=True)
    return c


def grouped(title, subtitle, series, groups, unit, description, width=860, label=230, mark=None):
    """Groups of horizontal bars, one bar for each series: (label, [values])."""
    height = 98 + len(groups) * (18 * len(series) + 16)
    c = Canvas(width, height, title, description)
    c.text(20, 30, title, 15.5, bold=True)
    c.text(20, 51, subtitle, 12.5, "soft")
    x = label
    for name, colour in series:
        c.box(x, 64, 12, 12, colour, None, 2)
        c.text(x + 18, 75, name, 12.5)
        x += 44 + text_width(name, 12.5)
    most = max(value for _, values in groups for value in values)
    scale = (width - label - 100) / most
    if mark:
        value, text = mark
        c.path([(label + scale * value, 100), (label + scale * value, height - 14)], "bad", arrow=False, dashed=True, width=1.2)
        c.text(label + scale * value, 95, text, 12, "bad", "middle")
        marked = label + scale * value
    y = 106
    for name, values in groups:
        c.text(label - 12, y + 9 * len(series) + 4, name, 13, "ink", "end", fits=label - 26)
        for (_, colour), value in zip(series, values):
            length = max(2, scale * value)
            c.box(label, y, length, 14, colour, None, 2)
            at = label + length + 7
            text = f"{value:g} {unit}"
            # The number must not be on the mark.
            if mark and at - 4 < marked < at + text_width(text, 12) + 4:
                at = marked + 7
            c.text(at, y + 12, text, 12)
            y += 18
        y += 16
    return c


def reads():
    found = table("reads")
    rows = [
        ("embedded, stored", "embedded, stored", "accent"), ("embedded, deflated", "embedded, deflated", "accent"),
        ("cached, verified again", "cache after a sync, signature and chain verified again", "accent"),
        ("directory, verified", "directory, verified", "accent")]
    values = [(name, quantity(found[key]["here"], "ms"), colour) for name, key, colour in rows]
    beside = quantity(found["embedded, stored"]["beside it"], "ms")
    values.append(("JSONDecoder, two members a record", beside, "rule"))
    told = "; ".join(f"{name}: {value:g} ms" for name, value, _ in values)
    return bars("First getRecords: 1,908 records (1.2 MB)", "milliseconds in a running process, less is better", values, "ms",
                f"{told}. Tests/Benchmark/results/reads.csv has the numbers.")


def link():
    found = table("link-cold")
    names = [
        ("curl, HTTP/2, one connection", "curl --parallel --http2, one connection", "rule"),
        ("rsdump refresh, HTTP/2, one connection", "rsdump refresh: HTTP/2, one connection", "accent"),
        ("curl, HTTP/1.1, 8 connections", "curl --parallel --parallel-max 8, HTTP/1.1", "rule"),
        ("an earlier rsdump, HTTP/1.1, 8 connections", "rsdump refresh before: HTTP/1.1, 8 connections", "accent")]
    rows = [(name, float(found[key]["least / median / most"].split("/")[1]), colour) for name, key, colour in names]
    told = "; ".join(f"{name}: {value:g} s" for name, value, _ in rows)
    return bars("First refresh of 31 collections",
                "seconds for 2,816 requests and 24.4 MB over TLS, on a link of 20 ms and 100 Mbit/s", rows, "s",
                f"{told}. Medians of five runs. Tests/Benchmark/results/link-cold.csv has the numbers.", label=350)


def memory():
    found = table("process-linking")
    columns = ["as SwiftPM links", "flags", "ordered"]
    groups = [(name, [quantity(row[column]) for column in columns]) for name, row in found.items()]
    told = "; ".join(f"{name}: {' / '.join(f'{value:g}' for value in values)} MiB" for name, values in groups)
    series = [("as SwiftPM links", "rule"), ("with flags of the linker", "accent"), ("and functions in order", "good")]
    return grouped("Peak memory of a process that reads records",
                   "MiB of the whole process on Linux, by what it reads and how it is linked",
                   series, groups, "MiB", f"{told}: as SwiftPM links, with flags, and with functions in order. "
                   "The goal is 12 MiB. Tests/Benchmark/results/process-linking.csv has the numbers.", mark=(12, "goal: 12 MiB"))


# To which group a target belongs that an app links.
LIBRARIES = {"Cryptography and certificates": ("Crypto", "CCrypto", "CXKCP", "X509", "_C", "SwiftASN1"), "Logging": ("Logging",)}


def size():
    kept = json.loads((BENCHMARK / "size.json").read_text())["bytes"]
    groups = []
    for name, program in (("RemoteSettings", "rsbench-app"), ("and RemoteConfiguration", "config-example")):
        sums = {"own": 0, **dict.fromkeys(LIBRARIES, 0)}
        for target, count in kept[program].items():
            owner = next((each for each, starts in LIBRARIES.items() if target.startswith(starts)), "own")
            sums[owner] += count
        groups.append((name, [round(sums[each] / 1e6, 1) for each in ("own", "Cryptography and certificates", "Logging")]))
    told = "; ".join(f"{name}: {' / '.join(f'{value:g}' for value in values)} MB" for name, values in groups)
    series = [("this package", "accent"), ("cryptography and certificates", "rule"), ("swift-log", "care")]
    return grouped("What an app grows by", "MB of code and data with -Osize; Swift's libraries do not count",
                   series, groups, "MB", f"{told}, of this package, of cryptography and certificates, and of swift-log. "
                   "Tests/Benchmark/size.json has the numbers.")


def git():
    found = table("nights")
    groups = [(f"{changes} changed records", [quantity(found[changes][column]) for column in (
        "deflate, git gc", "stored, git gc")]) for changes in ("1", "8", "100")]
    groups[0] = ("1 changed record", groups[0][1])
    told = "; ".join(f"{name} a night: {values[0]:g} MB deflated, {values[1]:g} MB stored" for name, values in groups)
    return grouped("What 30 nights cost in git",
                   "MB of .git after git gc; one collection of 5,000 records, by what changes each night",
                   [("compression: deflate (default)", "accent"), ("compression: stored", "good")], groups, "MB",
                   f"{told}. Tests/Benchmark/results/nights.csv has the numbers.")


def growth():
    found = table("scale-records")
    sizes = ["100", "1,000", "10,000", "100,000", "1,000,000"]
    lines = [("sync of one change", "sync of one change", "care"), ("verify", "rsdump verify", "bad"),
             ("first read, packaged", "first read, packaged", "accent"), ("first read, synced", "first read, cached", "good")]
    told = "; ".join(f"{name}: {', '.join(quantity_text(found[key][size]) for size in sizes)} s" for key, name, _ in lines)
    c = Canvas(860, 380, "CPU time as a collection grows", (
        f"CPU seconds with {', '.join(sizes)} records. {told}. Tests/Benchmark/results/scale-records.csv has the numbers."))
    c.text(20, 30, c.title, 15.5, bold=True)
    c.text(20, 51, "CPU seconds of a whole process, by the number of records (170 bytes each); both axes are logarithmic",
           12.5, "soft")
    left, right, top, bottom = 70, 610, 76, 330
    across = lambda size: left + (right - left) * (math.log10(float(size.replace(",", ""))) - 2) / 4
    up = lambda value: bottom - (bottom - top) * (math.log10(value) + 2) / 2.5
    for value in (0.01, 0.1, 1):
        c.path([(left, up(value)), (right, up(value))], "line", arrow=False, width=1)
        c.text(left - 10, up(value) + 4, f"{value:g}", 12, "soft", "end")
    for size in sizes:
        c.text(across(size), bottom + 24, size, 12, "soft", "middle")
    for size in sizes:
        c.path([(across(size), bottom), (across(size), bottom + 6)], "rule", arrow=False, width=1)
    c.path([(left, bottom), (right, bottom)], "rule", arrow=False, width=1)
    c.text((left + right) / 2, bottom + 44, "records in one collection", 12.5, "soft", "middle")
    taken = []
    for key, name, colour in lines:
        points = [(across(size), up(quantity(found[key][size]))) for size in sizes]
        c.path(points, colour, arrow=False, width=2.4)
        at = points[-1][1] + 4
        while any(abs(at - other) < 20 for other in taken):
            at += 1
        taken.append(at)
        c.text(right + 14, at, f"{name}: {quantity(found[key][sizes[-1]]):g} s", 12.5, colour, bold=True)
    return c


def quantity_text(text):
    return f"{quantity(text):g}"
