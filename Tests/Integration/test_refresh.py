"""A refresh of all real collections, checked with independent tools."""
import hashlib
import json
import re
import subprocess

import rsdump
import verify
from conftest import FOREIGN, REAL_COLLECTIONS
from dumps import Dumps
from json_shape import lock_entries, without_verification_time


def test_records_and_timestamps_equal_the_source(refreshed_real, real_names, real):
    """Compares with the dump, except for the hash and size of synthesized attachments, which come from the server."""
    for name in real_names:
        dump = json.loads((REAL_COLLECTIONS / f"{name}.json").read_bytes())
        served = {record["id"]: record for record in real.changeset(name)["changes"]}
        expected = sorted(dump["data"], key=lambda record: record["id"])
        for record in expected:
            if record.get("attachment"):
                record["attachment"].update({k: served[record["id"]]["attachment"][k] for k in ("hash", "size")})
        bundle = refreshed_real.bundle(name)
        assert bundle.records == expected, name
        assert bundle.timestamp == dump["timestamp"], name


def test_autograph_utils_accepts_every_bundle_by_its_own_bytes(refreshed_real, real_names, real):
    for name in real_names:
        bundle = refreshed_real.bundle(name)
        signature = bundle.signatures[0]
        assert verify.check(
            bundle.payload, name.split("/")[0], signature["signature"], signature["x5u"], lambda url: bundle.chain,
            real.root)


def test_the_recipe_verifies_a_bundle_without_rsdump(dumps, sample):
    """Runs the article's code unmodified, with Python's standard library and OpenSSL."""
    article = (rsdump.REPOSITORY / "Sources/Library/RemoteSettings/Documentation.docc/Trust.md").read_text()
    [python] = re.findall(r"^```python\n(.*?)^```$", article, re.MULTILINE | re.DOTALL)
    [shell] = re.findall(r"^```shell\n(.*?)^```$", article, re.MULTILINE | re.DOTALL)
    sample.signing("main/markets", {"tampered": True}, {})
    sample.delete_record("main/markets", "nowhere")
    assert dumps.refresh().code == rsdump.DONE
    folder = dumps.path.parent
    (folder / "unpack.py").write_text(python)

    def audit():
        return subprocess.run(
            ["bash", "-c", f"set -e -o pipefail\n{shell}"], cwd=folder, capture_output=True, text=True)
    good = audit()
    assert good.returncode == 0, good.stdout + good.stderr
    assert "Verified OK" in good.stdout and "certificate-1.pem: OK" in good.stdout
    root = good.stdout.splitlines()[-1].split("=")[1].replace(":", "").lower()
    assert root == dumps.lock["collections"]["main/markets"]["trust"]["signed"]["root"]
    assert "DNS:remote-settings.content-signature.mozilla.org" in good.stdout
    dumps.edit_bundle("main/markets", "records.json", b'"id"', b'"ID"')
    bad = audit()
    assert bad.returncode != 0 and "Verified OK" not in bad.stdout, bad.stdout + bad.stderr


def test_every_attachment_matches_its_record(refreshed_real, real_names):
    found = 0
    for name in real_names:
        bundle = refreshed_real.bundle(name)
        attachments = bundle.attachments
        declared = [record["attachment"] for record in bundle.records if record.get("attachment")]
        assert set(attachments) == {each["hash"] for each in declared}, name
        for each in declared:
            content = attachments[each["hash"]]
            assert (hashlib.sha256(content).hexdigest(), len(content)) == (each["hash"], each["size"])
            found += 1
    assert found > 1000, FOREIGN


def test_the_lock_names_every_bundle_and_verify_agrees(refreshed_real, real_names):
    assert sorted(lock_entries(refreshed_real.lock)) == refreshed_real.names == real_names
    outcome = refreshed_real.verify()
    assert outcome.code == rsdump.DONE, str(outcome)


def test_refresh_elsewhere_is_byte_identical(refreshed_sample, sample, tmp_path):
    """With a different time zone, umask, locale and directory name."""
    other = Dumps(tmp_path / "Ein anderer Ort, größer" / "d")
    env = {"TZ": "Pacific/Kiritimati", "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}
    assert other.add(sample, *reversed(refreshed_sample.names), env=env).code == rsdump.DONE
    outcome = other.refresh(env=env, umask=0o077, cwd=tmp_path)
    assert outcome.code == rsdump.DONE, str(outcome)
    assert {name: other.bundle_path(name).read_bytes() for name in other.names} == {
        name: refreshed_sample.bundle_path(name).read_bytes() for name in refreshed_sample.names}
    assert without_verification_time(other.lock) == without_verification_time(refreshed_sample.lock)
    # Exports of the same directory are identical too.
    there = refreshed_sample.copy(tmp_path / "Ein dritter Ort")
    for form, more in (("tar.zst", ()), ("firefox", ()), ("mirror", ("--url", "https://settings.example.org"))):
        made = []
        for dumps, options in ((refreshed_sample, {}), (there, {"env": env, "umask": 0o077, "cwd": tmp_path})):
            output = tmp_path / f"{form}-{len(made)}"
            outcome = rsdump.run("export", "--to", form, "--dumps", dumps.path, "--output", output, *more, **options)
            assert outcome.code == rsdump.DONE, str(outcome)
            made.append({path.relative_to(output): path.read_bytes() for path in [output, *output.rglob("*")] if path.is_file()})
        assert made[0] == made[1] != {}, form


def test_one_record_changed_fetches_no_attachment_again(refreshed_real, real, tmp_path):
    dumps = refreshed_real.copy(tmp_path / "dumps")
    name = "security-state/intermediates"
    first = real.changeset(name)["changes"][0]
    before = dumps.files()
    real.patch_record(name, first["id"], {"derHash": "changed"})
    position = real.log_position()
    outcome = dumps.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    after = dumps.files()
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert changed == {f"{name}.zip", "dumps.lock.json"}
    assert not [each["path"] for each in real.requests(position) if "/attachments/" in each["path"]]
    record = next(each for each in dumps.bundle(name).records if each["id"] == first["id"])
    assert record["derHash"] == "changed"
    assert len(dumps.bundle(name).attachments) == len(refreshed_real.bundle(name).attachments)


def test_an_unchanged_refresh_is_one_request_and_no_write(refreshed_real, real, tmp_path):
    dumps = refreshed_real.copy(tmp_path / "dumps")
    before, position = dumps.stats(), real.log_position()
    outcome = dumps.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    assert len(real.requests(position)) == 1, real.requests(position)
    assert dumps.stats() == before
