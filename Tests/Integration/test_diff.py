"""What `rsdump diff` finds between bundles, directories, commits and the server, and how it prints it."""
import html.parser
import os
import pty
import re
import subprocess

import cmarkgfm
import pytest

import rsdump
import samples
from dumps import Dumps
from git import Repository
from nginx import free_port
from test_changes import ICONS, REGIONS, SETTINGS

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
    """A copy of the dumps that was refreshed after changes in three collections."""
    edit(sample)
    after = dumps.copy(tmp_path / "after")
    assert after.refresh().code == rsdump.DONE
    return after


def edit(sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True, "nested": {"deep": {"x": 1}}})
    sample.put_attachment(ICONS, "petals-23", "petals-23.svg", samples.svg(23), "image/svg+xml")
    sample.put_attachment(ICONS, "petals-05", "petals-05.svg", samples.svg(50), "image/svg+xml")
    sample.delete_record(ICONS, "petals-06")
    sample.delete_record(REGIONS, "nowhere")


def check(document, *, old, new):
    """That the document says what `edit` did."""
    assert (document["old"], document["new"], document["same"]) == (str(old), str(new), False)
    found = {each["collection"]: each for each in document["collections"]}
    assert {name: each["status"] for name, each in found.items()} == {
        ICONS: "changed", REGIONS: "changed", SETTINGS: "changed", "main/search-hints": "same", "main/large": "same"}
    records = {name: {r["id"]: r for r in each["records"]} for name, each in found.items()}
    assert {(id, r["change"]) for id, r in records[REGIONS].items()} == {("nowhere", "deleted")}
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


def test_directories(dumps, changed):
    outcome = diff(dumps.path, changed.path, "--format", "json")
    assert outcome.code == rsdump.DONE, str(outcome)
    check(outcome.json(), old=dumps.path, new=changed.path)
    text = diff(dumps.path, changed.path)
    assert text.says("~ main/settings", "~ telemetry", "- value: false", "+ value: true", "+ petals-23"), str(text)
    assert text.says("3 of 5 collections changed: 1 record created, 2 updated, 2 deleted; 1 attachment added"), str(text)
    stat = diff(dumps.path, changed.path, "--stat")
    *rows, _ = stat.out.splitlines()
    assert len(rows) == 3 and not stat.says("telemetry"), str(stat)
    # Dates stand below each other, so that the column can be scanned.
    columns = {re.search(r"20\d\d-\d\d-\d\d( |$)", row).start() for row in rows}
    assert len(columns) == 1 and all("T0" not in row for row in rows), str(stat)


def test_bundles(dumps, changed):
    old, new = dumps.bundle_path(REGIONS), changed.bundle_path(REGIONS)
    outcome = diff(old, new, "--format", "json")
    assert outcome.json()["counts"]["deleted"] == 1, str(outcome)
    assert diff(old, old).says("1 collection, no difference")
    # A bundle against a directory: its own collection only.
    against = diff(old, changed.path, "--format", "json")
    assert [each["collection"] for each in against.json()["collections"]] == [REGIONS], str(against)
    other = diff(old, changed.bundle_path(SETTINGS))
    assert other.code == rsdump.DONE and other.says("main/regions is compared with main/settings"), str(other)


def test_named_collections(dumps, changed):
    outcome = diff(dumps.path, changed.path, SETTINGS, "--format", "json")
    assert [each["collection"] for each in outcome.json()["collections"]] == [SETTINGS]
    unknown = diff(dumps.path, changed.path, "main/unheard-of")
    assert unknown.code == rsdump.USAGE and unknown.says("main/unheard-of"), str(unknown)


def test_a_collection_that_one_side_lacks(dumps, changed):
    assert changed.remove(SETTINGS).code == rsdump.DONE
    outcome = diff(dumps.path, changed.path, "--format", "json").json()
    found = {each["collection"]: each for each in outcome["collections"]}
    assert found[SETTINGS]["status"] == "removed" and "new" not in found[SETTINGS]
    back = diff(changed.path, dumps.path, SETTINGS)
    assert back.says("+ main/settings"), str(back)


def test_an_attachment_rule_alone_is_a_difference(dumps, tmp_path):
    after = dumps.copy(tmp_path / "after")
    text = after.config.read_text()
    after.config.write_text(re.sub(r"(?m)^( *main/icons:.*\n)( *attachments: all\n)?", r"\1    attachments: none\n", text))
    assert after.refresh().code == rsdump.DONE
    outcome = diff(dumps.path, after.path, "--exit-code")
    assert outcome.code == 1 and outcome.says("attachments in the bundle: 20 → 0"), str(outcome)
    assert outcome.says("1 of 5 collections changed: no records"), str(outcome)


