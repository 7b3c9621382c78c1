"""rsdump nightly, from a changed server to the updated branch and its pull request."""
import os
import re
import signal
import subprocess
import time

import pytest

import rsdump
import samples
from dumps import Dumps
from git import ENVIRONMENT, Repository
from nightly import BRANCH, Nightly
from publishing import Hook
from test_changes import ICONS, MARKETS, SETTINGS

GIT_FAILED = 7


@pytest.fixture
def nightly(dumps, tmp_path):
    return Nightly(tmp_path, dumps)


def check(run, code=rsdump.DONE):
    assert run.code == code, str(run)
    return run


def edit_configuration(nightly, edit, branch="main"):
    def change(tree):
        config = tree / "dumps/dumps.yaml"
        config.write_text(edit(config.read_text()))
    nightly.on(branch, change)


def refreshed(tree):
    assert Dumps(tree / "dumps").refresh().code == rsdump.DONE


def value(dumps, name=SETTINGS, record="telemetry"):
    return {each["id"]: each for each in dumps.bundle(name).records}[record]["value"]


def test_nightly_without_changes(nightly):
    before, branches = nightly.state(), nightly.branches()
    run = check(nightly.run())
    assert "Nothing has changed." in run.summary
    assert nightly.branches() == branches and nightly.requests == [] and nightly.is_untouched(before)


def test_a_change_lands_with_one_pull_request(nightly, sample):
    before = nightly.state()
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    sample.put_attachment(ICONS, "petals-23", "petals-23.svg", samples.svg(23), "image/svg+xml")
    run = check(nightly.run())
    commits = nightly.new_commits()
    assert len(commits) == 1
    assert set(nightly.origin.changed_files(commits[0])) == {
        "dumps/dumps.lock.json", "dumps/main/icons.zip", "dumps/main/settings.zip"}
    message = nightly.origin("log", "-1", "--format=%B", commits[0])
    assert message.startswith("Remote Settings dumps: 2 of 5 collections changed\n"), message
    assert "1 record created, 1 updated; 1 attachment added" in message
    landed = nightly.checkout(BRANCH, "landed")
    assert value(landed) is True
    assert landed.verify("--locked").code == rsdump.DONE
    [request] = nightly.requests
    assert request["state"] == "OPEN" and (request["head"], request["base"]) == (BRANCH, "main")
    assert "`telemetry`" in request["body"] and "petals-23" in request["body"]
    assert "Landed on" in run.summary and "https://github.example/pull/1" in run.summary and "`telemetry`" in run.summary
    assert nightly.is_untouched(before)

    again = check(nightly.run())
    assert "Nothing has changed." in again.summary
    [updated] = nightly.requests
    old, new = (text.split("## All changes against the branch `main`\n")[1] for text in (request["body"], updated["body"]))
    assert nightly.new_commits() == commits and new == old and "All 5 collections are up to date." in updated["body"]


def test_next_night_continues_the_branch(nightly, sample):
    """The second run uses a different clone, which has only the newest commit."""
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run())
    sample.delete_record(MARKETS, "nowhere")
    position = sample.log_position()
    check(nightly.run(cwd=nightly.origin.clone(nightly.folder / "shallow", "--depth", "1").path))
    asked = [each["path"] for each in sample.requests(position) if "/changeset" in each["path"]]
    assert not any("/settings/" in path for path in asked), asked
    commits = nightly.new_commits()
    assert [len(nightly.origin.changed_files(each)) for each in commits] == [2, 2]
    [request] = nightly.requests
    assert "`telemetry`" in request["body"] and "`nowhere`" in request["body"]


def test_nightly_shortens_no_history(nightly, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run())
    clone = nightly.origin.clone(nightly.folder / "shallow", "--depth", "1")
    for number in "123":
        nightly.on_main(lambda top: (top / "README").write_text(number))
    check(nightly.run(cwd=clone.path))
    clone("pull", "-q", "--ff-only")


def test_nightly_keeps_work_trees_that_are_not_mounted(nightly):
    nightly.clone("worktree", "add", "-q", "--detach", nightly.folder / "disk/work")
    (nightly.folder / "disk").rename(nightly.folder / "unmounted")
    check(nightly.run())
    check(nightly.run("--verify"))
    (nightly.folder / "unmounted").rename(nightly.folder / "disk")
    Repository(nightly.folder / "disk/work")("status")


def test_base_with_new_history_keeps_its_files(nightly, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run())
    nightly.seed("checkout", "-q", "--orphan", "cut")
    (nightly.seed.path / "README").write_text("new")
    nightly.seed.commit("As of today")
    nightly.seed("push", "-q", "--force", "origin", "cut:main")
    assert "begins anew" in check(nightly.run()).summary
    assert nightly.origin("diff", "--name-only", "main", BRANCH).split() == ["dumps/dumps.lock.json", "dumps/main/settings.zip"]


