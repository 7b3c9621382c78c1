"""Third-party clients of rsdump serve, with and without nginx, and of a mirror: they are notified of a change immediately."""
import contextlib
import http.client
import json
import urllib.parse

import pytest

from mirror import UpdatesMirror
from nginx_examples import BehindNginx
from serve import Serving


def plain(url):
    return http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=30)


@pytest.fixture(scope="module")
def demo():
    with Serving("--demo") as serving:
        yield serving


@pytest.fixture(scope="module")
def origins(demo, refreshed_sample, tmp_path_factory):
    """By name: a URL, and a function that publishes a change there and returns its timestamp."""

    def publish():
        assert demo.ask("/demo/publish", method="POST").status == 200
        return demo.changeset("monitor/changes").json()["timestamp"]

    posted = iter(range(1, 1000))

    def post():
        timestamp = next(posted)
        assert mirror.post(json.dumps({"timestamp": timestamp})) in (201, 202)
        return timestamp

    mirror = UpdatesMirror(tmp_path_factory.mktemp("mirror"))
    mirror.publish(refreshed_sample)
    with mirror, BehindNginx(tmp_path_factory.mktemp("nginx"), demo.port) as front:
        post()
        yield {"serve": (demo.url, publish), "nginx": (front.origin, publish), "mirror": (mirror.origin, post)}


LISTEN = """
    window.heard = [];
    window.source = new EventSource(arguments[0]);
    source.addEventListener("update", event => heard.push(JSON.parse(event.data).timestamp));
    source.addEventListener("error", () => heard.push(["connecting", "open", "closed"][source.readyState]));
"""


def heard(chromium, condition):
    """Returns the events received, once they meet the condition."""
    found = chromium.execute_async_script(
        f"const done = arguments[0], until = performance.now() + 30000;"
        f"(function look() {{ if (({condition})(heard) || performance.now() > until) done(heard); else setTimeout(look, 50); }})()")
    return found


@pytest.mark.parametrize("origin", ["serve", "nginx", "mirror"])
def test_chromium_event_source_gets_update(chromium, origins, origin):
    url, publish = origins[origin]
    chromium.get(f"{url}/v1/")
    chromium.execute_script(LISTEN, "/v1/updates")
    assert heard(chromium, "heard => heard.length == 1")[0] != "closed"
    new = publish()
    assert heard(chromium, "heard => heard.length == 2")[1] == new
    chromium.execute_script("source.close()")


def test_chromium_event_source_reconnects_after_502(chromium, tmp_path):
    """EventSource stops permanently on any status other than 200, so nginx must not pass on the 502."""
    with BehindNginx(tmp_path / "nginx") as front:
        chromium.get(f"{front.origin}/")
        assert "502" in chromium.title
        chromium.execute_script(LISTEN, "/v1/updates")
        assert heard(chromium, "heard => heard.length") == ["connecting"]
        with Serving("--demo", "--port", front.upstream_port) as serving:
            now = serving.changeset("monitor/changes").json()["timestamp"]
            found = heard(chromium, "heard => heard.some(each => typeof each == 'number')")
            assert found[-1] == now and "closed" not in found


def test_nginx_jitters_retry_while_server_is_down(tmp_path):
    with BehindNginx(tmp_path / "nginx") as front:
        waits = set()
        for _ in range(40):
            connection = plain(front.origin)
            with contextlib.closing(connection):
                connection.request("GET", "/v2/updates")
                answer = connection.getresponse()
                assert answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream"
                assert answer.headers["Cache-Control"] == "no-cache, no-transform"
                text = answer.read().decode()
                assert text.startswith("retry: ") and text.endswith("\n\n")
                waits.add(int(text[7:]))
        assert min(waits) >= 3000 and max(waits) < 8000 and len(waits) > 30
        # Other requests get the real status.
        connection = plain(front.origin)
        with contextlib.closing(connection):
            connection.request("GET", "/v1/")
            assert connection.getresponse().status == 502
