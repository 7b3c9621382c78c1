"""rsdump serve --history: deltas from older states in git commits and in folders of bundles."""
import json
import shutil
import time

import pytest
import samples

import rsdump
from dumps import Bundle, Dumps
from git import GitTree
from serve import Serving

SETTINGS, MARKETS, ICONS, LARGE = "main/settings", "main/markets", "main/icons", "main/large"
VERSIONS = ("v1", "v2")


def by_id(records):
    return {record["id"]: record for record in records}


def refreshed(dumps):
    outcome = dumps.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)


def told_at_start(serving):
    """Returns the log after it contains the startup line, which follows the URL."""
    while "API: " not in serving.log():
        assert serving.process.poll() is None
    return serving.log()


class States:
    """A dumps directory in a git repository, and a copy of each committed state, oldest first."""

    def __init__(self, dumps, folder):
        self.dumps, self.folder, self.all = dumps, folder, []
        self.tree = GitTree(dumps.path.parent)
        self.commit()

    def commit(self):
        self.tree.commit(f"state {len(self.all)}")
        self.all.append(self.dumps.copy(self.folder / f"state-{len(self.all)}"))

    def refresh(self, commits=True):
        refreshed(self.dumps)
        if commits:
            self.commit()

    def stamps(self, name):
        return [state.bundle(name).timestamp for state in self.all]


@pytest.fixture
def states(dumps, sample, tmp_path):
    """Four states. Records are added, changed and deleted, and one returns; one commit in between is unrelated."""
    states = States(dumps, tmp_path)
    sample.patch_record(SETTINGS, "sync-interval", {"value": 12})
    sample.delete_record(MARKETS, "nowhere")
    sample.put_attachment(ICONS, "petals-23", "petals-23.svg", samples.svg(23), "image/svg+xml")
    states.refresh()
    (dumps.path.parent / "README").write_text("Something else.\n")
    states.tree.commit("something else")
    sample.put_record(MARKETS, {"id": "nowhere", "name": "Nowhere again"})
    sample.put_record(SETTINGS, {"id": "short-lived", "value": 1})
    sample.delete_record(ICONS, "petals-05")
    states.refresh()
    sample.delete_record(SETTINGS, "short-lived")
    sample.delete_record(ICONS, "petals-23")
    sample.delete_record(LARGE, states.all[0].bundle(LARGE).records[0]["id"])
    states.refresh()
    return states


def assert_true_delta(answer, old, new):
    """Checks for exactly the differences between two bundles, with a tombstone for each deleted record."""
    assert answer.status == 200, answer
    before, after = by_id(old.records), by_id(new.records)
    changes = by_id(answer.json()["changes"])
    assert len(changes) == len(answer.json()["changes"])
    assert changes.keys() == {
        identifier for identifier in before.keys() | after.keys() if before.get(identifier) != after.get(identifier)}
    for identifier, change in changes.items():
        if identifier in after:
            assert change == after[identifier]
        else:
            assert change["deleted"] is True and change.keys() <= {"id", "deleted", "last_modified"}
    assert answer.json()["timestamp"] == new.timestamp


def assert_full(serving, name, version, since, new):
    """Checks for a 307 to the full list, which has every record and no tombstones."""
    answer = serving.changeset(name, version, _since=since, _expected=new.timestamp)
    assert answer.status == 307, answer
    location = answer.headers["location"]
    assert location == f"{serving.url}/{version}/buckets/{name.replace('/', '/collections/')}/changeset?_expected={new.timestamp}"
    full = serving.ask(location.removeprefix(serving.url))
    assert full.status == 200 and by_id(full.json()["changes"]) == by_id(new.records)


