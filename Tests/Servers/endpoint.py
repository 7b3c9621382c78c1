"""A loopback endpoint that stores POST messages and sends the responses that a test specifies."""
import dataclasses
import http.server
import json
import threading


@dataclasses.dataclass
class Message:
    path: str
    headers: dict
    body: bytes

    def json(self):
        return json.loads(self.body)


class Loopback:
    """A server that runs during a `with` block. Its method `answer` answers each request, on the server's thread."""

    def __enter__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            do_GET = do_POST = lambda handler: self.answer(handler)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Endpoint(Loopback):
    """Uses `answers` in order, then `status`.

    Every response has `body` and `headers`. `on_message(message)` is called before the response, on the server's thread.
    """

    def __init__(self, status=204, answers=(), on_message=lambda message: None):
        self.status, self.answers, self.on_message = status, list(answers), on_message
        self.body, self.headers = b"", {}
        self.messages = []

    def answer(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        message = Message(handler.path, {name.lower(): value for name, value in handler.headers.items()}, body)
        self.messages.append(message)
        self.on_message(message)
        handler.send_response(self.answers.pop(0) if self.answers else self.status)
        for name, value in {**self.headers, "Content-Length": str(len(self.body))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(self.body)

    def take(self):
        """Returns the messages received so far, and clears them."""
        taken, self.messages = self.messages, []
        return taken
