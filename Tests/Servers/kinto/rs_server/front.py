"""The protocol in front of Kinto: the behavior of Remote Settings that kinto-changes lacks, for /v1 and for /v2.

v1 accepts a bare and a quoted `_since`; v2 only a bare one, and its tombstones have no `last_modified`. On v2, no `_expected`, or
a parameter that is no number, is answered 422 with `detail`. On both, a `_since` after 2100 is rejected. A `_since` without a delta
is answered by a 307 to the URL without it: on v1, for the monitor, after 21 days; on v2 if it was never the collection's timestamp.
"""
import email.utils
import json
import time
from urllib.parse import parse_qsl, urlencode

MONITOR = "monitor/changes"
YEAR_2100 = 4_102_444_800_000


class Front:
    def __init__(self, app, registry):
        self.app, self.registry = app, registry

    def __call__(self, environ, start_response):
        path = environ["PATH_INFO"]
        v2 = path == "/v2" or path.startswith("/v2/")
        if v2:
            if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
                return error(start_response, 405, "/v2 is read-only")
            environ["PATH_INFO"] = "/v1" + path[3:]
        parts = environ["PATH_INFO"].split("/")
        if v2 and environ["PATH_INFO"] == "/v1/":
            return self._root(environ, start_response)
        is_changeset = (
            environ["REQUEST_METHOD"] == "GET" and len(parts) == 7
            and (parts[2], parts[4], parts[6]) == ("buckets", "collections", "changeset"))
        if not is_changeset:
            return self.app(environ, start_response)
        return self._changeset(environ, start_response, parts[3], parts[5], v2)

    def _root(self, environ, start_response):
        status, headers, body = collect(self.app, environ)
        document = json.loads(body)
        document["http_api_version"] = "2.0"
        document["url"] = document["url"].replace("/v1/", "/v2/")
        return answer(start_response, status, headers, json.dumps(document).encode())

    def _changeset(self, environ, start_response, bucket, collection, v2):
        pairs = parse_qsl(environ["QUERY_STRING"], keep_blank_values=True)
        query = dict(pairs)
        if v2:
            refusal = self._check_numbers(start_response, query)
            if refusal is not None:
                return refusal
            # The last value counts.
            environ["QUERY_STRING"] = urlencode(query)
        # Kinto itself rejects a repeated parameter, and ignores an empty one.
        if v2 and "_since" in query or [value != "" for name, value in pairs if name == "_since"] == [True]:
            refusal = self._check_since(environ, start_response, pairs, query, f"{bucket}/{collection}", v2)
            if refusal is not None:
                return refusal
            environ["QUERY_STRING"] = urlencode(
                [(name, '"' + value.strip('"') + '"' if name == "_since" else value)
                 for name, value in (query.items() if v2 else pairs)])
        status, headers, body = collect(self.app, environ)
        if status.startswith("200"):
            document = json.loads(body)
            self._complete(document, bucket, collection, v2)
            modified = document["metadata"].get("last_modified", document["timestamp"])
            headers.append(("Last-Modified", email.utils.formatdate(modified / 1000, usegmt=True)))
            body = json.dumps(document, separators=(",", ":")).encode()
        return answer(start_response, status, headers, body)

    def _check_numbers(self, start_response, query):
        """Returns v2's error response if a parameter is missing or not a number, else None."""
        for name, largest in (("_expected", None), ("_since", YEAR_2100)):
            value = query.get(name)
            if value is None and name == "_since":
                continue
            if value is None or not (value.isascii() and value.isdigit()) or (largest and int(value) > largest):
                detail = [{"type": "missing" if value is None else "int_parsing", "loc": ["query", name],
                           "msg": "not in the form that this server takes", "input": value}]
                return answer(
                    start_response, "422 Unprocessable Entity", [("Content-Type", "application/json")],
                    json.dumps({"detail": detail}).encode())
        return None

    def _check_since(self, environ, start_response, pairs, query, name, v2):
        """Returns the response to a `_since` that is not forwarded to Kinto, else None."""
        raw = query["_since"]
        number = raw.strip('"')
        if number.isdigit() and int(number) > YEAR_2100:
            return error(start_response, 400, "_since in querystring: it is after the year 2100")
        if not number.isdigit() or (v2 and raw.startswith('"')):
            return error(start_response, 400, "_since in querystring: not in the form that this server takes")
        since, expected = int(number), query.get("_expected", "").strip('"')
        if expected.isdigit() and 0 < int(expected) < since:
            if v2:
                detail = "_expected must be superior to _since if both are provided"
                return answer(
                    start_response, "400 Bad Request", [("Content-Type", "application/json")],
                    json.dumps({"detail": detail}).encode())
            # Only on the monitor: requests for a collection's changeset still get its data.
            if name == MONITOR:
                start_response("204 No Content", [])
                return []
        if not self._is_too_old(since, name, v2):
            return None
        kept = [(name, value) for name, value in pairs if name != "_since"]
        prefix = "/v2" + environ["PATH_INFO"][3:] if v2 else environ["PATH_INFO"]
        location = f"http://{environ['HTTP_HOST']}{prefix}?{urlencode(kept)}"
        start_response("307 Temporary Redirect", [("Location", location), ("Content-Length", "0")])
        return []

    def _is_too_old(self, since, name, v2):
        if not v2:
            return name == MONITOR and since < (time.time() - 21 * 86400) * 1000
        if name == MONITOR:
            return False
        bucket, collection = name.split("/")
        uri = f"/buckets/{bucket}/collections/{collection}"
        return since not in self.registry.signer.known_timestamps.get(uri, ())

    def _complete(self, document, bucket, collection, v2):
        if (bucket, collection) == ("monitor", "changes"):
            document["changes"].sort(key=lambda change: -change["last_modified"])
        else:
            document["metadata"].setdefault("bucket", bucket)
        if v2:
            for change in document["changes"]:
                if change.get("deleted"):
                    del change["last_modified"]


def collect(app, environ):
    """Runs a WSGI application to completion, and returns the status, the headers without Content-Length, and the body."""
    kept = {}

    def start(status, headers, exc_info=None):
        kept.update(status=status, headers=[each for each in headers if each[0].lower() != "content-length"])

    chunks = app(environ, start)
    try:
        body = b"".join(chunks)
    finally:
        if hasattr(chunks, "close"):
            chunks.close()
    return kept["status"], kept["headers"], body


def answer(start_response, status, headers, body):
    start_response(status, headers + [("Content-Length", str(len(body)))])
    return [body]


def error(start_response, code, message):
    body = json.dumps({"code": code, "errno": 107, "error": "Invalid parameters", "message": message}).encode()
    return answer(start_response, f"{code} Refused", [("Content-Type", "application/json")], body)