@pytest.mark.parametrize("squash", [False, True])
def test_branch_restarts_after_merge(nightly, sample, squash):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run())
    # What the branch had, and what the base has changed since then, does not come back.
    nightly.on(BRANCH, lambda top: rsdump.run("pin", SETTINGS, cwd=top))
    nightly.merge(squash)
    nightly.on_main(lambda top: rsdump.run("pin", SETTINGS, "--remove", cwd=top))
    check(nightly.run())
    assert len(nightly.requests) == 1
    sample.delete_record(MARKETS, "nowhere")
    check(nightly.run())
    commits = nightly.new_commits()
    assert [nightly.origin.changed_files(each) for each in commits] == [
        ["dumps/dumps.lock.json", "dumps/main/markets.zip"]]
    assert nightly.origin("rev-parse", f"{commits[0]}~1") == nightly.branches()["main"]
    assert [each["state"] for each in nightly.requests] == ["MERGED", "OPEN"]


def test_changes_on_base_are_merged_into_branch(nightly, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run())
    nightly.on_main(lambda tree: (tree / "README").write_text("Another text\n"))
    check(nightly.run())
    assert len(nightly.new_commits()) == 1, "unrelated commits on main must not cause a merge"
    edit_configuration(nightly, lambda text: text + "# a comment\n")
    sample.delete_record(MARKETS, "nowhere")
    check(nightly.run())
    landed = nightly.checkout(BRANCH, "landed")
    assert "# a comment" in landed.config.read_text() and value(landed) is True
    assert landed.verify("--locked").code == rsdump.DONE


@pytest.mark.parametrize("options", [[], ["--depth", "1", "--filter=blob:none"]], ids=str)
def test_bundle_conflict_with_base_is_merged(nightly, sample, options):
    nightly.origin("config", "uploadpack.allowFilter", "true")
    nightly.origin("config", "uploadpack.allowAnySHA1InWant", "true")
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run())
    before = nightly.branches()[BRANCH]
    sample.delete_record(SETTINGS, "search-bar")
    nightly.on_main(refreshed)
    sample.delete_record(MARKETS, "nowhere")
    check(nightly.run(cwd=nightly.origin.clone(nightly.folder / "fresh", *options).path))
    # The branch is not rewritten, so no review of an earlier commit is lost.
    nightly.origin("merge-base", "--is-ancestor", before, BRANCH)
    changed = nightly.origin("diff", "--name-only", "main", BRANCH).split()
    assert changed == ["dumps/dumps.lock.json", "dumps/main/markets.zip"]
    assert nightly.checkout(BRANCH, "landed").verify("--locked").code == rsdump.DONE
    assert len(nightly.requests) == 1


def test_foreign_commits_on_branch_are_kept(nightly, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run())
    nightly.on(BRANCH, lambda tree: (tree / "dumps/README").write_text("Why these\n"))
    before = nightly.branches()[BRANCH]
    sample.delete_record(SETTINGS, "search-bar")
    nightly.on_main(refreshed)
    check(nightly.run())
    nightly.origin("merge-base", "--is-ancestor", before, BRANCH)
    assert nightly.origin("show", f"{BRANCH}:dumps/README") == "Why these"
    # A conflict that only a person can resolve leaves the branch unchanged.
    edit_configuration(nightly, lambda text: text + "# one\n", BRANCH)
    before = nightly.branches()[BRANCH]
    edit_configuration(nightly, lambda text: text + "# two\n")
    run = check(nightly.run(), GIT_FAILED)
    assert "cannot merge" in run.summary and nightly.branches()[BRANCH] == before, str(run)


@pytest.mark.parametrize("branch", [None, BRANCH])
def test_two_directories_in_one_repository(nightly, sample, branch):
    """Each night and directory uses a separate clone, as in CI."""
    def second(tree):
        Dumps(tree / "dumps").copy(tree / "dumps-stage")
    nightly.on_main(second)
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    options = ["--branch", branch] if branch else []
    for folder in ("dumps", "dumps-stage"):
        clone = nightly.origin.clone(nightly.folder / f"clone-{folder}")
        check(nightly.run("--dumps", folder, *options, cwd=clone.path))
    changed = {name: [nightly.origin.changed_files(each) for each in nightly.new_commits(name)]
               for name in nightly.branches() if name != "main"}
    first, other = (
        [f"{folder}/dumps.lock.json", f"{folder}/main/settings.zip"] for folder in ("dumps", "dumps-stage"))
    assert changed == ({BRANCH: [first, other]} if branch else {BRANCH: [first], f"{BRANCH}-stage": [other]})
    titles = [each["title"] for each in nightly.requests]
    assert titles[-1].endswith("dumps in dumps-stage") and len(titles) == len(changed)


