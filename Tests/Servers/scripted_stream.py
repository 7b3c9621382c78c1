"""A loopback server whose connections follow a script: an event stream that cuts, stalls, lies or asks for a pause."""
import re
import socket
import struct
import threading
import time

HEAD = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
        b"Connection: close\r\n\r\n")


def update(timestamp, *collections):
    named = ',"collections":[' + ",".join(f'"{name}"' for name in collections) + "]" if collections else ""
    return f'id: {timestamp}\nevent: update\ndata: {{"timestamp":{timestamp}{named}}}\n\n'.encode()


def answer(status, *headers, body=b""):
    lines = [f"HTTP/1.1 {status} X", *headers, f"Content-Length: {len(body)}", "Connection: close"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class ScriptedStream:
    """Runs as long as a `with` block does. Each connection takes the next script; the last script serves all that follow.

    A script is a list: bytes are sent, a number is a pause in seconds, "cut" resets the connection, "hold" keeps it open until
    the server ends. At a script's end the connection is closed. Who asks for the list of collections gets one with the timestamp
    that was announced last; that is no connection of the script.
    """

    def __init__(self, *scripts):
        self.scripts = list(scripts)
        self.requests, self.times = [], []
        self.announced = 0
        self.lock = threading.Lock()
        self.stopped = threading.Event()

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v2"
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.listener.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection, time.monotonic()), daemon=True).start()

    def _serve(self, connection, began):
        with connection:
            try:
                request = b""
                while b"\r\n\r\n" not in request:
                    part = connection.recv(4096)
                    if not part:
                        return
                    request += part
                if b"/buckets/monitor/" in request.split(b"\r\n")[0]:
                    body = f'{{"metadata":{{}},"timestamp":{self.announced},"changes":[]}}'.encode()
                    return connection.sendall(answer(200, "Content-Type: application/json", body=body))
                with self.lock:
                    script = self.scripts[min(len(self.times), len(self.scripts) - 1)]
                    self.times.append(began)
                    self.requests.append(request.decode())
                for step in script:
                    if step == "cut":
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        return
                    if step == "hold":
                        self.stopped.wait(120)
                    elif isinstance(step, bytes):
                        for number in re.findall(rb'"timestamp":(\d+)', step):
                            self.announced = int(number)
                        connection.sendall(step)
                    else:
                        time.sleep(step)
            except OSError:
                pass
