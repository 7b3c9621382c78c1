"""`kill -9` at random moments of processes that store a catalogue, while others read: every reading is of one catalogue.

RELEASE_KILL_ROUNDS says how many processes are killed (10), KILL_SEED repeats a run; both are in every failure message. The
model of the steps is Tests/Models/catalogue.pml.
"""
import os
import random
import secrets
import signal
import subprocess
import threading
import time
import types

import rsdump
from dumps import Dumps
from mirror import Mirror
from serve import Serving

PROGRAM = rsdump.REPOSITORY / ".build/debug/test-process"
ROUNDS = int(os.environ.get("RELEASE_KILL_ROUNDS", "10"))
SEED = os.environ.get("KILL_SEED") or secrets.token_hex(4)
NAMES = ["one", "two", "three", "four", "five"]


class Shop:
    """An origin that publishes catalogues: each record's `number` is the catalogue's."""

    def __init__(self, path):
        self.path = path
        self.number = 0
        (path / "sources/main").mkdir(parents=True)
        made = rsdump.run("keys", "create", path / "keys")
        assert made.code == rsdump.DONE, str(made)
        self.root = rsdump.run("keys", "status", path / "keys", "--format", "json").json()["root"]

    def publish(self, *options):
        self.number += 1
        for name in NAMES:
            (self.path / f"sources/main/{name}.yaml").write_text(f"records:\n  - {{id: a, number: {self.number}}}\n")
        outcome = rsdump.run(
            "publish", "--sources", self.path / "sources", "--keys", self.path / "keys", "--dumps", self.path / "dumps",
            *options)
        assert outcome.code == rsdump.DONE, str(outcome)


def process(mode, storage, server, shop, **options):
    return subprocess.Popen(
        [PROGRAM, "catalogue", mode, storage, f"{server.url}/v2", shop.root, "shop", *NAMES], stdout=subprocess.PIPE, text=True,
        env=rsdump.environment(), **options)


def sync_to(number, storage, server, shop):
    """The server takes a moment to see what was published."""
    deadline = time.monotonic() + 60
    while True:
        running = process("sync", storage, server, shop)
        printed = running.communicate(timeout=60)[0]
        assert running.returncode == 0, printed
        if printed == f"{number}\n":
            return
        assert time.monotonic() < deadline, f"expected catalogue {number}, found {printed}"


def test_every_reader_sees_one_catalogue(tmp_path):
    chance = random.Random(SEED)
    shop = Shop(tmp_path)
    shop.publish("--publisher", "shop")
    storage = tmp_path / "storage"
    killed = 0
    with Serving("--watch", "--dumps", tmp_path / "dumps") as server:
        began = time.monotonic()
        sync_to(1, storage, server, shop)
        seconds = time.monotonic() - began
        readers = [process("read", storage, server, shop, stdin=subprocess.PIPE) for _ in range(2)]
        for number in range(ROUNDS):
            where = f"round {number} of KILL_SEED={SEED} RELEASE_KILL_ROUNDS={ROUNDS}"
            if number % 5 == 0:
                shop.publish()
            # Two at once, each killed at a moment of its own.
            ending = [process("sync", storage, server, shop) for _ in range(2)]
            time.sleep(chance.uniform(0, seconds * 1.2))
            for victim in ending:
                victim.send_signal(signal.SIGKILL)
                killed += victim.wait() == -signal.SIGKILL
                victim.stdout.close()
            for reader in readers:
                assert reader.poll() is None, f"{where}: {reader.communicate()[0]}"
        sync_to(shop.number, storage, server, shop)
        time.sleep(0.2)
        for reader in readers:
            printed = reader.communicate(timeout=60)[0]
            assert reader.returncode == 0, f"KILL_SEED={SEED}: {printed}"
            assert printed.split()[-1] == str(shop.number), printed
        # What killed processes have left is gone after the next catalogue.
        shop.publish()
        sync_to(shop.number, storage, server, shop)
    assert killed > ROUNDS / 4
    assert len(list((storage / "states").iterdir())) == len(NAMES) + 1


def test_who_syncs_from_a_mirror_while_it_is_exported_gets_one_catalogue(tmp_path):
    """A sync makes several requests, and the mirror's tree may change between any two of them."""
    rounds = 6
    shop = Shop(tmp_path)
    shop.publish("--publisher", "shop")
    mirror = Mirror(tmp_path / "nginx")
    dumps = Dumps(tmp_path / "dumps")
    storage = tmp_path / "storage"
    server = types.SimpleNamespace(url=mirror.origin)
    ended, printed = threading.Event(), []
    assert mirror.publish(dumps).code == rsdump.DONE

    def follow():
        while not ended.is_set():
            syncing = process("sync", storage, server, shop)
            printed.append((syncing.communicate(timeout=60)[0], syncing.returncode))

    with mirror:
        sync_to(1, storage, server, shop)
        readers = [process("read", storage, server, shop, stdin=subprocess.PIPE) for _ in range(2)]
        followers = [threading.Thread(target=follow) for _ in range(2)]
        for each in followers:
            each.start()
        for _ in range(rounds):
            shop.publish()
            exported = mirror.publish(dumps)
            assert exported.code == rsdump.DONE, str(exported)
        ended.set()
        for each in followers:
            each.join()
        sync_to(rounds + 1, storage, server, shop)
        for reader in readers:
            told = reader.communicate(timeout=60)[0]
            assert reader.returncode == 0, told
            assert set(map(int, told.split())) <= set(range(1, rounds + 2)) and len(told.split()) > 1, told
    assert sum(code == 0 for _, code in printed) > rounds / 2, printed