def test_failed_push_does_not_affect_other_directory(nightly, sample):
    nightly.on_main(lambda tree: Dumps(tree / "dumps").copy(tree / "dumps-stage"))
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    hook = nightly.before_push("exit 1")
    run = check(nightly.run(), GIT_FAILED)
    assert "git push to origin failed" in run.summary and BRANCH not in nightly.branches(), str(run)
    hook.unlink()
    check(nightly.run("--dumps", "dumps-stage"))
    [commit] = nightly.new_commits(f"{BRANCH}-stage")
    assert nightly.origin.changed_files(commit) == ["dumps-stage/dumps.lock.json", "dumps-stage/main/settings.zip"]
    check(nightly.run())
    assert len(nightly.new_commits()) == 1 and len(nightly.requests) == 2


def test_failing_collection_lands_the_others(nightly, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    sample.delete_record(MARKETS, "nowhere")
    sample.faults({"path": "collections/settings/changeset", "body": "::error::no\nJSON @octocat"})
    step = nightly.folder / "step.md"
    run = check(nightly.run(env={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(step)}), rsdump.SOME_FAILED)
    [commit] = nightly.new_commits()
    assert nightly.origin.changed_files(commit) == ["dumps/dumps.lock.json", "dumps/main/markets.zip"]
    assert "### Server failures" in run.summary and SETTINGS in run.summary and "`nowhere`" in run.summary
    [request] = nightly.requests
    assert f"\n- `{SETTINGS}` keeps its current bundle (data of " in request["body"], request["body"]
    assert step.read_text() == run.summary
    annotations = [line for line in run.out.splitlines() if line.startswith("::")]
    assert [line.split("::")[1].split()[0] for line in annotations] == ["warning", "error"], run.out
    assert SETTINGS in annotations[0]
    # The next night fixes it in the same pull request.
    sample.faults()
    check(nightly.run())
    assert len(nightly.new_commits()) == 2 and len(nightly.requests) == 1


def commit_edited(nightly, edit=lambda dumps: None):
    """Commits an edited bundle with a matching lock file."""
    def commit(tree):
        dumps = Dumps(tree / "dumps")
        edit(dumps)
        dumps.edit_bundle(SETTINGS, "records.json", b'"value":', b'"valve":')
    nightly.on_main(commit)


def test_nightly_rebuilds_edited_bundle(nightly, sample):
    commit_edited(nightly)
    check(nightly.run())
    landed = nightly.checkout(BRANCH, "landed")
    assert value(landed) is False and landed.verify("--locked").code == rsdump.DONE


def pin(dumps):
    assert rsdump.run("pin", SETTINGS, "--dumps", dumps.path).code == rsdump.DONE


def test_nightly_reports_edited_pinned_bundle(nightly, sample):
    commit_edited(nightly, pin)
    sample.delete_record(MARKETS, "nowhere")
    run = check(nightly.run(env={"GITHUB_ACTIONS": "true"}), rsdump.VERIFICATION)
    assert BRANCH not in nightly.branches()
    assert f"did not verify ({SETTINGS})" in run.summary and f"rsdump pin {SETTINGS} --at " in run.summary, str(run)
    assert any(line.startswith("::error") and SETTINGS in line for line in run.out.splitlines()), str(run)


def test_unmet_configuration_lands_other_collections(nightly, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    sample.faults({"path": "collections/settings/changeset", "status": 400})
    edit_configuration(
        nightly, lambda text: text.replace(f"{SETTINGS}:\n    attachments: all", f"{SETTINGS}:\n    attachments: none"))
    sample.delete_record(MARKETS, "nowhere")
    check(nightly.run(), rsdump.SOME_FAILED)
    [commit] = nightly.new_commits()
    assert nightly.origin.changed_files(commit) == ["dumps/dumps.lock.json", "dumps/main/markets.zip"]


def test_nightly_with_unusable_monitor(nightly, sample):
    before, branches = nightly.state(), nightly.branches()
    sample.faults({"path": "monitor/collections/changes", "body": "{}"})
    assert "**Error:**" in check(nightly.run(), rsdump.SOME_FAILED).summary
    assert nightly.branches() == branches and nightly.is_untouched(before)


def test_server_text_injects_no_workflow_command(nightly, sample):
    """A line that begins with :: is a command for GitHub's runner, and ESC controls a terminal."""
    sample.faults({"path": "monitor/collections/changes", "status": 400, "body": "no\n::stop-commands::x\n\x1b[2J"})
    run = check(nightly.run(env={"GITHUB_ACTIONS": "true"}), rsdump.SOME_FAILED)
    assert "stop-commands" in run.err and "\x1b" not in run.err, str(run)
    lines = (run.out + run.err).splitlines()
    assert not any(line.startswith("::") and not line.startswith("::error title=") for line in lines), str(run)


def test_nightly_backoff_is_kept_until_next_run(nightly, sample):
    before, branches = nightly.state(), nightly.branches()
    sample.faults({"path": "monitor/collections/changes", "status": 503, "headers": {"Retry-After": "600"}})
    assert "**Warning:**" in check(nightly.run(), rsdump.BACKOFF).summary
    sample.faults()
    position = sample.log_position()
    check(nightly.run(), rsdump.BACKOFF)
    assert sample.requests(position) == [] and nightly.branches() == branches and nightly.is_untouched(before)


def test_nightly_without_gh_explains_next_step(nightly, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    run = check(nightly.run("--no-pull-request", "--push-option", "ci.skip", env={"GIT_TRACE": "0"}), GIT_FAILED)
    assert "git push" in run.summary, "a bare repository rejects push options by default"
    nightly.origin("config", "receive.advertisePushOptions", "true")
    run = check(nightly.run("--no-pull-request", "--push-option", "ci.skip"))
    assert f"open a pull request from `{BRANCH}` into `main`" in run.summary, str(run)
    assert nightly.requests == [] and len(nightly.new_commits()) == 1


@pytest.mark.parametrize("command", ["list", "create"])
def test_failed_pull_request_is_opened_next_time(nightly, sample, command):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    run = check(nightly.run(fails=command), GIT_FAILED)
    assert "GitHub answered" in run.summary and f"{command} failed" in run.summary and len(nightly.new_commits()) == 1, str(run)
    run = check(nightly.run())
    assert len(nightly.requests) == 1 and len(nightly.new_commits()) == 1, str(run)


@pytest.mark.parametrize("deletes", [False, True])
def test_closed_pull_request_stays_closed(nightly, sample, deletes):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run())
    nightly.edit_requests(lambda requests: requests[0].update(state="CLOSED"))
    if deletes:
        nightly.origin("branch", "-D", BRANCH)
    branches = nightly.branches()
    check(nightly.run())
    assert [each["state"] for each in nightly.requests] == ["CLOSED"] and nightly.branches() == branches
    sample.delete_record(MARKETS, "nowhere")
    check(nightly.run())
    assert [each["state"] for each in nightly.requests] == ["CLOSED", "OPEN"]


@pytest.mark.parametrize("has_others", [False, True])
def test_pull_request_is_closed_when_base_has_dumps(nightly, sample, has_others):
    """It remains open if closing it would lose someone's work on the branch."""
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run())
    if has_others:
        nightly.on(BRANCH, lambda tree: (tree / "app").write_text("fits the new dumps"))
    for revision, states in ((f"origin/{BRANCH}", ["CLOSED"]), ("HEAD~1", ["CLOSED", "OPEN"])):
        nightly.on_main(lambda tree: nightly.seed("checkout", "-q", revision, "--", "dumps"))
        check(nightly.run())
        assert [each["state"] for each in nightly.requests] == (["OPEN"] if has_others else states)


def test_gitattributes_with_text_bundles_refused(nightly, sample):
    nightly.on_main(lambda tree: (tree / ".gitattributes").write_text("* eol=lf\n"))
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    run = check(nightly.run(), rsdump.USAGE)
    assert "`*.zip -text`" in run.summary and BRANCH not in nightly.branches()


def test_each_base_has_its_own_branch(nightly, sample):
    for base in ("stage", "release/3.0"):
        nightly.origin("branch", base, "main")
    nightly.on_main(lambda tree: Dumps(tree / "dumps").copy(tree / "dumps-stage"))
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    for _ in range(2):
        for options in (["--dumps", "dumps-stage"], ["--base", "main"], ["--base", "stage"], ["--base", "release/3.0"]):
            check(nightly.run(*options))
    assert len(nightly.requests) == len({each["head"] for each in nightly.requests}) == 4
    for request in nightly.requests:
        [commit] = nightly.origin.commits(f"{request['base']}..{request['head']}")
        assert len(nightly.origin.changed_files(commit)) == 2


@pytest.mark.parametrize("by", ["pin", "remove"])
def test_pin_or_rm_on_base_updates_pull_request(nightly, sample, by):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run())

    def decide(tree):
        assert rsdump.run(by, SETTINGS, "--dumps", tree / "dumps").code == rsdump.DONE
    nightly.on_main(decide)
    sample.delete_record(MARKETS, "nowhere")
    check(nightly.run())
    assert nightly.origin("diff", "--name-only", "main", BRANCH).split() == ["dumps/dumps.lock.json", "dumps/main/markets.zip"]
    assert nightly.checkout(BRANCH, "landed").verify("--locked").code == rsdump.DONE


