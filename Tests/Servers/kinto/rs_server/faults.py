"""Faults on demand. `PUT /__control__/faults [rule, ...]` replaces all rules; the first that matches a request is used.

    path        regular expression, searched in path and query
    times, skip how often the rule applies (default: always), and how many matching requests to skip first
    status      replaces the application's response, with `body` (text) and `headers`
    body        alone: status 200 with this text
    redirect    a 302 to this URL
    headers     added to the response
    corrupt     true: the first byte of the body is changed
    truncate    send only this number of bytes of the body, then close the connection
    slow        [bytes, seconds]: that many bytes at a time, with a pause after each
    endless     true: an endless body
"""
import re
import threading
import time

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
        extra = [(name, str(value)) for name, value in rule.get("headers", {}).items()]
        json_type = [("Content-Type", "application/json")]
        if rule.get("endless"):
            start_response("200 OK", json_type + extra)
            return endless()
        if "redirect" in rule:
            return answer(start_response, "302 Found", [("Location", rule["redirect"])] + extra, b"")
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