@pytest.mark.parametrize("version", VERSIONS)
def test_history_serves_delta_for_each_commit(states, sample, version):
    with Serving("--dumps", states.dumps.path, "--history", "git") as serving:
        for name in (SETTINGS, MARKETS, ICONS, LARGE):
            new = states.dumps.bundle(name)
            bucket, collection = name.split("/")
            for state in states.all:
                old = state.bundle(name)
                answer = serving.changeset(name, version, _since=old.timestamp)
                assert_true_delta(answer, old, new)
                # The real server also lists records that were created and deleted since, because it keeps all tombstones.
                url = f"{sample.url.removesuffix('/v1')}/{version}/buckets/{bucket}/collections/{collection}/changeset"
                theirs = json.loads(sample.request("GET", f"{url}?_expected=0&_since={old.timestamp}"))
                assert by_id(answer.json()["changes"]).keys() <= by_id(theirs["changes"]).keys()
                before = by_id(old.records)
                assert [r for r in answer.json()["changes"] if not r.get("deleted")] == sorted(
                    (r for r in theirs["changes"] if not r.get("deleted") and r != before.get(r["id"])),
                    key=lambda record: record["id"])
            for unknown in (new.timestamp - 1, states.stamps(name)[0] - 1, 1):
                assert_full(serving, name, version, unknown, new)
        gone = [r["id"] for r in serving.changeset(SETTINGS, version, _since=states.stamps(SETTINGS)[2]).json()["changes"]]
        assert gone == ["short-lived"]
        older = sum(len({state.bundle(name).timestamp for state in states.all}) - 1 for name in samples.NAMES)
        assert f"5 collections, deltas from {older} older states; API: {serving.url}/v1" in told_at_start(serving)
        assert len(serving.log().splitlines()) == 1


def test_clients_of_older_states_get_current_records(states, sample, tmp_path):
    """Refresh and sync use the delta if there is one, else the full list; both verify the result."""
    sample.patch_record(SETTINGS, "sync-interval", {"value": 13})
    states.refresh(commits=False)
    unknown = states.dumps.copy(tmp_path / "unknown")    # a state that no commit has
    sample.patch_record(SETTINGS, "sync-interval", {"value": 14})
    states.refresh()
    new = states.dumps
    with Serving("--dumps", new.path, "--history", "git") as serving:
        for state, redirects in [*((state, 0) for state in states.all[:-1]), (unknown, 1)]:
            pointed_at(state, serving, sample)
            behind = sum(state.bundle(name).timestamp != new.bundle(name).timestamp for name in samples.NAMES)
            assert behind > 0
            counted = (served_deltas(serving), served_redirects(serving))
            app = ("--storage", tmp_path / f"app-{state.path.name}", "--packaged", state.path)
            synced = rsdump.run("get", "--sync", *samples.NAMES, *app)
            assert synced.code == rsdump.DONE, str(synced)
            outcome = state.refresh()
            assert outcome.code == rsdump.DONE, str(outcome)
            assert (served_deltas(serving) - counted[0], served_redirects(serving) - counted[1]) == (
                2 * (behind - redirects), 2 * redirects)
            assert all(state.bundle(name).payload == new.bundle(name).payload for name in samples.NAMES)
            for name in (SETTINGS, MARKETS, ICONS, LARGE):    # without filter expressions
                got = rsdump.run("get", name, *app)
                assert got.code == rsdump.DONE, str(got)
                assert by_id(map(json.loads, got.out.splitlines())) == by_id(new.bundle(name).records)
            assert state.verify().code == rsdump.DONE


def pointed_at(dumps, serving, sample):
    """Makes the directory look as if it was refreshed from this server, because an app's snapshot must come from its server."""
    for path in (dumps.config, dumps.path / "dumps.lock.json"):
        text = path.read_text()
        assert sample.url in text
        path.write_text(text.replace(sample.url, f"{serving.url}/v1"))


def served_deltas(serving):
    return serving.metric('rsdump_requests_total{route="delta",status="200"}')


def served_redirects(serving):
    return serving.metric('rsdump_requests_total{route="delta",status="307"}')


