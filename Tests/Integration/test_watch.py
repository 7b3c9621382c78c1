"""`rsdump watch`: against streams that cut, lie and ask for pauses. With real channels: test_updates_nchan and below."""
import json
import os
import pathlib
import signal
import time

import pytest

import rsdump
from dumps import Dumps
from event_stream import EventStream
from publishing import Hook
from scripted_stream import HEAD, ScriptedStream, answer, update
from serve import Serving
from watching import Watching


def children(process):
    return [child for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir()
            for child in (task / "children").read_text().split()]


def test_events_are_lines_and_a_lost_connection_is_made_again():
    first = [HEAD, b": hi\n\nretry: 1000\n\n", update(1), update(2, "main/one", "main/two"),
             b"event: weather\ndata: rain\n\n", b'data: {"timestamp":3,"more":true}\n\n', b"data: nonsense\n\n",
             b'event: update\ndata: {"timestamp":', "cut"]
    with ScriptedStream(first, [HEAD, b'event: update\r\ndata: {"timestamp":4}\r\n\r\n', "hold"]) as server:
        with Watching(server.url) as watching:
            connected = watching.next()
            assert connected["event"] == "connected" and connected["url"] == server.url + "/updates"
            assert abs(connected["time"] / 1000 - time.time()) < 60
            lines = [watching.next() for _ in range(5)]
            assert [line["event"] for line in lines] == ["update", "update", "update", "refused", "disconnected"]
            assert [line.get("timestamp") for line in lines[:3]] == [1, 2, 3]
            assert [line.get("collections") for line in lines[:2]] == [None, ["main/one", "main/two"]]
            assert lines[4]["wait_milliseconds"] <= 1000
            assert watching.next("update")["timestamp"] == 4
        assert len(server.requests) == 2
        assert "accept: text/event-stream" in server.requests[0].lower()


@pytest.mark.parametrize("script, code", [
    ([answer(404)], rsdump.UNREACHABLE), ([answer(200, "Content-Type: text/html")], rsdump.UNREACHABLE),
    ([answer(403)], rsdump.UNREACHABLE)])
def test_a_server_without_the_channel_is_an_error(script, code):
    with ScriptedStream(script) as server:
        outcome = rsdump.run("watch", "--server", server.url)
        assert outcome.code == code and "update channel" in outcome.err and not outcome.out
    assert rsdump.run("watch", "--server", "http://192.0.2.1/v2").code == rsdump.USAGE


def test_a_server_that_is_not_ready_is_waited_for():
    with ScriptedStream(["cut"], [answer(503, "Retry-After: 1")], [HEAD, update(1)], [answer(404)], [HEAD, update(2), "hold"]) as server:
        with Watching(server.url) as watching:
            assert watching.next("update")["timestamp"] == 1
            # After the first connection, everything is tried again.
            assert watching.next("update")["timestamp"] == 2
    assert server.times[2] - server.times[1] >= 0.9


def test_a_pause_is_obeyed():
    pause = b'event: pause\ndata: {"retry_after":2}\n\n'
    disabled = b'event: pause\ndata: {"disabled":true}\n\n'
    with ScriptedStream([HEAD, update(1), pause, "hold"], [HEAD, disabled, "hold"]) as server:
        with Watching(server.url) as watching:
            assert watching.next("pause")["retry_after"] == 2
            assert 2000 <= watching.next("disconnected")["wait_milliseconds"] <= 5000
            assert watching.next("pause")["disabled"] is True
            assert 4 * 3600 - watching.next("disconnected")["wait_milliseconds"] / 1000 < 1
    assert len(server.times) == 2 and server.times[1] - server.times[0] >= 2


def test_a_stream_that_lies_costs_little():
    """Endless lines, a flood of events, an end right after connecting: it goes on, and neither it nor what it prints grows."""
    flood = [b"".join(update(number) for number in range(base, base + 1000)) for base in range(0, 20000, 1000)]
    quiet = [HEAD, 5 * b"retry: 0\n\nretry: 1000000000000000000000\n\n", b"retry: 1\n\ndata: half a li"]
    last = 30 * [1.2, update(20000, "main/last")]
    with ScriptedStream([HEAD, 70000 * b"x"], quiet, [HEAD, *flood, *last, "hold"]) as server:
        with Watching(server.url) as watching:
            lost = watching.next("disconnected")
            assert "65536" in lost["error"], lost
            lost = watching.next("disconnected")
            assert "ended" in lost["error"] and lost["wait_milliseconds"] <= 2000, lost
            printed = 0
            while watching.next("update").get("collections") != ["main/last"]:
                printed += 1
            assert 10 <= printed <= 60, printed
            status = pathlib.Path(f"/proc/{watching.process.pid}/status").read_text()
            peak = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
    assert peak < 96 * 1024, f"{peak} KiB"


