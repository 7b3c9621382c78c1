"""A loopback endpoint that takes messages by POST and keeps them, with the answers that a test wants."""
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


class Endpoint:
    """Runs as long as a `with` block does. `answers` is consumed from its start; then `status` is the answer.

    `body` and `headers` are what every answer has. `on_message(message)` is called before the answer, on the server's thread.
    """

    def __init__(self, status=204, answers=(), on_message=lambda message: None):
        self.status, self.answers, self.on_message = status, list(answers), on_message
        self.body, self.headers = b"", {}
        self.messages = []

    def __enter__(self):
        endpoint = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                message = Message(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
                endpoint.messages.append(message)
                endpoint.on_message(message)
                status = endpoint.answers.pop(0) if endpoint.answers else endpoint.status
                self.send_response(status)
                for name, value in endpoint.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(endpoint.body)))
                self.end_headers()
                self.wfile.write(endpoint.body)

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

    def take(self):
        """The messages so far, and forgets them."""
        taken, self.messages = self.messages, []
        return taken