def test_commits(dumps, changed, tmp_path):
    repository = Repository.create(tmp_path / "repository")
    kept = dumps.copy(repository.path / "dumps")
    first = repository.commit("before")
    for path in changed.files():
        (kept.path / path).write_bytes((changed.path / path).read_bytes())
    options = ["--dumps", kept.path, "--format", "json"]
    uncommitted = diff("git:HEAD", kept.path, *options)
    assert uncommitted.code == rsdump.DONE, str(uncommitted)
    check(uncommitted.json(), old="git:HEAD", new=kept.path)
    repository.commit("after")
    check(diff(f"git:{first}", "git:main", *options).json(), old=f"git:{first}", new="git:main")
    one = diff(f"git:HEAD~1:{kept.bundle_path(REGIONS)}", kept.path, *options)
    assert one.json()["counts"]["deleted"] == 1, str(one)
    assert diff("git:HEAD", kept.path, "--dumps", kept.path, "--exit-code").code == rsdump.DONE
    for wrong in ("git:unheard-of", f"git:HEAD:{tmp_path}/elsewhere", f"git:HEAD:{kept.path}/main/no.zip", "git:"):
        outcome = diff(wrong, kept.path, "--dumps", kept.path, "--exit-code")
        assert outcome.code == rsdump.USAGE and not outcome.out, str(outcome)


def test_what_a_commit_does_not_have_is_new(dumps, tmp_path):
    repository = Repository.create(tmp_path / "repository")
    (repository.path / "dumps").mkdir()
    (repository.path / "dumps/dumps.yaml").write_bytes(dumps.config.read_bytes())
    repository.commit("the configuration")
    kept = Dumps(repository.path / "dumps")
    for path in dumps.files():
        (kept.path / path).parent.mkdir(exist_ok=True)
        (kept.path / path).write_bytes((dumps.path / path).read_bytes())
    outcome = diff("git:HEAD", kept.path, "--dumps", kept.path, "--format", "json")
    assert {each["status"] for each in outcome.json()["collections"]} == {"added"}, str(outcome)
    assert "treated as empty" in outcome.err


def test_the_server(dumps, sample):
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


def test_exit_codes(dumps, changed):
    assert diff(dumps.path, changed.path, "--exit-code").code == 1
    assert diff(dumps.path, changed.path).code == rsdump.DONE
    assert diff(dumps.path, dumps.path, "--exit-code").code == rsdump.DONE


@pytest.mark.parametrize("fault, code", [
    ({"path": "monitor/collections/changes", "status": 503, "headers": {"Retry-After": "600"}}, rsdump.BACKOFF),
    ({"path": "monitor/collections/changes", "body": "[]"}, rsdump.VERIFICATION),
], ids=["backoff", "no monitor"])
def test_a_server_that_fails_is_no_difference(dumps, sample, fault, code):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    sample.faults(fault)
    outcome = diff(dumps.path, "server", "--dumps", dumps.path, "--exit-code")
    assert outcome.code == code and not outcome.out, str(outcome)


