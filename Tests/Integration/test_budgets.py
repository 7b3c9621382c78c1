"""Budgets: data over a budget is not written, and the error lists the largest items."""
import re

import pytest

import rsdump
import samples
from git import GitTree
from test_changes import ICONS, SETTINGS
from json_shape import of

LARGE = "main/large"


def budget(dumps, text):
    """Inserts a budget before the collections."""
    config = dumps.config.read_text()
    config = re.sub(r"^budget:\n(  .*\n)*", "", config, flags=re.MULTILINE)
    dumps.config.write_text(config.replace("collections:\n", f"budget:\n{text}collections:\n", 1))


def errors(outcome):
    assert outcome.code == rsdump.SOME_FAILED, str(outcome)
    return {each["collection"]: each["error"] for each in outcome.json()["collections"] if "error" in each}


def test_total_budget_is_all_or_nothing(dumps, sample):
    total = sum(each["bundle"]["size"] for each in dumps.lock["collections"].values())
    budget(dumps, f"  total: {total + 100}\n")
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    sample.put_attachment(ICONS, "petals-99", "big.svg", samples.svg(99) + bytes(range(256)) * 8, "image/svg+xml")
    before = dumps.files()
    outcome = dumps.refresh("--format", "json")
    assert sorted(errors(outcome)) == [ICONS, SETTINGS]
    excess = outcome.json()["overBudget"]
    assert excess["budget"] == "total" and excess["limit"] == total + 100 and excess["size"] > excess["limit"]
    assert excess["largest"][0]["name"] == LARGE and len(excess["largest"]) == 5
    assert dumps.files() == before
    assert dumps.refresh().says("over budget", LARGE)
    budget(dumps, "  total: 100 MiB\n")
    position = sample.log_position()
    assert dumps.refresh().code == rsdump.DONE
    assert not any("attachments/" in each["path"] for each in sample.requests(position))
    assert dumps.verify("--locked").code == rsdump.DONE and not (dumps.path / ".rsdump").exists()


@pytest.mark.parametrize("limit, kind, names", [
    ("bundle: 20 kB", "bundle", [LARGE]), ("attachment: 400 B", "attachment", [ICONS]), ("total: 10 kB", "total", [])])
def test_status_and_verify_report_lowered_budget(dumps, limit, kind, names):
    assert dumps.verify().code == rsdump.DONE
    budget(dumps, f"  {limit}\n")
    verified = dumps.verify("--format", "json")
    assert verified.code == rsdump.SOME_FAILED, str(verified)
    for report in (verified.json(), dumps.status("--offline", "--format", "json").json()):
        found = {each["collection"]: each["overBudget"] for each in report["collections"] if "overBudget" in each}
        assert list(found) == names and {each["budget"] for each in found.values()} <= {kind}
    assert ("overBudget" in verified.json()) == (kind == "total")
    status = dumps.status("--offline")
    assert status.code == rsdump.SOME_FAILED and "over" in dumps.verify().out and "over" in status.out
    budget_line = f"budget:\n  {limit}\n"
    dumps.config.write_text(dumps.config.read_text().replace(budget_line, ""))
    assert dumps.verify().code == rsdump.DONE


def test_status_shows_sizes_and_growth_against_head(dumps, sample):
    unknown = dumps.status("--format", "json").json()
    assert "totalGrowthBytes" not in unknown and "git" in unknown["growthUnknown"]
    tree = GitTree(dumps.path.parent)
    assert "growthUnknown" in dumps.status("--format", "json").json()
    tree.commit("first")
    old = {name: each["bundle"]["size"] for name, each in dumps.lock["collections"].items()}
    report = dumps.status("--format", "json").json()
    assert report["totalBytes"] == sum(old.values()) and report["totalGrowthBytes"] == 0
    sample.put_attachment(ICONS, "petals-99", "big.svg", samples.svg(99), "image/svg+xml")
    assert dumps.refresh().code == rsdump.DONE
    new = {name: each["bundle"]["size"] for name, each in dumps.lock["collections"].items()}
    budget(dumps, "  bundle: 1 kB\n  total: 50 MiB\n")
    report = dumps.status("--format", "json", "--offline").json()
    assert of(report, ICONS)["growthBytes"] == new[ICONS] - old[ICONS] > 0
    assert of(report, SETTINGS)["growthBytes"] == 0
    assert report["totalGrowthBytes"] == new[ICONS] - old[ICONS] and report["totalBudgetBytes"] == 50 << 20
    text = dumps.status("--offline")
    assert text.code == rsdump.SOME_FAILED and text.says("growth", "since HEAD", "of 50.0 MiB", "over its budget"), str(text)