@pytest.mark.parametrize("races", [1, 2])
def test_lost_push_race_is_repeated_once(nightly, sample, races):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run())
    nightly.race(BRANCH, races)
    sample.delete_record(MARKETS, "nowhere")
    run = check(nightly.run(), rsdump.DONE if races == 1 else GIT_FAILED)
    assert ("each time" in run.summary) == (races == 2)
    check(nightly.run())
    changed = nightly.origin("diff", "--name-only", "main", BRANCH).split()
    assert {*(f"raced-{number}" for number in range(races)), "dumps/main/markets.zip"} < set(changed), changed


def test_edited_work_tree_is_ignored(nightly, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run())
    tree = nightly.clone.path / f".git/rsdump-nightly/{BRANCH}/tree"
    config = tree / "dumps/dumps.yaml"
    config.write_text(config.read_text().replace("trust:\n", "trust:\n  accept-unsigned: true\n"))
    (tree / "dumps/.rsdump").mkdir(exist_ok=True)
    (tree / "dumps/.rsdump/next.json").write_text("{}")
    (nightly.clone.path / ".git/worktrees/tree/index").write_bytes(b"")
    sample.delete_record(MARKETS, "nowhere")
    check(nightly.run())
    assert nightly.origin("diff", "--name-only", "main", BRANCH).split() == [
        "dumps/dumps.lock.json", "dumps/main/markets.zip", "dumps/main/settings.zip"]
    # If no temporary file can be created, the run must not claim a push.
    sample.patch_record(SETTINGS, "telemetry", {"value": False})
    before = nightly.branches()
    run = check(nightly.run(env={"TMPDIR": "/proc"}), GIT_FAILED)
    assert "/proc" in run.summary and "pushed" not in run.summary and nightly.branches() == before, str(run)


