"""`rsdump diff` against a server, and how it prints hostile records. commands/diff.txt covers bundles, directories and
commits."""
import html.parser
import re

import cmarkgfm
import pytest

import rsdump
import samples
from test_changes import ICONS, MARKETS, SETTINGS

HOSTILE = {
    "id": "hostile",
    "ticks": "``` ` `` @octocat #1 ![](https://example.org/x.png)",
    "pipe": "a | b\n| --- | --- |\n| x | y |",
    "html": "</code></details><script>alert(1)</script> & &lt;b&gt;",
    "@octocat/all": "[link](https://example.org)",
    "lines": "one\r\n\r\n# Heading\n\n@octocat\n- list\u2028@octocat",
    "terminal": "\u001b[2J\u001b]0;title\u0007 \u202e \u009b31m",
    "|`\u0301": "`\u0301`| @octocat",
}


def diff(*arguments, **options):
    return rsdump.run("diff", *arguments, **options)


@pytest.fixture
def changed(dumps, sample, tmp_path):
    """A copy of the dumps, refreshed after changes in three collections."""
    edit(sample)
    after = dumps.copy(tmp_path / "after")
    assert after.refresh().code == rsdump.DONE
    return after


def edit(sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True, "nested": {"deep": {"x": 1}}})
    sample.put_attachment(ICONS, "petals-23", "petals-23.svg", samples.svg(23), "image/svg+xml")
    sample.put_attachment(ICONS, "petals-05", "petals-05.svg", samples.svg(50), "image/svg+xml")
    sample.delete_record(ICONS, "petals-06")
    sample.delete_record(MARKETS, "nowhere")


def check(document, *, old, new):
    """Checks that the document reports the changes made by `edit`."""
    assert (document["old"], document["new"], document["same"]) == (str(old), str(new), False)
    found = {each["collection"]: each for each in document["collections"]}
    assert {name: each["status"] for name, each in found.items()} == {
        ICONS: "changed", MARKETS: "changed", SETTINGS: "changed", "main/search-hints": "same", "main/large": "same"}
    records = {name: {r["id"]: r for r in each["records"]} for name, each in found.items()}
    assert {(id, r["change"]) for id, r in records[MARKETS].items()} == {("nowhere", "deleted")}
    assert {(id, r["change"], r["attachment"]["change"]) for id, r in records[ICONS].items()} == {
        ("petals-05", "updated", "changed"), ("petals-06", "deleted", "removed"), ("petals-23", "created", "added")}
    assert records[ICONS]["petals-23"]["attachment"]["new"]["size"] == len(samples.svg(23))
    assert records[ICONS]["petals-05"]["attachment"]["old"]["size"] == len(samples.svg(5))
    fields = {tuple(f["path"]): f for f in records[SETTINGS]["telemetry"]["fields"]}
    assert fields[("value",)]["old"] is False and fields[("value",)]["new"] is True
    assert fields[("nested",)] == {"path": ["nested"], "new": {"deep": {"x": 1}}}
    assert document["counts"] == {
        "collections": 3, "created": 1, "updated": 2, "deleted": 2,
        "attachmentsAdded": 1, "attachmentsChanged": 1, "attachmentsRemoved": 1,
        "attachmentBytesAdded": len(samples.svg(23)) + len(samples.svg(50)),
        "attachmentBytesRemoved": len(samples.svg(5)) + len(samples.svg(6))}


def test_diff_with_server(dumps, sample):
    same = diff(dumps.path, "server", "--dumps", dumps.path, "--exit-code")
    assert same.code == rsdump.DONE and same.says("5 collections, no difference"), str(same)
    edit(sample)
    before = dumps.stats()
    outcome = diff(dumps.path, "server", "--dumps", dumps.path, "--format", "json")
    assert outcome.code == rsdump.DONE, str(outcome)
    check(outcome.json(), old=dumps.path, new="server")
    assert dumps.stats() == before
    sample.delete_collection(SETTINGS)
    gone = diff(dumps.path, "server", SETTINGS, "--dumps", dumps.path)
    assert gone.says("- main/settings", "the server does not have main/settings"), str(gone)


