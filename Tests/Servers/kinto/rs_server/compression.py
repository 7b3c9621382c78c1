"""Compresses JSON and PEM responses with gzip, like the CDN of Remote Settings."""
import gzip

from .front import answer, collect


class Compression:
    def __init__(self, app):
        self.app = app

    def __call__(self, environ, start_response):
        accepted = "gzip" in environ.get("HTTP_ACCEPT_ENCODING", "")
        if not accepted or "/attachments/" in environ["PATH_INFO"]:
            return self.app(environ, start_response)
        status, headers, body = collect(self.app, environ)
        encoded = any(name.lower() == "content-encoding" for name, _ in headers)
        if len(body) >= 1024 and status.startswith("200") and not encoded:
            body = gzip.compress(body, 1)
            headers = headers + [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
        return answer(start_response, status, headers, body)
