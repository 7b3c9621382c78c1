"""An update channel on nginx with nchan, under load.

    updates_nchan.py [--connections N] [--rounds N]

Publishes a mirror of a sample collection, serves it by nginx with Examples/nginx/mirror.conf and one worker, opens the connections from one process on the same machine, which takes its share of the same cores, posts a change
in each round, and prints one line of JSON: memory for each connection (proportional set size of nginx's processes, without
the kernel's socket buffers) and the time from the POST to the arrival, over all connections and rounds. RSDUMP names another
rsdump; .build/debug/rsdump by default.
"""
import argparse
import json
import pathlib
import resource
import select
import socket
import sys
import tempfile
import time
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("Integration", "Servers", "Servers/origin"):
    sys.path.insert(0, str(HERE.parent / folder))

from mirror import UpdatesMirror
from publishing import Team

# As the library asks: nginx hands these readers no second hop.
REQUEST = ("GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: text/event-stream\r\nAccept-Encoding: identity\r\n"
           "Cache-Control: no-store\r\n\r\n")
AT_ONCE = 100    # connections that are being opened
TIMEOUT = 120


def allow_files(count):
    """Raises the limit on open files; returns the number of connections that fit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + 200
    if hard != resource.RLIM_INFINITY and hard < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
        except (ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            return hard - 200
    else:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return count


def processes(pid):
    """The process and everything that it started."""
    found = [pid]
    for each in found:
        for children in pathlib.Path(f"/proc/{each}/task").glob("*/children"):
            found += map(int, children.read_text().split())
    return found


def memory(pid):
    """Bytes that the process and its children hold; shared pages count once."""
    total = 0
    for each in processes(pid):
        for line in pathlib.Path(f"/proc/{each}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) << 10
    return total


class Fleet:
    """`count` connections to an event stream."""

    def __init__(self, url, count):
        parts = urllib.parse.urlsplit(url)
        self.address = (parts.hostname, parts.port)
        self.request = REQUEST.format(path=parts.path, host=parts.netloc).encode()
        self.poll = select.epoll()
        self.sockets, self.tails = {}, {}
        for start in range(0, count, AT_ONCE):
            self._open(min(AT_ONCE, count - start))

    def _open(self, count):
        fresh = set()
        for _ in range(count):
            connection = socket.create_connection(self.address, timeout=TIMEOUT)
            connection.sendall(self.request)
            connection.setblocking(False)
            self.sockets[connection.fileno()] = connection
            self.tails[connection.fileno()] = b""
            self.poll.register(connection.fileno(), select.EPOLLIN)
            fresh.add(connection.fileno())
        self._wait(b" 200 ", fresh)

    def wait(self, marker):
        """The times at which the marker reached each connection."""
        return self._wait(marker, set(self.sockets))

    def _wait(self, marker, missing):
        times, end = [], time.monotonic() + TIMEOUT
        while missing:
            assert time.monotonic() < end, f"{len(missing)} connections did not get {marker}"
            for descriptor, _ in self.poll.poll(1):
                piece = self.sockets[descriptor].recv(1 << 16)
                assert piece, "the server has ended a connection"
                text = self.tails[descriptor] + piece
                if descriptor in missing and marker in text:
                    missing.discard(descriptor)
                    times.append(time.time())
                self.tails[descriptor] = text[-200:]
        return times

    def close(self):
        for connection in self.sockets.values():
            connection.close()


def measure(url, count, pid, publish, rounds=5):
    """`publish(number)` makes a change, and returns its time and the bytes by which it is known in the stream."""
    before = memory(pid)
    began = time.monotonic()
    fleet = Fleet(url, count)
    opened = time.monotonic() - began
    time.sleep(1)
    held = memory(pid)
    latencies = []
    for number in range(rounds):
        start, marker = publish(number)
        latencies += [moment - start for moment in fleet.wait(marker)]
        time.sleep(0.5)
    peak = memory(pid)
    fleet.close()
    latencies.sort()
    return {
        "connections": count, "opened_s": round(opened, 2), "bytes_each": round((held - before) / count),
        "bytes_each_after": round((peak - before) / count), "rounds": rounds,
        **{f"{name}_ms": round(1000 * latencies[min(len(latencies) - 1, int(len(latencies) * share))], 1)
           for name, share in (("p50", 0.5), ("p99", 0.99), ("longest", 1))},
    }


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--connections", type=int, default=5000)
parser.add_argument("--rounds", type=int, default=5)


class Mirror(UpdatesMirror):
    """With room for many connections: nginx ends waiting ones where fewer than a sixteenth are free."""

    def __init__(self, folder, connections):
        super().__init__(folder)
        self.room = connections * 5 // 4 + 100

    def configuration(self, user):
        return super().configuration(user).replace(
            "events { worker_connections 1024; }",
            f"worker_rlimit_nofile {self.room + 100};\nevents {{ worker_connections {self.room}; }}")


def main():
    options = parser.parse_args()
    connections = allow_files(options.connections)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        team = Team(folder)
        team.publish()
        mirror = Mirror(folder / "nginx", connections)
        mirror.publish(team.dumps)

        def publish(number):
            body = f'{{"timestamp":{1_800_000_000_000 + number}}}'.encode()
            request = urllib.request.Request(
                mirror.publisher, body, {"X-EventSource-Event": "update"})
            start = time.time()
            urllib.request.urlopen(request, timeout=60).close()
            return start, body

        with mirror:
            try:
                measured = measure(
                    f"{mirror.origin}/v1/updates", connections, mirror.process.pid, publish, options.rounds)
            except (AssertionError, OSError):
                print((mirror.folder / "error.log").read_text()[-3000:], file=sys.stderr)
                raise
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
