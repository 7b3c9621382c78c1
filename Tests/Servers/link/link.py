"""Two network namespaces, near and far, with a link between them that has a delay and a rate.

By netem where the kernel has it, else by link.c between two tun devices. In both, a queue of one product of bandwidth and
round trip (64 KiB at least) drops what comes when it is full, as a router's does. Everything is removed at the end; what a
killed process has left is removed by the next one.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NEAR, FAR = "10.213.77.1", "10.213.77.2"
UNITS = {"kbit": 1_000, "mbit": 1_000_000, "gbit": 1_000_000_000}


class LinkRefused(Exception):
    """What is missing here, or wrong in the request."""


def parse(text):
    """`20ms,100mbit` as seconds of a round trip and bits a second."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)ms,(\d+(?:\.\d+)?)(kbit|mbit|gbit)", text)
    if not match or float(match[2]) == 0:
        raise LinkRefused(f"{text!r}: expected a round trip and a rate, such as 20ms,100mbit")
    return float(match[1]) / 1000, int(float(match[2]) * UNITS[match[3]])


def check(text):
    """Raises LinkRefused where `text` is no link, or a link cannot be made here."""
    parse(text)
    if os.geteuid() != 0:
        raise LinkRefused("network namespaces need root")
    for program, package in ("ip", "iproute2"), ("tc", "iproute2"), ("cc", "gcc"):
        if not shutil.which(program):
            raise LinkRefused(f"there is no {program}: run scripts/setup, which installs {package}")


class Link:
    """Runs for as long as a `with` block does. `near` and `far` are the beginnings of commands that run on that side."""

    def __init__(self, round_trip, rate):
        self.round_trip, self.rate = round_trip, rate
        name = f"rslink{os.getpid()}"
        self.spaces = [f"{name}-near", f"{name}-far"]
        self.devices = [f"rsn{os.getpid()}", f"rsf{os.getpid()}"]
        # What else the machine does must not decide who waits.
        first = ["chrt", "--fifo", "40"] if shutil.which("chrt") else []
        self.near, self.far = ([*first, "ip", "netns", "exec", space] for space in self.spaces)
        self.program = self.folder = self.kind = None

    def __enter__(self):
        for left in re.findall(r"^rslink(\d+)-near", run("ip", "netns", "list"), re.MULTILINE):
            if not pathlib.Path(f"/proc/{left}").exists():
                remove(f"rslink{left}-near", f"rslink{left}-far")
        try:
            self.make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def make(self):
        for space in self.spaces:
            run("ip", "netns", "add", space)
            run("ip", "-n", space, "link", "set", "lo", "up")
        self.kind = "netem" if self.has_netem() else "tun"
        if self.kind == "netem":
            # A veth pair alone holds nothing; netem delays and limits what each side sends.
            run("ip", "link", "add", self.devices[0], "type", "veth", "peer", "name", self.devices[1])
            # Packets as long as a wire's.
            for device in self.devices:
                run("ip", "link", "set", device, "gso_max_segs", "1")
        else:
            self.start_program()
        for space, device, address in zip(self.spaces, self.devices, (NEAR, FAR)):
            run("ip", "link", "set", device, "netns", space)
            run("ip", "-n", space, "address", "add", f"{address}/24", "dev", device)
            run("ip", "-n", space, "link", "set", device, "txqueuelen", "5000", "up")
            # No run learns from the one before.
            run("ip", "netns", "exec", space, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1")
        self.set_round_trip(self.round_trip)

    def has_netem(self):
        return subprocess.run(
            ["tc", "-n", self.spaces[0], "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"],
            capture_output=True).returncode == 0 and not run(
                "tc", "-n", self.spaces[0], "qdisc", "del", "dev", "lo", "root")

    def start_program(self):
        self.folder = tempfile.TemporaryDirectory()
        binary = pathlib.Path(self.folder.name) / "link"
        run("cc", "-O2", "-o", binary, HERE / "link.c")
        # Before those whom it connects: a link keeps its times.
        first = ["chrt", "--fifo", "50"] if shutil.which("chrt") else []
        self.program = subprocess.Popen(
            [*first, binary, *self.devices], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL, start_new_session=True)
        self.tell(0)

    def tell(self, round_trip):
        print(round(round_trip / 2 * 1e6), self.rate, self.queue(), file=self.program.stdin, flush=True)
        if self.program.stdout.readline() != "set\n":
            raise LinkRefused("link.c ended: is there a /dev/net/tun that may be used?")

    def queue(self):
        return max(64 << 10, round(self.rate * self.round_trip / 8))

    def set_round_trip(self, round_trip):
        """Changes the delay and leaves rate and queue as they are."""
        if self.kind == "tun":
            return self.tell(round_trip)
        for space, device in zip(self.spaces, self.devices):
            # netem counts the packets that it delays among those of its queue.
            packets = round((self.queue() + self.rate * round_trip / 16) / 1500) + 1
            run("tc", "-n", space, "qdisc", "replace", "dev", device, "root", "netem", "delay",
                f"{round_trip / 2 * 1e6:.0f}us", "rate", f"{self.rate}bit", "limit", str(packets))

    def __exit__(self, *_):
        if self.program:
            self.program.stdin.close()
            self.program.wait()
        remove(*self.spaces)
        if self.kind == "netem":
            subprocess.run(["ip", "link", "delete", self.devices[0]], capture_output=True)
        if self.folder:
            self.folder.cleanup()


def remove(*spaces):
    """Ends what still runs in namespaces, and removes them with their devices."""
    for space in spaces:
        pids = subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True).stdout.split()
        for pid in pids:
            subprocess.run(["kill", pid], capture_output=True)
        subprocess.run(["ip", "netns", "delete", space], capture_output=True)


def run(*command):
    finished = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if finished.returncode != 0:
        raise LinkRefused(f"{' '.join(map(str, command))}: {finished.stderr.strip() or finished.returncode}")
    return finished.stdout