def test_pull_request_of_fork_is_ignored(nightly, sample):
    theirs = {"number": 1, "state": "OPEN", "isCrossRepository": True, "head": BRANCH, "base": "main", "title": "x",
              "body": "theirs"}
    nightly.edit_requests(lambda requests: requests.append(theirs))
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run())
    assert nightly.requests[0] == theirs and len(nightly.requests) == 2


def test_nightly_commits_directly_on_base(nightly, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    before = nightly.branches()["main"]
    check(nightly.run("--branch", "main", "--base", "main"))
    assert nightly.origin.commits(f"{before}..main") == [nightly.branches()["main"]]
    assert nightly.requests == [] and list(nightly.branches()) == ["main"]


def test_gitignored_bundles_are_reported(nightly, sample):
    def ignore(tree):
        (tree / ".gitignore").write_text("icons.zip\n")
        nightly.seed("rm", "-q", "--cached", "dumps/main/icons.zip")
    nightly.on_main(ignore)
    sample.delete_record(MARKETS, "nowhere")
    run = check(nightly.run(), rsdump.USAGE)
    assert "icons.zip" in run.summary and "gitignore" in run.summary and BRANCH not in nightly.branches(), str(run)


def test_killed_nightly_resumes(nightly, sample):
    """The process group is killed with SIGKILL after some attachments have arrived, while others are downloading."""
    sample.patch_metadata(ICONS, {"attachment": {"bundle": False}})
    for number in range(23, 29):
        sample.put_attachment(ICONS, f"petals-{number}", f"p{number}.svg", samples.svg(number), "image/svg+xml")
    sample.delete_record(MARKETS, "nowhere")
    # All but two attachments arrive; those two take longer than this test.
    sample.faults({"path": "/attachments/", "skip": 4, "times": 2, "slow": [1, 1]})
    before, position = nightly.state(), sample.log_position()
    process = nightly.start()
    wait_until(lambda: len(arrived(sample, position)) == 4)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert BRANCH not in nightly.branches() and nightly.is_untouched(before)

    sample.faults()
    check(nightly.run())
    assert len(nightly.new_commits()) == 1
    landed = nightly.checkout(BRANCH, "landed")
    assert landed.verify("--locked").code == rsdump.DONE
    assert samples.svg(28) in landed.bundle(ICONS).attachments.values()


def arrived(sample, position):
    """Attachments that the server has sent completely."""
    return [each for each in sample.requests(position) if "/attachments/" in each["path"] and each["status"] == 200]


def wait_until(condition):
    deadline = time.monotonic() + rsdump.TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.02)


