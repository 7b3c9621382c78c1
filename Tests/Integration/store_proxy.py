"""A proxy in front of a store that injects faults and lets a test inspect the store after each request."""
import http.client
import http.server
import threading

DROPPED = "dropped"


class StoreProxy:
    """Runs inside a `with` block.

    `before(method, path)` returns a status to answer with instead of the store, `DROPPED` to drop the connection, or `None`.
    `after(method, path)` is called after the store has answered. `below` is a prefix for each path: it simulates a bucket with its
    own host name, which serves the index document for a path that ends in a slash.
    """

    def __init__(self, store, before=lambda method, path: None, after=lambda method, path: None, below=""):
        self.store, self.before, self.after, self.below = store, before, after, below

    def __enter__(self):
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                fault = proxy.before(self.command, self.path)
                if fault == DROPPED:
                    self.close_connection = True
                    return
                if fault is not None:
                    self.answer(fault, [], b"")
                    return
                upstream = http.client.HTTPConnection("127.0.0.1", proxy.store.port, timeout=60)
                path = self.path + ("index.json" if proxy.below and self.path.endswith("/") else "")
                upstream.putrequest(self.command, proxy.below + path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    upstream.putheader(name, value)
                upstream.endheaders(body)
                found = upstream.getresponse()
                content = found.read()
                upstream.close()
                proxy.after(self.command, self.path)
                self.answer(found.status, found.getheaders(), content)

            def answer(self, status, headers, content):
                self.send_response_only(status)
                for name, value in headers:
                    if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                        self.send_header(name, value)
                # A response to HEAD gives the length of the omitted body.
                length = dict(headers).get("Content-Length") if self.command == "HEAD" else None
                self.send_header("Content-Length", length or str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