def follow(team, copy, server, *options):
    """`rsdump watch` of a copy of main/one."""
    root = rsdump.run("keys", "status", team.path / "keys").out.split("trust-root ")[1].split()[0]
    assert copy.add(None, "main/one", url=f"{server.url}/v1", root=root).code == rsdump.DONE
    return Watching(f"{server.url}/v1", "--refresh", "--dumps", copy.path, *options)


def test_a_command_that_fails_is_told_again_and_misses_nothing(team, tmp_path):
    hook, copy = Hook(tmp_path), Dumps(tmp_path / "copy")
    hook.fails.touch()
    with Serving("--dumps", team.dumps.path, "--watch") as server:
        with follow(team, copy, server, "--on-change", f"echo spoken; {hook.command}") as watching:
            first = watching.next("hook")
            assert (first["status"], first["collections"]) == ("pending", ["main/one"]) and "exit code 1" in first["error"]
            # It is not told of what happened before, again and again, but at once of all that it has missed.
            team.change("one")
            team.publish()
            while watching.next("refreshed")["changed"] != ["main/one"]:
                pass
            hook.fails.unlink()
            while (told := watching.next("hook"))["status"] == "pending":
                pass
            assert told["status"] == "told" and told["timestamp"] == team.timestamps["main/one"]
            assert hook.take() == [{
                "timestamp": told["timestamp"], "collections": ["main/one"],
                "changes": [{"collection": "main/one", "timestamp": told["timestamp"]}]}]
            team.change("one")
            team.publish()
            assert watching.next("hook")["status"] == "told"
            [change] = hook.take()
            assert change["changes"] == [{
                "collection": "main/one", "previousTimestamp": told["timestamp"], "timestamp": team.timestamps["main/one"]}]
    assert "spoken\n" in watching.errors and not (copy.path / ".rsdump").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_end_leaves_no_child(team, tmp_path, number):
    began, copy = tmp_path / "began", Dumps(tmp_path / "copy")
    with Serving("--dumps", team.dumps.path, "--watch") as server:
        command = f"sleep 300 & echo $! >{began}; wait"
        watching = follow(team, copy, server, "--on-change", command)
        while not began.exists() or not began.read_text():
            time.sleep(0.02)
        assert children(watching.process)
        assert watching.end(number) == 0
        sleeper = int(began.read_text())
        with pytest.raises(ProcessLookupError):
            for _ in range(100):
                os.kill(sleeper, 0)
                if pathlib.Path(f"/proc/{sleeper}/stat").read_text().split()[2] == "Z":
                    raise ProcessLookupError
                time.sleep(0.05)
    # The next run tells it.
    assert command in json.loads((copy.path / ".rsdump/on-change.json").read_text())


def test_a_mirror_follows_a_server_that_watches_its_dumps(team, tmp_path):
    """publish, serve --watch, watch --refresh, serve --watch of the copy, and whoever listens there."""
    with Serving("--dumps", team.dumps.path, "--watch") as server:
        copy = Dumps(tmp_path / "copy")
        with follow(team, copy, server, "--on-change", "true") as watching:
            # The first event tells the present state, which is fetched.
            assert watching.next("update").get("collections") is None
            refreshed = watching.next("refreshed")
            assert refreshed["changed"] == ["main/one"] and refreshed["exitCode"] == 0
            assert watching.next("hook")["status"] == "told"
            with Serving("--dumps", copy.path, "--watch") as second, EventStream(f"{second.url}/v2/updates") as stream:
                before = stream.next().json()["timestamp"]
                team.change("one")
                team.publish()
                update = watching.next("update")
                assert update["collections"] == ["main/one"] and update["timestamp"] > before
                assert watching.next("refreshed")["changed"] == ["main/one"]
                assert stream.next().json() == {"timestamp": update["timestamp"], "collections": ["main/one"]}
                assert copy.bundle("main/one").payload == team.dumps.bundle("main/one").payload
                # What the copy does not hold costs nothing.
                team.change("two")
                team.publish()
                assert watching.next("update")["collections"] == ["main/two"]
                team.change("one")
                team.publish()
                assert watching.next("update", "refreshed")["collections"] == ["main/one"]
                assert watching.next("refreshed")["changed"] == ["main/one"]
        assert rsdump.run("verify", "--dumps", copy.path).code == rsdump.DONE
