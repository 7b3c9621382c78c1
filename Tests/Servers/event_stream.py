"""Reads a stream of server-sent events with the standard library only (WHATWG HTML, section 9.2)."""
import dataclasses
import http.client
import json
import urllib.parse


@dataclasses.dataclass
class Event:
    name: str
    data: str
    id: str

    def json(self):
        return json.loads(self.data)


class EventStream:
    """An open stream; `with` closes it. `status` and `headers` are those of the response; `comments` lists received comments.

    `source` is the client's address.
    """

    def __init__(self, url, timeout=60, source="", **headers):
        parts = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout, source_address=(source, 0))
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request("GET", url.partition(parts.netloc)[2], headers={"Accept": "text/event-stream", **headers})
        self.answer = self.connection.getresponse()
        self.status, self.headers = self.answer.status, self.answer.headers
        self.comments, self.retry, self.id = [], None, ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.answer.close()
        self.connection.close()

    def __iter__(self):
        name, data = "", []
        while line := self.answer.readline():
            field, _, value = line.decode().rstrip("\r\n").partition(":")
            value = value.removeprefix(" ")
            if not line.strip():
                if data:
                    yield Event(name, "\n".join(data), self.id)
                name, data = "", []
            elif not field:
                self.comments.append(value)
            elif field == "event":
                name = value
            elif field == "data":
                data.append(value)
            elif field == "id":
                self.id = value
            elif field == "retry":
                self.retry = int(value)

    def next(self):
        return next(iter(self))
