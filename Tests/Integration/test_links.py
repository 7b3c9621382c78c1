"""Links, pipes and devices in the place of files and folders: nothing outside of what was named is written or removed, and
nothing waits for somebody at the other end of a pipe."""
import json
import os
import shutil

import pytest

import rsdump

SETTINGS = "main/settings"
OTHERS = "precious, and nobody's business here\n"


@pytest.fixture
def outside(tmp_path):
    """A folder that no command may touch, with names in it that commands use."""
    folder = tmp_path / "outside"
    folder.mkdir()
    for name in ("settings.zip", "markets.zip", "old.zip", "settings.snapshot", "index.json", "README"):
        (folder / name).write_text(OTHERS)
    return folder


def check_untouched(outside):
    assert sorted(path.name for path in outside.rglob("*")) == [
        "README", "index.json", "old.zip", "markets.zip", "settings.snapshot", "settings.zip"]
    assert all(path.read_text() == OTHERS for path in outside.iterdir())


def test_refresh_refuses_bucket_link(dumps, sample, outside):
    shutil.rmtree(dumps.path / "main")
    (dumps.path / "main").symlink_to(outside)
    outcome = rsdump.run("refresh", "--dumps", dumps.path)
    assert outcome.code != rsdump.DONE and "symbolic link" in str(outcome)
    check_untouched(outside)


def test_rm_follows_no_bucket_link(dumps, outside):
    shutil.rmtree(dumps.path / "main")
    (dumps.path / "main").symlink_to(outside)
    rsdump.run("remove", SETTINGS, "--dumps", dumps.path)
    check_untouched(outside)


def test_rebuild_refuses_bucket_link(dumps, outside, tmp_path):
    output = tmp_path / "rebuilt"
    output.mkdir()
    (output / "main").symlink_to(outside)
    outcome = rsdump.run("verify", "--rebuild", "--dumps", dumps.path, "--output", output)
    assert outcome.code != rsdump.DONE
    check_untouched(outside)


def test_embed_follows_no_link(dumps, outside, tmp_path):
    output = tmp_path / "Sources/Embedded"
    assert rsdump.run("embed", "--dumps", dumps.path, "--output", output, "--stored").code == rsdump.DONE
    folders = [path for path in output.rglob("main") if path.is_dir()]
    assert folders, list(output.rglob("*"))
    shutil.rmtree(folders[0])
    folders[0].symlink_to(outside)
    outcome = rsdump.run("embed", "--dumps", dumps.path, "--output", output, "--stored")
    assert outcome.code != rsdump.DONE, str(outcome)
    check_untouched(outside)


def test_export_update_follows_no_link(dumps, outside, tmp_path):
    output = tmp_path / "export"
    assert rsdump.run("export", "--to", "firefox", "--dumps", dumps.path, "--output", output).code == rsdump.DONE
    folder = next(path for path in output.rglob("main") if path.is_dir())
    shutil.rmtree(folder)
    folder.symlink_to(outside)
    rsdump.run("export", "--to", "firefox", "--dumps", dumps.path, "--output", output, "--update")
    check_untouched(outside)


def test_sync_refuses_links_in_storage(dumps, sample, outside, tmp_path):
    storage = tmp_path / "storage"
    storage.mkdir()
    (storage / "states").symlink_to(outside)
    (storage / "chains").symlink_to(outside)
    outcome = rsdump.run(
        "get", SETTINGS, "--sync", "--storage", storage, "--server", sample.url, "--trust-root", sample.root)
    assert outcome.code != rsdump.DONE and "symbolic link" in str(outcome), str(outcome)
    check_untouched(outside)


def test_mirror_export_follows_no_link(dumps, outside, tmp_path):
    output = tmp_path / "mirror"
    command = ("export", "--to", "mirror", "--url", "http://mirror.example", "--dumps", dumps.path, "--output", output)
    assert rsdump.run(*command).code == rsdump.DONE
    tree = next(path for path in output.iterdir() if path.is_dir() and not path.is_symlink())
    (output / ".tmp-tree").symlink_to(outside)
    shutil.rmtree(tree)
    tree.symlink_to(outside)
    rsdump.run(*command)
    check_untouched(outside)


