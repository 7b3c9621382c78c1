"""The checks of the documents find nothing in them, and find what is broken on purpose."""
import copy
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/Checks"))
import costs
import documents
import statements

ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
PROMISING = [(name, (ROOT / name).read_text(), heading) for name, heading in documents.PROMISING.items()]


@pytest.fixture(scope="module")
def package():
    return documents.manifest()


def told(problems):
    return "\n".join(problems)


def changed(text, old, new):
    assert text.count(old) >= 1, f"{old!r} is not in the text any more: choose another victim"
    return text.replace(old, new, 1)


def with_dependency(package, name, other):
    package = copy.deepcopy(package)
    target = next(target for target in package["targets"] if target["name"] == name)
    target["dependencies"].append({"byName": [other, None]})
    return package


def test_nothing_is_wrong():
    assert list(documents.problems()) == []


def test_a_room_that_is_missing(package):
    without = changed(ARCHITECTURE, "| `DumpsExchange` |", "| DumpsExchange |")
    assert "DumpsExchange of Package.swift is not in the table" in told(documents.room_problems(without, package))


def test_a_room_that_there_is_not(package):
    more = changed(ARCHITECTURE, "| `DumpsExchange` |", "| `DumpsExchange`, `Carrots` |")
    assert "no such target" in told(documents.room_problems(more, package))


def test_a_room_twice(package):
    twice = changed(ARCHITECTURE, "| `DumpsExchange` |", "| `DumpsExchange`, `TargetFilter` |")
    assert "TargetFilter is in the table more than once" in told(documents.room_problems(twice, package))


def test_tests_that_belong_to_no_room(package):
    more = copy.deepcopy(package)
    more["targets"].append({"name": "CarrotTests", "type": "test", "dependencies": []})
    assert "CarrotTests belong to no room" in told(documents.room_problems(ARCHITECTURE, more))


@pytest.mark.parametrize("name, below", [
    ("RemoteSettingsModel", "RemoteSettings"), ("SnapshotTrust", "SnapshotBundle"), ("CurlTransport", "SnapshotOrigin"),
    ("DumpsRefresh", "rsdump"),
])
def test_a_room_that_imports_one_below(package, name, below):
    package = with_dependency(package, name, below)
    assert f"{name} imports {below}, which stands below" in told(documents.room_problems(ARCHITECTURE, package))


@pytest.mark.parametrize("name, other, problem", [
    ("SnapshotBundle", "RemoteSettingsHTTP", "SnapshotBundle of Format uses RemoteSettingsHTTP of Network"),
    ("Publish", "DumpsRefresh", "Publish of Publish uses DumpsRefresh of Tool"),
    ("SnapshotServer", "SigningKeys", "SnapshotServer of Server uses SigningKeys of Publish"),
    ("RemoteSettings", "FaultyServer", "RemoteSettings uses FaultyServer, which is on no floor"),
])
def test_a_floor_that_uses_one_behind_it(package, name, other, problem):
    assert problem in told(documents.floor_problems(with_dependency(package, name, other)))


@pytest.mark.parametrize("path, old, new", [
    ("Sources/Format/SnapshotBundle/Trust/SnapshotVerification.swift", "func verified(", "func checked("),
    ("Sources/Format/SnapshotBundle/Lock/LockFile.swift", "extension LockFile.Collection", "extension LockFile.Entry"),
    ("Sources/Network/SnapshotOrigin/Records/ServedCollection.swift", "func delta(", "func difference("),
    ("Sources/Library/RemoteSettings/API/RemoteSettingsClient.swift", "func getRecords(", "func records("),
])
def test_a_stop_whose_symbol_was_renamed(path, old, new):
    def read(file):
        return file.read_text().replace(old, new).replace("struct Collection", "struct Entry") if file == ROOT / path \
            else file.read_text()
    assert f"{path} does not declare" in told(documents.stop_problems(ARCHITECTURE, read=read))


def test_a_stop_whose_file_was_moved():
    moved = changed(ARCHITECTURE, "Sources/Network/RemoteSettingsHTTP/Fetch/ChainStore.swift", "Sources/Network/RemoteSettingsHTTP/Fetch/Chains.swift")
    assert "there is no file Sources/Network/RemoteSettingsHTTP/Fetch/Chains.swift" in told(documents.stop_problems(moved))


def test_a_stop_to_which_no_other_leads():
    def read(file):
        text = file.read_text()
        return text.replace("gather(", "collect(") if file.name == "CollectionRefresher.swift" else text
    assert "do not mention AttachmentGatherer.gather" in told(documents.stop_problems(ARCHITECTURE, read=read))


def test_a_stop_in_another_form_is_not_passed_over():
    other = changed(ARCHITECTURE, "`CollectionFetcher.fetch`", "*fetch*")
    assert "have the form" in told(documents.stop_problems(other))


@pytest.mark.parametrize("old, new, problem", [
    ("`test_models`", "`test_patterns`", "test_patterns, which does not exist"),
    ("LieTests.replayedOlderState`", "LieTests.replayedNewerState`", "LieTests.replayedNewerState, which does not exist"),
    ("`ReproducibilityTests`", "`RepetitionSuiteTests`", "RepetitionSuiteTests, which does not exist"),
    ("`Tests/Checks/linkage.py`", "`Tests/Checks/linking.py`", "Tests/Checks/linking.py, which does not exist"),
    ("README: The same snapshot", "README: A snapshot", "The same snapshot gives the same bytes"),
])
def test_a_promise_that_nothing_guards(old, new, problem):
    assert problem in told(documents.promise_problems(changed(CONTRIBUTING, old, new), PROMISING))


