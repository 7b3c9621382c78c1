"""What a release engineer shows to others: attestations, what the server has, and the version that a directory requires."""
import hashlib
import json
import subprocess
import time

import rsdump
from git_tree import GitTree
from test_changes import ICONS, REGIONS, SETTINGS


def attest(dumps, *arguments):
    return rsdump.run("attest", "--dumps", dumps.path, *arguments)


def test_an_attestation_says_what_is_there_and_is_read_back(dumps, tmp_path, sample):
    commit = GitTree(dumps.path.parent).commit("first")
    file = tmp_path / "evidence/dumps.intoto.json"
    outcome = attest(dumps, "--output", file)
    assert outcome.code == rsdump.DONE and outcome.says("SHA256SUMS is beside it"), str(outcome)
    statement = json.loads(file.read_text())
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    digests = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    assert set(digests) == {"dumps.yaml", "dumps.lock.json", *(f"{name}.zip" for name in dumps.lock["collections"])}
    for name, digest in digests.items():
        assert hashlib.sha256((dumps.path / name).read_bytes()).hexdigest() == digest
    predicate = statement["predicate"]
    assert predicate["commit"] == commit and predicate["rsdump"] == "0.1.0"
    bundle = next(each for each in predicate["bundles"] if each["collection"] == SETTINGS)
    entry = dumps.lock["collections"][SETTINGS]
    assert (bundle["content"], bundle["sha256"], bundle["timestamp"]) == (
        entry["content"], entry["bundle"]["sha256"], entry["timestamp"])
    assert bundle["signer"] and bundle["root"] and bundle["verifiedAt"]
    sums = file.parent / "SHA256SUMS"
    subprocess.run(["sha256sum", "--check", "--quiet", str(sums)], cwd=dumps.path, check=True)
    sums.write_bytes(sums.read_bytes().replace(b"\n", b"\r\n"))
    assert attest(dumps, "--output", file).code == rsdump.DONE, "the sums are the same with other line ends"
    (tmp_path / "SHA256SUMS").write_text("0" * 64 + "  another-file\n")
    refused = attest(dumps, "--output", tmp_path / "a.json")
    assert refused.code == rsdump.USAGE and not (tmp_path / "a.json").exists(), str(refused)
    assert attest(dumps, "--output", file).code == rsdump.DONE
    assert attest(dumps).json()["subject"] == statement["subject"]
    assert dumps.verify("--attestation", file).code == rsdump.DONE
    # Later states differ, and the commit still has what was attested.
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    assert dumps.refresh().code == rsdump.DONE
    changed = dumps.verify("--attestation", file)
    assert changed.code == rsdump.VERIFICATION and changed.says(f"{SETTINGS}.zip: expected SHA-256"), str(changed)
    document = dumps.verify("--attestation", file, "--format", "json").json()
    assert document["verified"] is False and any(SETTINGS in each for each in document["unattested"])
    old = rsdump.run("verify", "--attestation", file, "--dumps", f"git:{commit}:{dumps.path}")
    assert old.code == rsdump.DONE, str(old)


