"""Announcements that are lost, early, doubled, false: what `rsdump watch` has in the end is what the server has.

The same for the library: UpdateChannelTests; for the rules themselves: RequestScheduleTests.
"""
import contextlib
import time

import pytest

import rsdump
from announcer import Announcer
from dumps import Dumps
from scripted_stream import update
from serve import Serving
from watching import Watching

FUTURE = 9_000_000_000_000


class Following:
    """A copy that follows a server through a front, by `watch --refresh`."""

    def __init__(self, team, folder, front, server):
        self.team, self.front, self.server = team, front, server
        self.copy = Dumps(folder / "copy")
        root = rsdump.run("keys", "status", team.path / "keys").out.split("trust-root ")[1].split()[0]
        assert self.copy.add(None, "main/one", url=f"{front.url}/v1", root=root).code == rsdump.DONE
        self.watching = Watching(f"{front.url}/v1", "--refresh", "--dumps", self.copy.path)

    def publish(self):
        """Publishes a change, and returns its timestamp; nobody is told."""
        self.team.change("one")
        self.team.publish()
        return max(self.team.timestamps.values())

    def truth(self):
        """Waits for what is true to be here."""
        while self.watching.next("refreshed")["changed"] != ["main/one"]:
            pass
        assert self.copy.bundle("main/one").payload == self.team.dumps.bundle("main/one").payload


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