def test_one_collection_that_fails_does_not_silence_the_others(dumps, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    sample.delete_record(REGIONS, "nowhere")
    sample.faults({"path": "settings/changeset", "body": "{}"})
    for options in ((), ("--exit-code",), ("--stat",)):
        outcome = diff(dumps.path, "server", "--dumps", dumps.path, *options)
        assert outcome.code == rsdump.VERIFICATION and SETTINGS in outcome.err, str(outcome)
        assert REGIONS in outcome.out and SETTINGS not in outcome.out, str(outcome)
        assert "1 of 4 collections changed" in outcome.out, str(outcome)
    document = diff(dumps.path, "server", "--dumps", dumps.path, "--format", "json").json()
    assert SETTINGS not in {each["collection"] for each in document["collections"]}
    alone = diff(dumps.path, "server", SETTINGS, "--dumps", dumps.path)
    assert alone.code == rsdump.VERIFICATION and not alone.out, str(alone)
    sample.faults({"path": "regions/changeset", "body": "{}"}, {"path": "settings/changeset", "body": "{}"})
    both = diff(dumps.path, "server", "--dumps", dumps.path)
    assert both.code == rsdump.VERIFICATION and SETTINGS in both.err and REGIONS in both.err, str(both)
    assert "3 collections, no difference" in both.out, str(both)


def test_a_server_that_cannot_be_trusted_or_reached(dumps, sample):
    sample.signing(SETTINGS, {"tampered": True})
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    outcome = diff(dumps.path, "server", "--dumps", dumps.path, "--exit-code")
    assert outcome.code == rsdump.VERIFICATION and SETTINGS in outcome.err, str(outcome)
    assert "4 collections, no difference" in outcome.out, str(outcome)
    nobody = f"http://127.0.0.1:{free_port()}/v1"
    outcome = diff(dumps.path, "server", "--dumps", dumps.path, "--server", nobody, "--exit-code")
    assert outcome.code == rsdump.UNREACHABLE, str(outcome)


def test_a_damaged_bundle_is_named(dumps, changed):
    path = changed.bundle_path(SETTINGS)
    path.write_bytes(path.read_bytes()[:-100])
    outcome = diff(dumps.path, changed.path, "--exit-code")
    assert outcome.code == rsdump.VERIFICATION and outcome.says(str(path)) and not outcome.out, str(outcome)
    missing = diff(dumps.path, dumps.path.parent / "nowhere", "--exit-code")
    assert missing.code == rsdump.USAGE, str(missing)


class Page(html.parser.HTMLParser):
    """The tags of a page, and its text outside of code."""

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


def test_markdown_lets_no_record_out_of_its_code(dumps, sample, tmp_path):
    """Read by GitHub's own Markdown parser."""
    after = dumps.copy(tmp_path / "after")
    sample.put_record(SETTINGS, HOSTILE)
    sample.put_attachment(ICONS, "petals-23", "a`|@octocat.svg", samples.svg(23), "image/svg+xml")
    assert after.refresh().code == rsdump.DONE
    outcome = diff(dumps.path, after.path, "--format", "markdown")
    page = Page(cmarkgfm.github_flavored_markdown_to_html(outcome.out))
    assert set(page.tags) <= {"h3", "h4", "p", "ul", "li", "code", "table", "thead", "tbody", "tr", "th", "td"}, outcome
    assert page.tags.count("table") == 1 and page.tags.count("tr") == 3 and page.tags.count("td") == 14, str(outcome)
    assert "@" not in page.outside and "octocat" not in page.outside and "#1" not in page.outside, page.outside
    assert re.fullmatch(r"[\w\s:;,.()+→|…-]*", page.outside), page.outside
    assert '"[link](https://example.org)"' in page.code
    assert "@octocat/all" in page.code
    assert any("alert(1)" in each for each in page.code)
    for text in (outcome.out, diff(dumps.path, after.path).out):
        assert not any(0 < ord(c) < 32 and c != "\n" or ord(c) in (0x7F, 0x9B, 0x2028, 0x202E) for c in text), repr(text)


def on_a_terminal(*arguments, env):
    """What a command prints to a terminal."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [rsdump.BINARY, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal,
        env=rsdump.environment(env))
    os.close(terminal)
    output = b""
    while True:
        try:
            piece = os.read(controller, 65536)
        except OSError:    # the terminal's other end is closed
            break
        if not piece:
            break
        output += piece
    os.close(controller)
    assert process.wait() == 0
    return output.decode()


def test_colour_is_for_terminals_that_want_it(dumps, changed):
    arguments = ["diff", dumps.path, changed.path]
    assert "\x1b[32m" in on_a_terminal(*arguments, env={"TERM": "xterm"})
    assert "\x1b" in on_a_terminal(*arguments, env={"TERM": "xterm", "NO_COLOR": ""})
    assert "\x1b" not in on_a_terminal(*arguments, env={"TERM": "xterm", "NO_COLOR": "1"})
    assert "\x1b" not in on_a_terminal(*arguments, env={"TERM": "dumb"})
    assert "\x1b" not in rsdump.run(*arguments).out


def test_one_side_is_compared_with_the_directory_and_its_settings(dumps, tmp_path):
    before = dumps.copy(tmp_path / "before")
    assert diff(before.path, "--dumps", dumps.path, "--exit-code").code == rsdump.DONE
    pinned = rsdump.run("pin", SETTINGS, "--reason", "because <b> | of `it`", "--dumps", dumps.path)
    assert pinned.code == rsdump.DONE, str(pinned)
    at = dumps.lock["collections"][SETTINGS]["timestamp"]
    text = diff(before.path, "--dumps", dumps.path)
    assert text.says("~ dumps.yaml", f"+ collections.{SETTINGS}.pin: {at}", "1 setting of dumps.yaml changed"), str(text)
    outcome = diff(before.path, "--dumps", dumps.path, "--format", "json", "--exit-code")
    assert outcome.code == rsdump.SOME_FAILED, str(outcome)
    assert outcome.json()["settings"] == [
        {"name": f"collections.{SETTINGS}.pin", "new": f"{at}, because <b> | of `it`"}]
    markdown = diff(before.path, "--dumps", dumps.path, "--format", "markdown").out
    assert f"`collections.{SETTINGS}.pin`" in markdown and "``" in markdown
    # Named collections are compared without the settings of others.
    assert diff(before.path, dumps.path, REGIONS, "--exit-code").code == rsdump.DONE