@pytest.mark.parametrize("arguments", [
    ["--nonsense"], ["--dumps"], ["--dumps", "/etc"], ["--dumps", "../dumps"], ["--branch", "a..b"],
    ["--remote", "elsewhere"], ["--dumps", "README"],
])
def test_nightly_usage_errors(nightly, arguments):
    before = nightly.state()
    run = check(nightly.run(*arguments), rsdump.USAGE)
    assert run.err and nightly.is_untouched(before)
    assert nightly.run(*arguments, cwd="/").code == rsdump.USAGE, "must fail outside a repository"


def test_on_change_runs_with_pull_request(nightly, sample, tmp_path):
    hook = Hook(tmp_path)
    options = "--on-change", hook.command
    before = nightly.checkout("main", "before").lock["collections"]
    check(nightly.run(*options))
    assert not hook.take()
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    # gh fails: the branch is pushed, but there is no pull request yet.
    check(nightly.run(*options, fails="create"), GIT_FAILED)
    assert not hook.take()
    hook.fails.touch()
    run = check(nightly.run(*options))
    assert "warning: --on-change failed: it exited with code 1" in run.err and not hook.take()
    # The command is notified once, with all changes since the last notification, even after a second night.
    hook.fails.unlink()
    sample.delete_record(MARKETS, "nowhere")
    check(nightly.run(*options))
    after = nightly.checkout(BRANCH, "after").lock["collections"]
    names = [MARKETS, SETTINGS]
    assert hook.take() == [{
        "timestamp": max(each["timestamp"] for each in after.values()), "collections": names,
        "changes": [{
            "collection": name, "previousTimestamp": before[name]["timestamp"], "timestamp": after[name]["timestamp"]}
            for name in names],
        "pull_request": "https://github.example/pull/1"}]
    check(nightly.run(*options))
    # A merge is not a change.
    nightly.merge()
    check(nightly.run(*options))
    assert not hook.take()
    # With direct commits to a branch, there is no pull request.
    sample.patch_record(SETTINGS, "telemetry", {"value": False})
    check(nightly.run(*options, "--branch", "main", "--base", "main"))
    [change] = hook.take()
    assert change["collections"] == [SETTINGS] and "pull_request" not in change


def test_before_commit_output_is_in_same_commit(nightly, sample):
    command = "mkdir -p made && grep -c timestamp dumps/dumps.lock.json >made/count && cksum dumps/main/settings.zip >>made/count"
    options = "--before-commit", command, "--also", "made"
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run(*options))
    [commit] = nightly.new_commits()
    assert nightly.origin.changed_files(commit) == ["dumps/dumps.lock.json", "dumps/main/settings.zip", "made/count"]
    check(nightly.run(*options))
    assert nightly.new_commits() == [commit]
    # The base and the branch have both generated the file, from different states.
    sample.delete_record(SETTINGS, "search-bar")

    def refresh(tree):
        assert rsdump.run("refresh", "--dumps", tree / "dumps").code == rsdump.DONE
        subprocess.run(["sh", "-c", command], cwd=tree, check=True)
    nightly.on_main(refresh)
    check(nightly.run(*options))
    assert nightly.requests[0]["state"] == "CLOSED" and len(nightly.requests[0]["comments"]) == 1


@pytest.mark.parametrize("command, code, message", [
    ("exit 5", rsdump.USAGE, "exited with code 5"),
    ("echo x >README", rsdump.USAGE, "README"),
    ("echo x >stray", rsdump.USAGE, "stray"),
    ("echo x >dumps/main/settings.zip", rsdump.VERIFICATION, "do not verify"),
])
def test_failed_before_commit_lands_nothing(nightly, sample, command, code, message):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    run = check(nightly.run("--before-commit", command, "--also", "made"), code)
    assert message in run.summary and BRANCH not in nightly.branches(), str(run)
    # As if the run was killed right after it created its work tree, or before it filled it.
    for index in nightly.clone.path.glob(".git/worktrees/*/index"):
        nightly.clone("-C", nightly.clone.path / f".git/rsdump-nightly/{BRANCH}/tree", "reset", "-q", "--hard")
        index.unlink()
    check(nightly.run("--before-commit", "true", "--also", "nowhere"))
    [commit] = nightly.new_commits()
    assert nightly.origin.changed_files(commit) == ["dumps/dumps.lock.json", "dumps/main/settings.zip"]