@pytest.mark.parametrize("fault, code", [
    ({"path": "monitor/collections/changes", "status": 503, "headers": {"Retry-After": "600"}}, rsdump.BACKOFF),
    ({"path": "monitor/collections/changes", "body": "[]"}, rsdump.VERIFICATION),
], ids=["backoff", "no monitor"])
def test_diff_with_failing_server(dumps, sample, fault, code):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    sample.faults(fault)
    outcome = diff(dumps.path, "server", "--dumps", dumps.path, "--exit-code")
    assert outcome.code == code and not outcome.out, str(outcome)


def test_diff_with_one_failing_collection(dumps, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    sample.delete_record(MARKETS, "nowhere")
    sample.faults({"path": "settings/changeset", "body": "{}"})
    for options in ((), ("--exit-code",), ("--stat",)):
        outcome = diff(dumps.path, "server", "--dumps", dumps.path, *options)
        assert outcome.code == rsdump.VERIFICATION and SETTINGS in outcome.err, str(outcome)
        assert MARKETS in outcome.out and SETTINGS not in outcome.out, str(outcome)
        assert "1 of 4 collections changed" in outcome.out, str(outcome)
    document = diff(dumps.path, "server", "--dumps", dumps.path, "--format", "json").json()
    assert SETTINGS not in {each["collection"] for each in document["collections"]}
    alone = diff(dumps.path, "server", SETTINGS, "--dumps", dumps.path)
    assert alone.code == rsdump.VERIFICATION and not alone.out, str(alone)
    sample.faults({"path": "markets/changeset", "body": "{}"}, {"path": "settings/changeset", "body": "{}"})
    both = diff(dumps.path, "server", "--dumps", dumps.path)
    assert both.code == rsdump.VERIFICATION and SETTINGS in both.err and MARKETS in both.err, str(both)
    assert "3 collections, no difference" in both.out, str(both)


class Page(html.parser.HTMLParser):
    """The tags of a page, and its text outside code."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.outside, self.code, self.depth = [], "", [], 0
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "code":
            self.depth += 1
            self.code.append("")

    def handle_endtag(self, tag):
        self.depth -= tag == "code"

    def handle_data(self, data):
        if self.depth:
            self.code[-1] += data
        else:
            self.outside += data


def test_markdown_diff_escapes_records(dumps, sample, tmp_path):
    """Rendered by GitHub's own Markdown parser."""
    after = dumps.copy(tmp_path / "after")
    sample.put_record(SETTINGS, HOSTILE)
    sample.put_attachment(ICONS, "petals-23", "a`|@octocat.svg", samples.svg(23), "image/svg+xml")
    assert after.refresh().code == rsdump.DONE
    outcome = diff(dumps.path, after.path, "--format", "markdown")
    page = Page(cmarkgfm.github_flavored_markdown_to_html(outcome.out))
    assert set(page.tags) <= {"h3", "h4", "p", "ul", "li", "code", "table", "thead", "tbody", "tr", "th", "td"}, outcome
    assert page.tags.count("table") == 1 and page.tags.count("tr") == 3 and page.tags.count("td") == 16, str(outcome)
    assert "@" not in page.outside and "octocat" not in page.outside and "#1" not in page.outside, page.outside
    assert re.fullmatch(r"[\w\s:;,.()+→|…-]*", page.outside), page.outside
    assert '"[link](https://example.org)"' in page.code
    assert "@octocat/all" in page.code
    assert any("alert(1)" in each for each in page.code)
    for text in (outcome.out, diff(dumps.path, after.path).out):
        assert not any(0 < ord(c) < 32 and c != "\n" or ord(c) in (0x7F, 0x9B, 0x2028, 0x202E) for c in text), repr(text)
