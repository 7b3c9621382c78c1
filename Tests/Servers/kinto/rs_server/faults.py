"""Faults on demand. `PUT /__control__/faults [rule, ...]` replaces all rules; the first that matches a request is used.

    path        regular expression, searched in path and query
    times, skip how often the rule applies (default: always), and how many matching requests pass before that
    delay       seconds to wait before answering
    status      answered instead of asking the application, with `body` (text) and `headers`
    body        alone: status 200 with this text
    redirect    a 302 to this URL; "self": to the very same one
    headers     added to the answer
    corrupt     true: the first byte of the body is another one
    truncate    only so many bytes of the body, then the connection is closed
    slow        [bytes, seconds]: that many bytes at a time, with a pause after each
    endless     true: a body without an end
    gzip_bomb   a gzip body of so many bytes when inflated
"""
import re
import threading
import time
import zlib

from .front import answer, collect

CHUNK = b" " * 65536


class Faults:
    def __init__(self, app):
        self.app, self.rules, self.lock = app, [], threading.Lock()

    def replace(self, rules):
        with self.lock:
            self.rules = [dict(rule) for rule in rules]

    def __call__(self, environ, start_response):
        query = environ["QUERY_STRING"]
        url = environ["PATH_INFO"] + ("?" + query if query else "")
        rule = self._take(url)
        if rule is None:
            return self.app(environ, start_response)
        time.sleep(rule.get("delay", 0))
        extra = [(name, str(value)) for name, value in rule.get("headers", {}).items()]
        json_type = [("Content-Type", "application/json")]
        if rule.get("endless"):
            start_response("200 OK", json_type + extra)
            return endless()
        if "gzip_bomb" in rule:
            start_response("200 OK", json_type + [("Content-Encoding", "gzip")] + extra)
            return gzip_bomb(rule["gzip_bomb"])
        if "redirect" in rule:
            target = f"http://{environ['HTTP_HOST']}{url}" if rule["redirect"] == "self" else rule["redirect"]
            return answer(start_response, "302 Found", [("Location", target)] + extra, b"")
        if "status" in rule or "body" in rule:
            status, headers, body = f"{rule.get('status', 200)} Fault", json_type, rule.get("body", "{}").encode()
        else:
            status, headers, body = collect(self.app, environ)
        if rule.get("corrupt") and body:
            body = bytes([body[0] ^ 1]) + body[1:]
        start_response(status, headers + extra + [("Content-Length", str(len(body)))])
        if "slow" in rule:
            return slowly(body, *rule["slow"])
        return [body[:rule["truncate"]] if "truncate" in rule else body]

    def _take(self, url):
        with self.lock:
            for rule in self.rules:
                if not re.search(rule["path"], url):
                    continue
                if rule.get("skip", 0) > 0:
                    rule["skip"] -= 1
                    continue
                if "times" in rule:
                    if rule["times"] <= 0:
                        continue
                    rule["times"] -= 1
                return rule
        return None


def endless():
    while True:
        yield CHUNK


def slowly(body, size, pause):
    for start in range(0, len(body), size):
        yield body[start:start + size]
        time.sleep(pause)


def gzip_bomb(size):
    """One deflate stream out of the same fully flushed block again and again; its checksum at the end is not right."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    block_size = 16 << 20
    block = compressor.compress(b" " * block_size) + compressor.flush(zlib.Z_FULL_FLUSH)
    yield b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    for _ in range(size // block_size):
        yield block
    yield compressor.flush(zlib.Z_FINISH) + bytes(8)