@pytest.mark.parametrize("place", ["Sources", "./Sources", "Sources/deeper/..", "other/../Sources", "absolute"])
def test_outputs_refuse_links_in_checkout(dumps, sample, tmp_path, place):
    """A commit can carry a link to .git/hooks in place of a folder in which a nightly job writes."""
    checkout, hooks = tmp_path / "checkout", tmp_path / "checkout/.git/hooks"
    (hooks / "deeper").mkdir(parents=True)
    (checkout / "other").mkdir()
    (checkout / "Sources").symlink_to(".git/hooks")
    place = checkout / "Sources" if place == "absolute" else place
    icon = json.loads(rsdump.run("show", f"{dumps.path}/main/icons.zip", "--records").out.splitlines()[0])["id"]
    assert rsdump.run("keys", "create", tmp_path / "keys").code == rsdump.DONE
    export = ("export", "--dumps", dumps.path, "--to")
    for command in (
        ("embed", "--dumps", dumps.path, "--output", f"{place}/Embedded"),
        ("embed", "--dumps", dumps.path, "--output", f"{place}/new/Embedded", "--stored"),
        ("embed", "--dumps", dumps.path, "--output", "Embedded", "--swift", f"{place}/new/Dumps.swift"),
        (*export, "changesets", "--output", f"{place}/export"),
        (*export, "firefox", "--update", "--output", f"{place}/new/x"),
        (*export, "tar.zst", "--output", f"{place}/export.tar.zst"),
        (*export, "json", "--key", "id", "--value", "id", SETTINGS, "--output", f"{place}/new/values.json"),
        (*export, "mirror", "--url", "http://mirror.example", "--output", f"{place}/mirror"),
        ("verify", "--rebuild", "--dumps", dumps.path, "--output", f"{place}/rebuilt"),
        ("refresh", "--dumps", dumps.path, "--summary", f"{place}/summary.md"),
        ("keys", "request", tmp_path / "keys", "--for", "signer", "--output", f"{place}/request.pem"),
        ("show", dumps.path / "main/icons.zip", icon, "--attachment", "--output", f"{place}/icon"),
    ):
        outcome = rsdump.run(*command, cwd=checkout)
        assert outcome.code == rsdump.USAGE and outcome.says("symbolic link"), str(outcome)
    assert [path.name for path in hooks.rglob("*")] == ["deeper"]
    # The way to the checkout, and to other places, is the user's.
    (tmp_path / "way").symlink_to(checkout)
    for output in (tmp_path / "way/other/Embedded", "../way/../checkout/other/Embedded"):
        outcome = rsdump.run("embed", "--dumps", dumps.path, "--output", output, cwd=checkout)
        assert outcome.code == rsdump.DONE, str(outcome)


@pytest.mark.parametrize("kind", ["pipe", "device", "link"])
def test_output_to_pipe_device_or_link_is_refused(dumps, sample, outside, tmp_path, kind):
    output, keys = tmp_path / "output", tmp_path / "keys"
    if kind == "pipe":
        os.mkfifo(output)
    else:
        # As /dev/stdout leads to what standard output is.
        output.symlink_to("/dev/zero" if kind == "device" else outside / "README")

    def identity():
        status = os.lstat(output)
        return status.st_mode, status.st_ino, status.st_mtime_ns

    before = identity()
    assert rsdump.run("keys", "create", keys).code == rsdump.DONE
    icon = json.loads(rsdump.run("show", f"{dumps.path}/main/icons.zip", "--records").out.splitlines()[0])["id"]
    export = ("export", "--dumps", dumps.path, "--output", output, "--to")
    defaults = ("--key", "id", "--value", "id", SETTINGS)
    for command in (
        (*export, "tar.zst"), (*export, "tar.zst", "--force"), (*export, "changesets", "--force"),
        (*export, "firefox", "--update"), (*export, "json", *defaults), (*export, "plist", "--force", *defaults),
        ("get", "main/icons", "--packaged", dumps.path, "--attachment", icon, "--output", output, "--storage",
         tmp_path / "storage", "--server", sample.url, "--trust-root", sample.root),
        ("show", dumps.path / "main/icons.zip", icon, "--attachment", "--output", output),
        ("refresh", "--dumps", dumps.path, "--summary", output),
        ("keys", "request", keys, "--for", "signer", "--output", output),
        ("embed", "--dumps", dumps.path, "--output", tmp_path / "Embedded", "--swift", output),
    ):
        outcome = rsdump.run(*command)
        assert outcome.code == rsdump.USAGE and outcome.says(str(output)), str(outcome)
        assert identity() == before, command
    check_untouched(outside)


@pytest.mark.parametrize("place", [
    "dumps.lock.json", "main/settings.zip", ".rsdump/backoff.json", "dumps.lock.json.tmp", "main",
    ".rsdump/next.json", "dumps.yaml.tmp",
])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_commands_refuse_pipes_and_devices(dumps, sample, place, kind):
    path = dumps.path / place
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True, parents=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    # Each ends by itself, one way or another, long before the time-out of a test's command.
    for command in (["refresh"], ["verify"], ["status"], ["get", SETTINGS, "--packaged"]):
        where = () if command[0] == "get" else ("--dumps",)
        outcome = rsdump.run(*command, *where, dumps.path)
        assert outcome.code in range(6), str(outcome)