def test_nothing_is_attested_that_does_not_verify(dumps, tmp_path):
    content = bytearray(dumps.bundle_path(SETTINGS).read_bytes())
    content[len(content) // 2] ^= 1
    dumps.bundle_path(SETTINGS).write_bytes(content)
    outcome = attest(dumps, "--output", tmp_path / "a.json")
    assert outcome.code == rsdump.VERIFICATION and not (tmp_path / "a.json").exists(), str(outcome)
    for text in ("", "{}", "[]", '{"_type":"https://in-toto.io/Statement/v1","predicateType":"x","subject":[]}'):
        (tmp_path / "b.json").write_text(text)
        wrong = dumps.verify("--attestation", tmp_path / "b.json")
        assert wrong.code == rsdump.USAGE and wrong.says("b.json: expected an attestation"), str(wrong)
    assert dumps.verify("--attestation", tmp_path / "none.json").code == rsdump.USAGE


def test_list_says_what_the_server_has(dumps, sample):
    def listed(*arguments):
        outcome = rsdump.run("list", "--dumps", dumps.path, *arguments, "--format", "json")
        assert outcome.code == rsdump.DONE, str(outcome)
        return {each["collection"]: each for each in outcome.json()["collections"]}
    found = listed()
    assert {name: found[name]["status"] for name in (SETTINGS, REGIONS)} == {SETTINGS: "current", REGIONS: "current"}
    assert found[SETTINGS]["timestamp"] == dumps.lock["collections"][SETTINGS]["timestamp"]
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    assert listed()[SETTINGS]["status"] == "behind"
    icons = listed("icons", "--sizes")
    assert list(icons) == [ICONS] and icons[ICONS]["records"] == dumps.lock["collections"][ICONS]["records"]
    assert icons[ICONS]["attachments"] > 0 and icons[ICONS]["attachmentBytes"] > 0
    assert rsdump.run("remove", ICONS, "--dumps", dumps.path).code == rsdump.DONE
    assert dumps.refresh().code == rsdump.DONE
    assert ICONS not in listed("--new")
    sample.delete_record(ICONS, "petals-06")
    assert listed("--new")[ICONS]["status"] == "new"
    text = rsdump.run("list", "--dumps", dumps.path, "--sizes")
    assert text.code == rsdump.DONE and text.says("record", "collections"), str(text)
    gone = rsdump.run("list", "--dumps", dumps.path, "--server", "http://127.0.0.1:9/v1")
    assert gone.code == rsdump.UNREACHABLE, str(gone)


def test_a_directory_may_require_a_later_rsdump(dumps):
    text = dumps.config.read_text()
    for requirement, works in ((">= 0.1", True), (">=0.1.0", True), (">= 0.2", False), (">= 1", False)):
        dumps.config.write_text(text.replace("version: 1", f'version: 1\nrequires: "{requirement}"\nfuture: 1' if not works
                                             else f'version: 1\nrequires: "{requirement}"', 1))
        outcome = dumps.verify()
        assert outcome.code == (rsdump.DONE if works else rsdump.USAGE), str(outcome)
        assert works or outcome.says(requirement, "this rsdump is 0.1.0", "update rsdump"), str(outcome)
    dumps.config.write_text(text.replace("version: 1", "version: 1\nrequires: newest", 1))
    assert dumps.verify().says("requires is", 'such as ">= 0.2"')


def test_a_failure_says_since_when_and_which_name_was_meant(dumps, sample):
    tree = GitTree(dumps.path.parent)
    tree.commit("first")
    # One collection fails every night, while another one changes.
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    text = dumps.config.read_text()
    dumps.config.write_text(text.replace(f"  {SETTINGS}:", f"  {SETTINGS}:\n    budget:\n      bundle: 10", 1))
    assert dumps.config.read_text() != text
    time.sleep(1.1)  # git's times have no fractions
    for night in range(3):
        sample.put_record(REGIONS, {"id": f"night-{night}", "name": "x"})
        failed = dumps.refresh()
        assert failed.code == rsdump.SOME_FAILED, str(failed)
        tree.commit(f"night {night}")
    failed = dumps.refresh("--format", "json")
    notes = next(each for each in failed.json()["collections"] if each["collection"] == SETTINGS)["notes"]
    assert any("3 refreshes since" in note for note in notes), notes
    status = dumps.status("--format", "json").json()
    settings = next(each for each in status["collections"] if each["collection"] == SETTINGS)
    regions = next(each for each in status["collections"] if each["collection"] == REGIONS)
    assert settings["missedRefreshes"] == 3 and "missedRefreshes" not in regions, settings
    assert dumps.status().says("3 refreshes since")
    assert rsdump.run("add", "main/region", "--dumps", dumps.path).code == rsdump.DONE
    assert dumps.refresh("main/region").says("did you mean main/regions?")
