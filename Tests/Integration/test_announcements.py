"""Announcements that are lost, early, doubled, false: what `rsdump watch` has in the end is what the server has.

The same for the library: below, and UpdateChannelTests; for the rules themselves: UpdateTimingTests.
"""
import contextlib
import time

import pytest

import rsdump
from announcer import FUTURE, Announcer
from dumps import Dumps
from scripted_stream import update
from serve import Serving
from test_real_time import Origin, app
from watching import Watching


def monitor(server):
    """The timestamp of the server's list of collections."""
    return server.ask("/v1/buckets/monitor/collections/changes/changeset?_expected=0").json()["timestamp"]


def checks_after_lies(front, publish, truth):
    """Twenty lies, each before a true announcement that is acted on within two seconds; at most one request a second."""
    last, late, first = publish(), [], len(front.times)
    for number in range(20):
        front.lie(number, last)
        # The true one comes while the lie is being followed, or right after that.
        time.sleep(number % 4 / 4)
        last = publish()
        front.announce(last)
        began = time.monotonic()
        truth()
        late.append(time.monotonic() - began)
    assert max(late) < 2, late
    between = [after - before for before, after in zip(front.times[first:], front.times[first + 1:])]
    assert min(between) >= 0.99, between


class Following:
    """A copy that follows a server through a front, by `watch --refresh`."""

    def __init__(self, team, folder, front, server):
        self.team, self.front, self.server = team, front, server
        self.copy = Dumps(folder / "copy")
        root = rsdump.run("keys", "status", team.path / "keys").out.split("trust-root ")[1].split()[0]
        assert self.copy.add(None, "main/one", url=f"{front.url}/v1", root=root).code == rsdump.DONE
        self.watching = Watching(f"{front.url}/v1", "--refresh", "--dumps", self.copy.path)

    def publish(self):
        """Publishes a change, and returns its timestamp when the server has it; nobody is told."""
        self.team.change("one")
        self.team.publish()
        published = max(self.team.timestamps.values())
        while monitor(self.server) < published:
            time.sleep(0.01)
        return published

    def truth(self):
        """Waits for what is true to be here."""
        while not self.is_current():
            self.watching.next("refreshed")

    def is_current(self):
        copy, original = self.copy, self.team.dumps
        return "main/one" in copy.names and copy.bundle("main/one").payload == original.bundle("main/one").payload


@pytest.fixture
def following(team, tmp_path):
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Serving("--dumps", team.dumps.path, "--watch"))
        front = stack.enter_context(Announcer(server.port))
        following = Following(team, tmp_path, front, server)
        with following.watching:
            following.watching.next("connected")
            # The channel says nothing at the beginning, so that the server is asked.
            following.truth()
            yield following


def test_an_event_before_its_data(following, tmp_path):
    """A replica that is seconds behind, or a mirror that is exported later."""
    old = tmp_path / "old"
    following.team.dumps.copy(old)
    with Serving("--dumps", old) as late:
        following.front.target = late.port
        published = following.publish()
        following.front.announce(published, "main/one")
        time.sleep(3)
        following.front.target = following.server.port
        following.truth()


def test_a_timestamp_from_the_future(following):
    for number in range(3):
        following.front.announce(FUTURE + number)
    time.sleep(2)
    published = following.publish()
    following.front.announce(published, "main/one")
    following.truth()
    # The lie costs few requests.
    asked = len(following.front.polls)
    time.sleep(4)
    assert len(following.front.polls) - asked <= 4, following.front.polls


def test_a_true_announcement_is_acted_on_whatever_came_before_it(following):
    checks_after_lies(following.front, following.publish, following.truth)


def test_an_app_acts_on_a_true_announcement_whatever_came_before_it(tmp_path):
    origin, states = Origin(tmp_path), iter(range(100))
    with Serving("--dumps", origin.dumps, "--watch") as server, Announcer(server.port) as front:
        with app(origin, f"{front.url}/v2") as waiting:
            waiting.says("first")
            while not front.streams:
                time.sleep(0.01)
            state = None

            def publish():
                nonlocal state
                before, state = monitor(server), f"state-{next(states)}"
                origin.publish(state)
                while (after := monitor(server)) == before:
                    time.sleep(0.01)
                return after

            checks_after_lies(front, publish, lambda: waiting.says(state))


def test_a_lost_event_is_made_up_for_by_the_next_connection(following):
    published = following.publish()
    following.front.greeting = update(published)
    following.front.cut()
    following.truth()


def test_doubled_and_late_events_cost_nothing(following):
    published = following.publish()
    following.front.announce(published, "main/one")
    following.truth()
    time.sleep(1.5)
    asked = len(following.front.polls)
    for _ in range(20):
        following.front.announce(published, "main/one")
        following.front.announce(published - 1)
    time.sleep(2)
    assert len(following.front.polls) == asked, following.front.polls