def test_a_new_promise_without_a_row():
    more = [("SECURITY.md", "## What is promised\n\n- **The sun rises.** Every day.\n", "What is promised")]
    assert "The sun rises" in told(documents.promise_problems(CONTRIBUTING, more))


def test_links_and_stages_that_lead_nowhere():
    text = """[a](Nowhere.md) [b](README.md#no-such-heading) [c](ARCHITECTURE.md#the-rooms) [d](https://example.org) <doc:Carrots>
        `scripts/test moon`"""
    assert len(list(statements.link_problems("README.md", text))) == 3
    assert list(documents.stage_problems("README.md", text, {"unit"})) == ["README.md: scripts/test has no stage moon"]


@pytest.fixture(scope="module")
def known():
    return statements.commands((ROOT / statements.HELP).read_text())


@pytest.mark.parametrize("name, old, new, problem", [
    # A command, an option, a file and a number, changed by hand in a copy.
    ("README.md", "rsdump refresh", "rsdump freshen", "rsdump has no command freshen"),
    ("README.md", "rsdump verify --locked", "rsdump verify --looked", "rsdump verify has no option --looked"),
    ("Sources/Tool/rsdump/Documentation.docc/Keys.md", "rsdump keys renew", "rsdump keys renow", "rsdump has no command keys renow"),
    ("Sources/Tool/rsdump/Documentation.docc/StartRelease.md", "rsdump verify --locked", "rsdump verify --looked",
     "rsdump verify has no option --looked"),
    ("ARCHITECTURE.md", "`Examples/OfflineExample`", "`Examples/OnlineExample`", "`Examples/OnlineExample` does not exist"),
    ("CONTRIBUTING.md", "`Tests/last-runs.txt`", "`Tests/runs.txt`", "`Tests/runs.txt` does not exist"),
    ("README.md", "five of Mozilla's collections", "seven of Mozilla's collections", "counted again, it is 5"),
    ("SECURITY.md", "37 fuzz targets", "33 fuzz targets", "counted again, it is 37"),
    ("FAQ.md", "| 1,000,000;", "| 100,000;", "counted again, it is 1000000"),
    ("ARCHITECTURE.md", "[eight steps]", "[seven steps]", "counted again, it is 8"),
    ("FAQ.md", "| 4 |", "| 8 |", "and ExitStatus.swift has"),
    ("FAQ.md", "| `rsdump log` | 1 |", "| `rsdump log` | 2 |", "rsdump log has its own meaning of 1"),
])
def test_a_statement_that_was_changed_by_hand(name, old, new, problem):
    def read(file):
        text = (ROOT / file).read_text()
        return changed(text, old, new) if file == name else text
    found = list(statements.problems([name], read))
    assert len(found) == 1 and problem in found[0] and found[0].startswith(name), found


def test_an_exit_code_that_no_document_explains(known):
    def told_of(faq, swift):
        return told(statements.exit_code_problems(faq, swift, known))
    faq, swift = (ROOT / "FAQ.md").read_text(), (ROOT / "Sources/Tool/rsdump/ExitStatus.swift").read_text()
    assert told_of(faq, swift) == ""
    assert "the table under \"Exit codes\"" in told_of(faq, changed(swift, "case tryAgain = 7", "case tryAgain = 7\n    case other = 8"))


def test_what_is_not_a_statement_about_this_program(known):
    text = """`git push --force`, `--locked`, `Tests/FLOOR/ROOMTests`, `Sources/EmbeddedDumps`, rsdump carries on.

        $ curl --fail https://example.org | rsdump show main/regions # --looked
    """
    assert list(statements.command_problems("README.md", text, known, set())) == []
    assert list(statements.path_problems("README.md", text)) == []
    assert "--looked" in told(statements.command_problems("README.md", "`--looked`", known, set()))


def test_a_stage_without_a_row_and_a_row_without_a_stage():
    stages = {"unit", "moon"}
    text = "## Testing\n\n| stage | what |\n| --- | --- |\n| `unit`, `tsan` | tests |\n"
    assert "no row for the stage moon" in told(documents.stage_table_problems(text, stages))
    assert "a row for the stage tsan" in told(documents.stage_table_problems(text, stages))


def test_every_file_belongs_to_a_feature(capsys):
    with pytest.raises(SystemExit) as ended:
        costs.main()
    printed = capsys.readouterr()
    assert (ended.value.code, printed.err) == (0, "")
    rows = documents.rows(printed.out.split("\n\n")[1])
    assert len(rows) == len(costs.FEATURES) + 1
    total = int(rows[-1][2].replace(",", ""))
    assert total == sum(int(row[2].replace(",", "")) for row in rows[:-1]) > 10_000


def test_each_promise_has_a_command_that_runs_its_tests():
    table = documents.rows(documents.section(CONTRIBUTING, "What guards each promise"))
    keys = [cells[1].strip("`") for cells in table]
    assert len(keys) == len(set(keys)) > 15
    for key in keys:
        ran = subprocess.run([ROOT / "scripts/promise", "--print", key], capture_output=True, text=True)
        assert ran.returncode == 0 and re.match(r"(swift test|\.cache/venv/bin/python -m pytest|scripts/check) ", ran.stdout), key
    assert "Tests/Integration/test_deltas.py" in ran_with("deltas") and "scripts/fuzz file-delta 10" in ran_with("deltas")
    assert subprocess.run([ROOT / "scripts/promise", "moon"], capture_output=True).returncode == 2


def ran_with(key):
    return subprocess.run([ROOT / "scripts/promise", "--print", key], capture_output=True, text=True, check=True).stdout
