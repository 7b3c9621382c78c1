"""Questions of a release engineer: which collections a server has, since when one fails, and whether a name was misspelled."""
import re
import time

import rsdump
from git import GitTree
from test_changes import ICONS, MARKETS, SETTINGS


def test_list_says_what_the_server_has(dumps, sample):
    def listed(*arguments):
        outcome = rsdump.run("list", "--dumps", dumps.path, *arguments, "--format", "json")
        assert outcome.code == rsdump.DONE, str(outcome)
        return {each["collection"]: each for each in outcome.json()["collections"]}
    found = listed()
    assert {name: found[name]["status"] for name in (SETTINGS, MARKETS)} == {SETTINGS: "current", MARKETS: "current"}
    assert found[SETTINGS]["timestamp"] == dumps.lock["collections"][SETTINGS]["timestamp"]
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    assert listed()[SETTINGS]["status"] == "behind"
    assert list(listed("icons")) == [ICONS]
    assert rsdump.run("remove", ICONS, "--dumps", dumps.path).code == rsdump.DONE
    assert dumps.refresh().code == rsdump.DONE
    assert listed()[ICONS]["status"] == "other"
    sample.delete_record(ICONS, "petals-06")
    assert listed()[ICONS]["status"] == "new"
    text = rsdump.run("list", "--dumps", dumps.path)
    assert text.code == rsdump.DONE and re.search(rf"^{ICONS} .*  new$", text.out, re.MULTILINE), str(text)
    gone = rsdump.run("list", "--dumps", dumps.path, "--server", "http://127.0.0.1:9/v1")
    assert gone.code == rsdump.UNREACHABLE, str(gone)


def test_a_failure_says_since_when_and_which_name_was_meant(dumps, sample):
    tree = GitTree(dumps.path.parent)
    tree.commit("first")
    # One collection fails every night while another changes.
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    text = dumps.config.read_text()
    dumps.config.write_text(text.replace(f"  {SETTINGS}:", f"  {SETTINGS}:\n    budget:\n      bundle: 10", 1))
    assert dumps.config.read_text() != text
    time.sleep(1.1)  # git stores times in whole seconds
    for night in range(3):
        sample.put_record(MARKETS, {"id": f"night-{night}", "name": "x"})
        failed = dumps.refresh()
        assert failed.code == rsdump.SOME_FAILED, str(failed)
        tree.commit(f"night {night}")
    failed = dumps.refresh("--format", "json")
    notes = next(each for each in failed.json()["collections"] if each["collection"] == SETTINGS)["notes"]
    assert any("3 commits of the dumps" in note for note in notes), notes
    status = dumps.status("--format", "json").json()
    settings = next(each for each in status["collections"] if each["collection"] == SETTINGS)
    markets = next(each for each in status["collections"] if each["collection"] == MARKETS)
    assert settings["missedRefreshes"] == 3 and "missedRefreshes" not in markets, settings
    assert dumps.status().says("3 commits of the dumps")
    added = rsdump.run("add", "main/market", "--dumps", dumps.path)
    assert added.code == rsdump.DONE and added.says("the server does not list this collection; did you mean main/markets?")
    assert rsdump.run("remove", ICONS, "--dumps", dumps.path).code == rsdump.DONE
    added = rsdump.run("add", ICONS, "--dumps", dumps.path)
    assert added.code == rsdump.DONE and "warning" not in added.err, str(added)
    new = next(line for line in dumps.status().out.splitlines() if line.startswith(ICONS))
    assert "no usable bundle" in new and "since then" not in new, new
    assert dumps.refresh("main/market").says("did you mean main/markets?")
