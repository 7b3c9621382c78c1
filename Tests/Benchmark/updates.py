"""Measures rsdump serve with many waiting connections on loopback: memory, time to notify all, and other requests meanwhile.

    updates.py [--streams N] [--changes N]

Each client process has thousands of connections from different addresses in 127/8, because one address has too few ports. The
clients share the server's cores, so the times are upper bounds. A change's time starts when the first client is notified, or when
the publishing request is answered, whichever comes first.
"""
import argparse
import contextlib
import multiprocessing
import pathlib
import resource
import selectors
import socket
import statistics
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Integration"))

from serve import Serving

PROCESSES = 2
EVENTS = b"GET /v2/updates HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"


def hold(serving, number, count, pipe):
    """Keeps connections open. For each event text it receives, returns the times at which the connections were notified."""
    selector = selectors.DefaultSelector()
    connections, opened = {}, time.monotonic()

    def receive(connection):
        part = connection.recv(1 << 16)
        if not part:
            raise SystemExit("the server has ended a connection")
        connections[connection] += part

    for index in range(count):
        connection = socket.socket()
        connection.bind((f"127.{1 + number}.{index // 200}.{1 + index % 200}", 0))
        connection.connect(serving)
        connection.sendall(EVENTS)
        connections[connection] = bytearray()
        selector.register(connection, selectors.EVENT_READ)
    needle, times = b"event: update", []
    waiting = {connection for connection, buffer in connections.items() if needle not in buffer}
    pipe_key = selector.register(pipe, selectors.EVENT_READ)
    while True:
        if not waiting and needle is not None:
            pipe.send((time.monotonic() - opened, times))
            needle = None
        for key, _ in selector.select():
            if key is pipe_key:
                message = pipe.recv()
                if message is None:
                    return
                needle, waiting, times = message, set(connections), []
                for buffer in connections.values():
                    buffer.clear()
                pipe.send("ready")
                continue
            connection = key.fileobj
            receive(connection)
            now = time.monotonic()
            buffer = connections[connection]
            if needle is not None and needle in buffer and connection in waiting:
                waiting.discard(connection)
                times.append(now)
            del buffer[:-256]


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def milliseconds(seconds):
    return f"{seconds * 1000:.0f} ms"


def ask_repeatedly(serving, stop, times):
    """Other clients, which repeatedly request a collection."""
    while not stop.is_set():
        began = time.monotonic()
        assert serving.changeset("main/settings").status == 200
        times.append(time.monotonic() - began)
        time.sleep(0.005)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=10_000)
    parser.add_argument("--changes", type=int, default=5)
    arguments = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def pipes_of(serving, target, stack):
        pipes = []
        for number in range(PROCESSES):
            ours, theirs = multiprocessing.Pipe()
            count = arguments.streams // PROCESSES + (number < arguments.streams % PROCESSES)
            process = multiprocessing.Process(
                target=target, args=((serving.host, serving.port), number, count, theirs), daemon=True)
            process.start()
            stack.callback(process.terminate)
            pipes.append(ours)
        return pipes

    with Serving("--demo") as serving, contextlib.ExitStack() as stack:
        for _ in range(50):
            serving.ask("/v2/")
        before = serving.memory()
        pipes = pipes_of(serving, hold, stack)
        seconds = max(pipe.recv()[0] for pipe in pipes)
        time.sleep(2)
        kibibytes = (serving.memory() - before) * 1024 / arguments.streams
        found = serving.metric("rsdump_update_streams ")
        assert found == arguments.streams, f"{found} connections wait, expected {arguments.streams}"

        stop, others = threading.Event(), []
        asking = threading.Thread(target=ask_repeatedly, args=(serving, stop, others), daemon=True)
        asking.start()
        latencies = []
        for _ in range(arguments.changes):
            for pipe in pipes:
                pipe.send(b'"collections"')
            assert [pipe.recv() for pipe in pipes] == ["ready"] * PROCESSES
            asked = len(others)
            assert serving.ask("/demo/publish", method="POST").status == 200
            published = time.monotonic()
            told = [each for pipe in pipes for each in pipe.recv()[1]]
            latencies += [each - min(published, *told) for each in told]
            while len(others) < asked + 20:
                time.sleep(0.01)
        stop.set()
        asking.join()
        print(f"| | event stream, {arguments.streams} connections |\n| --- | --- |")
        print(f"| memory each, of the server | {kibibytes:.1f} KiB |")
        print(f"| all connected and told the present in | {seconds:.1f} s |")
        print(f"| a change has reached half; 99 %; all | {milliseconds(percentile(latencies, 0.5))}; "
              f"{milliseconds(percentile(latencies, 0.99))}; {milliseconds(max(latencies))} |")
        print(f"| other requests meanwhile: median; 99 %; most | {milliseconds(statistics.median(others))}; "
              f"{milliseconds(percentile(others, 0.99))}; {milliseconds(max(others))} ({len(others)} requests) |")


if __name__ == "__main__":
    main()
