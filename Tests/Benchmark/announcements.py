"""Announcements that are lost, early, false, doubled or a flood: how long it takes until each follower has what is true.

    announcements.py [--rounds N] [--hours]

A real `rsdump serve --watch`, behind a front that announces whatever it is told to; followers are an app with remote config (the
library, over its own transport and channel) and `rsdump watch --refresh`. The time begins when what is true
can be had: when it is announced, when the connection is cut, when the data is there, when the server answers again. With --hours
an announcement is lost while the connections stay, which `watch` makes up for within 15 minutes, and an app within 4 hours.
"""
import argparse
import contextlib
import json
import pathlib
import statistics
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / folder) for folder in ("Integration", "Servers", "Servers/origin")]

import rsdump
from announcer import FUTURE, Announcer
from dumps import Dumps
from scripted_stream import update
from serve import Serving
from test_real_time import App, Origin
from watching import Watching


class Followers:
    """Notes when each follower has got something new."""

    def __init__(self, stack, origin, front, folder):
        copy = Dumps(folder / "copy")
        assert copy.add(None, "main/app-config", url=f"{front.url}/v1", root=origin.root).code == rsdump.DONE
        self.times = {"app": [], "--refresh": []}
        app = App(origin, f"{front.url}/v2")
        stack.callback(app.process.kill)
        self.follow("app", app.lines.get)
        watching = Watching(f"{front.url}/v1", "--refresh", "--dumps", copy.path)
        stack.callback(watching.process.kill)
        self.follow("--refresh", lambda: self.line(watching))

    def follow(self, name, next):
        def note():
            with contextlib.suppress(Exception):
                while next() is not None:
                    self.times[name].append(time.time())
        threading.Thread(target=note, daemon=True).start()

    @staticmethod
    def line(watching):
        while line := watching.lines.get():
            event = json.loads(line)
            if event["event"] == "refreshed" and event["changed"] != []:
                return event

    def since(self, began, limit, names=("app", "--refresh")):
        """Seconds until each has got something after a moment; `None` for who has not."""
        end = time.time() + limit
        found = {}
        while len(found) < len(names) and time.time() < end:
            for name in names:
                later = [each for each in self.times[name] if each >= began]
                if later:
                    found.setdefault(name, later[0] - began)
            time.sleep(0.02)
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hours", action="store_true", help="wait for what is lost while the connections stay")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        origin = Origin(folder)
        server = stack.enter_context(Serving("--dumps", origin.dumps, "--watch"))
        front = stack.enter_context(Announcer(server.port))
        followers = Followers(stack, origin, front, folder)
        count = 0

        def present():
            path = "/v1/buckets/monitor/collections/changes/changeset?_expected=0"
            return server.ask(path).json()["timestamp"]

        def publish():
            """Publishes, and waits until the server has it."""
            nonlocal count
            before, count = present(), count + 1
            origin.publish(f"state {count}")
            while present() == before:
                time.sleep(0.01)
            return present()

        def as_it_should_be():
            published = publish()
            front.announce(published, "main/app-config")
            return time.time()

        def lost_with_the_connection():
            front.greeting = update(publish())
            front.cut()
            return time.time()

        def early():
            old, previous = folder / f"old{count}", server.port
            Dumps(origin.dumps).copy(old)
            with Serving("--dumps", old) as late:
                front.target = late.port
                published = publish()
                front.announce(published, "main/app-config")
                time.sleep(5)
                front.target = previous
                return time.time()

        def from_the_future():
            for number in range(3):
                front.announce(FUTURE + number)
            time.sleep(2)
            return as_it_should_be()

        def many_false_ones():
            for number in range(20):
                front.announce(FUTURE + 100 + number)
                time.sleep(1)
            return as_it_should_be()

        def while_the_server_fails():
            front.is_failing = True
            front.announce(publish(), "main/app-config")
            time.sleep(5)
            front.is_failing = False
            return time.time()

        def a_flood():
            front.greeting = update(publish())
            began = time.time()
            for number in range(1000):
                front.announce(FUTURE + 1000 + number)
            return began

        def lost():
            publish()
            return time.time()

        print("| announcement | app | `watch --refresh` | requests of both |\n| --- | --- | --- | --- |", flush=True)

        def measure(name, act, rounds, limit):
            found, asked = [], len(front.polls)
            for _ in range(rounds):
                found.append(followers.since(act(), limit))
                # What the last round leaves behind.
                time.sleep(3)
            def cell(follower):
                times = [each[follower] for each in found if follower in each]
                if len(times) < rounds:
                    return f"{len(times)} of {rounds} in {limit} s"
                return f"{statistics.median(times):.1f} s" + (f", at most {max(times):.1f} s" if rounds > 1 else "")
            cells = " | ".join(cell(follower) for follower in ("app", "--refresh"))
            print(f"| {name} | {cells} | {len(front.polls) - asked} |", flush=True)

        time.sleep(15)
        measure("as it should be", as_it_should_be, arguments.rounds, 30)
        asked, published = len(front.polls), present()
        for _ in range(20):
            front.announce(published, "main/app-config")
            front.announce(published - 1)
        time.sleep(5)
        print(f"| doubled and late, 40 of them | | | {len(front.polls) - asked} |", flush=True)
        measure("before its data, by 5 s", early, arguments.rounds, 120)
        measure("while the server fails", while_the_server_fails, arguments.rounds, 120)
        measure("lost with its connection", lost_with_the_connection, arguments.rounds, 60)
        measure("from the future, before a true one", from_the_future, 1, 120)
        measure("20 false ones in 20 s, before a true one", many_false_ones, 1, 120)
        measure("1,000 at once", a_flood, 1, 300)
        if arguments.hours:
            measure("lost though the connection is open", lost, 1, 4 * 3600)


if __name__ == "__main__":
    main()
