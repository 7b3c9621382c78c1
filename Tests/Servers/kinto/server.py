"""The Kinto test server.

    server.py run   --data DIR [--port N] [--review]    in the foreground; prints its URL once it answers
    server.py start --data DIR [--port N] [--review]    in the background; prints its URL, the process id is in DIR/pid
    server.py stop  --data DIR

It writes only to DIR: pki/root.sha256 (the root to trust), attachments/, requests.jsonl, log, pid, url.
Without --port, it uses a free port. With --review, collections are published by kinto-signer after a review.
"""
import argparse
import logging
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import warnings


def run(data, port, review):
    warnings.filterwarnings("ignore")    # from dependencies, about each other
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s [%(name)s] %(message)s")
    logging.getLogger("waitress").setLevel(logging.ERROR)    # "Application returned too few bytes" is an intended fault
    logging.getLogger("kinto.config").setLevel(logging.CRITICAL)    # warns about kinto.ini, which is not needed
    import waitress
    from rs_server import application

    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(256)
    host = f"127.0.0.1:{listener.getsockname()[1]}"
    server = waitress.create_server(application.make(data, host, review), sockets=[listener], threads=16)
    (data / "pid").write_text(f"{os.getpid()}\n")
    (data / "url").write_text(f"http://{host}/v1\n")
    print(f"http://{host}/v1", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    server.run()


def start(data, port, review):
    with open(data / "log", "ab") as log:
        process = subprocess.Popen(
            [sys.executable, __file__, "run", "--data", data, "--port", str(port), *(["--review"] if review else [])],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
    url = process.stdout.readline().decode().strip()
    if not url:
        sys.exit(f"the server did not start; its log is {data / 'log'}:\n" + (data / "log").read_text()[-2000:])
    print(url)


def stop(data):
    pid = int((data / "pid").read_text())
    try:
        os.kill(pid, signal.SIGTERM)
        for _ in range(200):
            os.kill(pid, 0)
            time.sleep(0.02)
    except ProcessLookupError:
        pass
    (data / "pid").unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "start", "stop"])
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--review", action="store_true")
    arguments = parser.parse_args()
    arguments.data = arguments.data.resolve()
    arguments.data.mkdir(parents=True, exist_ok=True)
    if arguments.command == "run":
        run(arguments.data, arguments.port, arguments.review)
    elif arguments.command == "start":
        start(arguments.data, arguments.port, arguments.review)
    else:
        stop(arguments.data)


main()
