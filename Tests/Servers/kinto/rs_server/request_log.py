"""Writes a line of JSON for every completed request, except control requests; `bytes` is the size of the body as sent."""
import json
import threading
import time


class RequestLog:
    def __init__(self, app, path):
        self.app, self.lock = app, threading.Lock()
        self.file = open(path, "a", encoding="utf-8", buffering=1)

    def __call__(self, environ, start_response):
        if environ["PATH_INFO"].startswith("/__control__/"):
            return self.app(environ, start_response)
        query = environ["QUERY_STRING"]
        entry = {
            "time": time.time(),
            "method": environ["REQUEST_METHOD"],
            "path": environ["PATH_INFO"] + ("?" + query if query else ""),
        }

        def start(status, headers, exc_info=None):
            entry["status"] = int(status.split()[0])
            return start_response(status, headers, exc_info)

        return self._counted(self.app(environ, start), entry)

    def _counted(self, chunks, entry):
        """Forwards the body. The line is written before the last chunk, so it is in the log when the client has the response."""
        entry["bytes"], held, logged = 0, None, False
        try:
            for chunk in chunks:
                if held is not None:
                    yield held
                entry["bytes"] += len(chunk)
                held = chunk
            self._write(entry)
            logged = True
            if held is not None:
                yield held
        finally:
            if not logged:
                self._write(entry)
            if hasattr(chunks, "close"):
                chunks.close()

    def _write(self, entry):
        with self.lock:
            self.file.write(json.dumps(entry) + "\n")
