"""A front of a Remote Settings server with an update channel of its own, which announces what a test tells it to."""
import http.client
import http.server
import queue
import threading
import time

from scripted_stream import update

FUTURE = 9_000_000_000_000

class Announcer:
    """Passes requests on to `target` (a port on loopback), except those for the update channel. Runs as long as a `with` block."""

    def __init__(self, target):
        self.target = target
        self.greeting = b": hi\n\n"
        # The requests for the list of collections, and when each arrived.
        self.streams, self.polls, self.times = [], [], []
        # Whether everything but the update channel is answered by 500.
        self.is_failing = False
        front = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                front.stream(self) if self.path.endswith("/updates") else front.forward(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.cut()
        self.server.shutdown()
        self.server.server_close()

    def forward(self, handler):
        if "/monitor/" in handler.path:
            self.polls.append(handler.path)
            self.times.append(time.monotonic())
        if self.is_failing:
            return handler.send_error(500)
        connection = http.client.HTTPConnection("127.0.0.1", self.target, timeout=30)
        # With the client's Host, so that URLs in the answers lead back here.
        connection.request("GET", handler.path, headers=dict(handler.headers))
        response = connection.getresponse()
        body = response.read()
        handler.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
        connection.close()

    def stream(self, handler):
        pieces = queue.Queue()
        pieces.put(self.greeting)
        self.streams.append(pieces)
        handler.close_connection = True
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        try:
            while piece := pieces.get():
                handler.wfile.write(piece)
        except OSError:
            pass

    def send(self, text):
        for stream in self.streams:
            stream.put(text)

    def announce(self, timestamp, *collections):
        self.send(update(timestamp, *collections))

    def lie(self, number, last):
        """Sends one of seven kinds of messages that are worth nothing; `last` is the last true timestamp."""
        now = int(time.time() * 1000)
        self.send([
            update(now), update(now + 3000), update(FUTURE + number), 3 * update(last) + update(last - 1),
            b"".join(update(FUTURE - each) for each in range(5000)), b"data: nonsense\n\nretry: 1000000000000\n\n",
            b"retry: 0\n\n" + update(now + 86_400_000 * number)][number % 7])

    def cut(self):
        """Ends all connections to the update channel."""
        streams, self.streams = self.streams, []
        for stream in streams:
            stream.put(b"")