def test_history_from_folders_of_bundles(states):
    """In nested folders, next to other files; a damaged bundle is reported, and only its state is unavailable."""
    folder = states.folder / "archive"
    shutil.copytree(states.all[0].path, folder / "2026/first")
    shutil.copytree(states.all[1].path, folder / "second")
    (folder / "letter.zip").write_text("Dear reader")
    damage(folder / "second/main/settings.zip")
    other = states.folder / "other"
    shutil.copytree(states.all[2].path, other)
    with Serving("--dumps", states.dumps.path, "--history", folder, "--history", other) as serving:
        for name in (SETTINGS, MARKETS, ICONS):
            new = states.dumps.bundle(name)
            for number, state in enumerate(states.all):
                old = state.bundle(name)
                if (name, number) == (SETTINGS, 1):
                    assert_full(serving, name, "v2", old.timestamp, new)
                else:
                    assert_true_delta(serving.changeset(name, _since=old.timestamp), old, new)
        lines = told_at_start(serving).splitlines()[:-1]
        assert len(lines) == 1 and "main/settings" in lines[0] and "second/main/settings.zip" in lines[0], lines
        assert serving.metric("rsdump_collections_damaged ") == 0


def damage(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_watch_reads_new_commits_as_history(states, sample):
    """A pull brings two states at once. The state that was never served is known from its commit. States that were served are known
    even without a commit. Every response contains one complete state."""
    published = states.tree
    clone = states.folder / "clone"
    published.git("clone", "--quiet", published.root, clone)
    served = Dumps(clone / states.dumps.path.name)
    with Serving("--dumps", served.path, "--history", "git", "--watch") as serving:
        before = states.dumps.bundle(SETTINGS)
        assert serving.changeset(SETTINGS).json()["timestamp"] == before.timestamp
        for value in (20, 21):
            sample.patch_record(SETTINGS, "sync-interval", {"value": value})
            sample.delete_record(ICONS, f"petals-{value}")
            states.refresh()
        payloads = {state.bundle(SETTINGS).timestamp: by_id(state.bundle(SETTINGS).records) for state in states.all}
        # Update the branch before the files. If the server saw the files first, it would know only the earlier commits, and would
        # serve the state in between as a full list.
        published.git("fetch", "--quiet", published.root, "main", cwd=clone)
        published.git("update-ref", "HEAD", "FETCH_HEAD", cwd=clone)
        published.git("checkout", "--quiet", "HEAD", "--", ".", cwd=clone)
        new = states.dumps.bundle(SETTINGS)
        deadline = time.monotonic() + 120
        taken_up = set()
        while taken_up != {SETTINGS, ICONS}:
            assert time.monotonic() < deadline, serving.log()
            answer = serving.changeset(SETTINGS).json()
            assert by_id(answer["changes"]) == payloads[answer["timestamp"]]
            taken_up = {name for name in (SETTINGS, ICONS)
                        if serving.changeset(name).json()["timestamp"] == states.stamps(name)[-1]}
        for name in (SETTINGS, ICONS):
            new = states.dumps.bundle(name)
            for state in states.all:
                old = state.bundle(name)
                assert_true_delta(serving.changeset(name, _since=old.timestamp), old, new)
        # Two uncommitted refreshes in the directory: the first state is known because it was served.
        for value in (30, 31):
            sample.patch_record(SETTINGS, "sync-interval", {"value": value})
            refreshed(served)
            stamp = served.bundle(SETTINGS).timestamp
            while serving.changeset(SETTINGS).json()["timestamp"] != stamp:
                assert time.monotonic() < deadline, serving.log()
            older = new if value == 30 else kept
            kept = Bundle(shutil.copy(served.bundle_path(SETTINGS), states.folder / f"kept-{value}.zip"))
            if value == 31:
                assert_true_delta(serving.changeset(SETTINGS, _since=older.timestamp), older, kept)
        assert_true_delta(serving.changeset(SETTINGS, _since=before.timestamp), before, kept)
