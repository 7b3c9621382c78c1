"""rsdump serve and clients that ask for a large answer and take nothing of it: what they cost, and how long others wait.

    untaken.py [--clients N] [--addresses N] [--targets NAME...]

Each row is a server of its own. Its memory is that of the whole process: before, and at most while they came and for some
seconds after. Others ask all the while on connections of their own, one after another; they wait for the first byte.
"""
import argparse
import collections
import multiprocessing
import pathlib
import re
import resource
import socket
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Integration"))

from publishing import LargeFiles
from serve import Serving

SECONDS_AFTER = 5


def head(target):
    return f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def take_nothing(address, target, count, addresses, pipe):
    connections = []
    for index in range(count):
        number = index % addresses
        connection = socket.socket()
        connection.bind((f"127.7.{number // 250}.{1 + number % 250}", 0))
        connection.connect(address)
        connection.sendall(head(target))
        connections.append(connection)
    pipe.send("all")
    pipe.recv()


def first_byte(serving, target):
    began = time.monotonic()
    with serving.connect("127.8.0.1") as connection:
        connection.sendall(head(target))
        status = connection.recv(1 << 16)[9:12].decode()
    return time.monotonic() - began, status


def kernel():
    """What the system keeps for all connections of this machine, in MiB."""
    text = pathlib.Path("/proc/net/sockstat").read_text()
    return int(re.search(r"TCP:.* mem (\d+)", text)[1]) * resource.getpagesize() / (1 << 20)


def measure(dumps, name, targets, arguments):
    with Serving("--dumps", dumps) as serving:
        for target in targets.values():
            serving.ask(target)
        before, kernel_before = serving.memory(), kernel()
        ours, theirs = multiprocessing.Pipe()
        takers = multiprocessing.Process(
            target=take_nothing, daemon=True,
            args=((serving.host, serving.port), targets[name], arguments.clients, arguments.addresses, theirs))
        takers.start()
        waits, statuses = collections.defaultdict(list), collections.Counter()
        kernel_most, end = 0, None
        while end is None or time.monotonic() < end:
            if end is None and ours.poll():
                end = time.monotonic() + SECONDS_AFTER
            for other in ("root", "changeset", name):
                wait, status = first_byte(serving, targets[other])
                # With the clients that take nothing all there, and while they came.
                waits[other, end is not None].append(wait)
                statuses[status] += 1
            kernel_most = max(kernel_most, kernel())
            time.sleep(0.05)
        peak = serving.memory("VmHWM")
        open_connections, untaken = serving.metric("rsdump_connections "), serving.metric("rsdump_untaken_bytes ")
        takers.terminate()
        takers.join()
        longest = [
            "; ".join(f"{max(waits[other, later], default=0):.2f}" for other in dict.fromkeys(("root", "changeset", name)))
            for later in (False, True)]
        print(f"| {name} | {open_connections} | {before:.0f} | {peak:.0f} | {untaken / (1 << 20):.0f} | "
              f"{kernel_most - kernel_before:.0f} | {longest[0]} | {longest[1]} | {dict(statuses)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=5_000)
    parser.add_argument("--addresses", type=int, default=250)
    parser.add_argument(
        "--targets", nargs="+", choices=("root", "stored", "deflated", "changeset"),
        default=("root", "stored", "deflated", "changeset"))
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with tempfile.TemporaryDirectory() as folder:
        large = LargeFiles(pathlib.Path(folder))
        targets = {"root": "/v1/", **large.targets}
        print(f"{arguments.clients} clients from {arguments.addresses} addresses. Longest waits are in seconds, for the root "
              "document, a changeset, and what they ask for.\n\n| they ask for | open | MiB before | at most | untaken | "
              "the system's | longest wait while they come | when all are there | answers to others |\n"
              "| --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
        for name in arguments.targets:
            measure(large.dumps.path, name, targets, arguments)


if __name__ == "__main__":
    main()