def test_nightly_exits_with_worst_code(nightly, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    sample.faults({"path": "collections/markets/changeset", "body": "{"})
    sample.delete_record(MARKETS, "nowhere")
    run = check(nightly.run(fails="create"), rsdump.SOME_FAILED)
    assert "create failed" in run.summary and f"could not refresh `{MARKETS}`" in run.summary


def test_signature_failure_label_and_grouping(nightly, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run())
    sample.delete_record(MARKETS, "nowhere")
    # The open pull request shows the failure, although nothing is committed.
    run = check(nightly.run("--", "--full", "--trust-root", "a" * 64, env={"GITHUB_ACTIONS": "true"}), rsdump.SOME_FAILED)
    assert "Signature failure: " in run.summary and "Signature failure: " in run.out
    [request] = nightly.requests
    for text in (run.summary, request["body"]):
        assert text.count("no valid signature: ") == 1 and "5 collections for the same reason" in text, text
        assert text.index("### Signature failures") < (text.find("## All changes") + 1 or len(text))
    assert len(nightly.new_commits()) == 1


def test_acknowledged_failure_passes(nightly, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    sample.faults({"path": "collections/markets/changeset", "body": "{"})
    sample.delete_record(MARKETS, "nowhere")
    known = "    acknowledged: {error: changeset, until: 2999-12-31, reason: bug 1234}\n"
    edit_configuration(nightly, lambda text: text.replace(f"  {MARKETS}:\n", f"  {MARKETS}:\n{known}"))
    run = check(nightly.run(env={"GITHUB_ACTIONS": "true"}))
    assert "::" not in run.out.replace("::group::", "") and "### Acknowledged failures" in run.summary, str(run)
    assert "acknowledged in `dumps.yaml` until 2999-12-31 (error `changeset`): bug 1234" in run.summary
    assert "1 failed as acknowledged" in run.summary and f"failing since {time.strftime('%Y-%m-%d', time.gmtime())}\n" in run.summary
    # A different failure of the same collection is new.
    sample.faults({"path": "collections/markets/changeset", "status": 404})
    run = check(nightly.run(), rsdump.SOME_FAILED)
    assert "this failure is new: " in run.summary and "`dumps.yaml` acknowledges changeset" in run.summary, str(run)
    sample.faults()
    run = check(nightly.run())
    assert "its acknowledged failure (changeset) no longer occurs; remove acknowledged:" in run.summary and "failing since" not in run.summary


def test_pull_request_says_failing_since(nightly, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    sample.faults({"path": "collections/markets/changeset", "body": "{"})
    sample.delete_record(MARKETS, "nowhere")
    check(nightly.run(), rsdump.SOME_FAILED)
    [request] = nightly.requests
    today = time.strftime("%Y-%m-%d", time.gmtime())
    [line] = [each for each in request["body"].splitlines() if each.startswith(f"- `{MARKETS}` keeps its current bundle (data of ")]
    assert line.endswith(f"; failing since {today}"), line
    # A fresh clone gets the dates from the pull request alone, whose text may have been edited.
    noted = f'"failing":{{"{MARKETS}":"{today}"}}'
    assert noted in request["body"], request["body"]
    older = f'"failing":{{"main/gone":"2026-01-02","main/icons":"2999-01-01","{MARKETS}":"2026-01-02","x":[],"refresh":"soon"}}'
    body = request["body"].replace(noted, older)
    nightly.edit_requests(lambda requests: requests[0].update(body=body.replace("\n", "\r\n")))
    sample.faults({"path": "collections/(markets|icons)/changeset", "body": "{"})
    sample.put_attachment(ICONS, "petals-23", "petals-23.svg", samples.svg(23), "image/svg+xml")
    nightly.clone = nightly.origin.clone(nightly.folder / "fresh")
    check(nightly.run(), rsdump.SOME_FAILED)

    def days(text):
        return dict(re.findall(r"^ *- `([^`]+)` .*failing since (.*)$", text, re.MULTILINE))
    assert days(nightly.requests[0]["body"]) == {MARKETS: "2026-01-02", ICONS: today}
    # If the whole refresh fails, the known dates are kept and the reason is shown.
    sample.faults({"path": "monitor/collections/changes", "status": 500})
    run = check(nightly.run(), rsdump.UNREACHABLE)
    assert days(run.summary) == {MARKETS: "2026-01-02", ICONS: today, "refresh": today}, run.summary
    assert "the server cannot be reached: `" in run.summary and "the server answered 500" in run.summary
    sample.faults()
    assert "failing since" not in check(nightly.run()).summary and "failing since" not in nightly.requests[0]["body"]


def test_verify_covers_before_commit_output(nightly):
    command = ["--before-commit", "cp dumps/dumps.lock.json made.json", "--also", "made.json"]
    branches = nightly.branches()
    run = check(nightly.run("--verify", *command), rsdump.VERIFICATION)
    assert "does not match the output of --before-commit (`made.json`)" in run.summary, str(run)

    def make(text):
        def change(tree):
            (tree / "made.json").write_text(text or (tree / "dumps/dumps.lock.json").read_text())
        nightly.on_main(change)
        nightly.clone("pull", "-q")
    make("old")
    check(nightly.run("--verify", *command), rsdump.VERIFICATION)
    make(None)
    run = check(nightly.run("--verify", *command))
    assert "verifies, with the files made from its dumps." in run.summary, str(run)
    assert nightly.branches() == {**branches, "main": nightly.branches()["main"]} and nightly.requests == []
    # No work tree remains, and uncommitted files in the clone have no effect.
    (nightly.clone.path / "made.json").write_text("new")
    check(nightly.run("--verify", *command))
    assert "verified" not in nightly.clone("worktree", "list")
    check(nightly.run("--verify", "--before-commit", "false"), rsdump.USAGE)
    bundle = nightly.seed.path / "dumps/main/settings.zip"
    bundle.write_bytes(bundle.read_bytes()[:-1])
    nightly.seed.commit("damaged")
    nightly.seed("push", "-q", "origin", "main")
    nightly.clone("checkout", "-q", "made.json")
    nightly.clone("pull", "-q")
    run = check(nightly.run("--verify", *command), rsdump.VERIFICATION)
    assert "the dumps did not verify" in run.summary


def test_open_pull_request_shows_failed_night(nightly, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run())
    sample.faults({"path": "monitor/collections/changes", "status": 503, "headers": {"Retry-After": "600"}})
    run = check(nightly.run(), rsdump.BACKOFF)
    assert "awk" not in run.err and "collections that were already refreshed will land" in run.summary, str(run)
    [request] = nightly.requests
    assert request["body"].index("**Warning:** the server asked clients to wait") < request["body"].index("`telemetry`")
    # So does a run that aborts: it refreshes twice, but reports the reason only once.
    sample.faults()
    commit_edited(nightly, lambda dumps: pin(dumps))
    run = check(nightly.run(), rsdump.VERIFICATION)
    assert "did not verify" in nightly.requests[0]["body"], str(run)


def add_files(repository, count, message):
    """Adds a commit to main with that many more files, in folders of 500, each with different content."""
    stream = [f"commit refs/heads/main\ncommitter Somebody <s@example.org> {int(time.time())} +0000\n"
              f"data {len(message)}\n{message}\nfrom refs/heads/main^0\n"]
    for number in range(count):
        text = f"{message} {number} " * 20
        stream.append(f"M 100644 inline {message}/{number // 500}/{number}\ndata {len(text)}\n{text}\n")
    subprocess.run(["git", "-C", repository.path, "fast-import", "--quiet"], input="".join(stream), text=True, check=True,
                   env={**os.environ, **ENVIRONMENT})


@pytest.mark.parametrize("count", [5_000, pytest.param(500_000, marks=pytest.mark.nightly)])
def test_partial_clone_fetches_only_dumps(nightly, sample, count):
    nightly.origin("config", "uploadpack.allowFilter", "true")
    nightly.origin("config", "uploadpack.allowAnySHA1InWant", "true")
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run())
    add_files(nightly.origin, count, "source")
    for number in range(100):
        add_files(nightly.origin, 1, f"change{number}")
    sample.delete_record(MARKETS, "nowhere")
    clone = nightly.origin.clone(nightly.folder / "fresh", "--depth", "1", "--filter=blob:none", "--sparse").path

    def packs():
        return {path: path.stat().st_size for path in (clone / ".git/objects/pack").glob("*.pack")}
    cloned, begun = packs(), time.monotonic()
    check(nightly.run(cwd=clone))
    took, fetched = time.monotonic() - begun, sum(size for path, size in packs().items() if path not in cloned)
    print(f"{count:,} files: {took:.1f} s, {fetched:,} bytes fetched")
    objects = Repository(clone)("cat-file", "--batch-all-objects", "--batch-check=%(objecttype)", "--unordered").split()
    assert objects.count("blob") < 40, "only files of the dumps and at the top level may be fetched"
    dumps = sum(path.stat().st_size for path in (clone / f".git/rsdump-nightly/{BRANCH}/tree/dumps").rglob("*.zip"))
    assert took < 60 and len(nightly.new_commits()) == 2
    assert fetched < 1.5 * dumps
