"""é as one scalar and e with a combining accent in serve, mirrors and diff. commands/spellings.txt covers the other commands."""
import hashlib
import json
import urllib.parse


import rsdump
from serve import Serving

ONE, TWO = "caf\u00e9", "cafe\u0301"


def test_locations_and_differences(tmp_path):
    """`serve` and a mirror keep each file under its own location, and `diff` reports a changed spelling."""
    tree, records = tmp_path / "tree", []
    (tree / "main/files").mkdir(parents=True)
    for name, spelling in (("a", ONE), ("b", TWO)):
        content = f"content of {name}".encode()
        location = f"main/files/{spelling}.txt"
        record = {"id": name, "last_modified": 1_700_000_000_001, spelling: 1, "attachment": {
            "filename": "x", "hash": hashlib.sha256(content).hexdigest(), "size": len(content), "location": location,
            "mimetype": "text/plain"}}
        records.append(record)
        (tree / f"main/files/{name}").write_bytes(content)
        (tree / f"main/files/{name}.meta.json").write_text(json.dumps(record))

    def take(folder):
        (tree / "main/files.json").write_text(json.dumps({"data": records, "timestamp": records[0]["last_modified"]}))
        outcome = rsdump.run("import", "--from", "firefox", tree, "--dumps", folder)
        assert outcome.code == rsdump.DONE, str(outcome)

    take(tmp_path / "dumps")
    mirror = tmp_path / "mirror"
    outcome = rsdump.run(
        "export", "--to", "mirror", "--dumps", tmp_path / "dumps", "--url", "https://settings.test", "--output", mirror)
    assert outcome.code == rsdump.DONE, str(outcome)
    with Serving("--dumps", tmp_path / "dumps") as serving:
        for record in records:
            location = record["attachment"]["location"]
            answer = serving.ask(f"/attachments/{urllib.parse.quote(location)}")
            assert answer.status == 200
            for content in (answer.body, (mirror / "current/attachments" / location).read_bytes()):
                assert content == f"content of {record['id']}".encode()
    for record in records:
        record["last_modified"] += 1
    records[0][TWO] = records[0].pop(ONE)
    records[1]["attachment"]["location"] = records[0]["attachment"]["location"]
    take(tmp_path / "later")
    changes = rsdump.run("diff", tmp_path / "dumps", tmp_path / "later", "--format", "json").json()
    first, second = changes["collections"][0]["records"]
    assert [(each["path"], each.get("old"), each.get("new")) for each in first["fields"][:2]] == [
        ([TWO], None, 1), ([ONE], 1, None)]
    assert [second["attachment"][side]["location"] for side in ("old", "new")] == [
        f"main/files/{TWO}.txt", f"main/files/{ONE}.txt"]
