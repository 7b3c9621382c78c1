"""The nightly job in repositories with Git LFS. Other commands are in commands/lfs.txt."""

import large_files
import rsdump
from nightly import BRANCH, Nightly
from test_changes import SETTINGS
from test_nightly import check

ATTRIBUTES = "*.zip filter=lfs diff=lfs merge=lfs -text\n"


class LargeNightly(Nightly):
    """The nightly job in a repository whose bundles are in Git LFS."""

    def __init__(self, folder, dumps):
        super().__init__(folder, dumps)
        large_files.set_up(self.seed, folder / "lfs")

        def track(path):
            (path / ".gitattributes").write_text(ATTRIBUTES)
            self.seed("add", "--renormalize", ".")

        self.on_main(track)
        large_files.set_up(self.clone, folder / "lfs")
        self.clone("pull", "-q")


def test_nightly_with_lfs(dumps, sample, tmp_path):
    nightly = LargeNightly(tmp_path, dumps)
    check(nightly.run())
    assert nightly.new_commits() == []
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    check(nightly.run())
    [request] = nightly.requests
    assert "`telemetry`" in request["body"]
    assert nightly.origin("cat-file", "blob", f"{BRANCH}:dumps/{SETTINGS}.zip").startswith("version https://git-lfs")
    # Without the filter, the job would commit the bundles themselves.
    nightly.clone("config", "--remove-section", "filter.lfs")
    sample.patch_record(SETTINGS, "telemetry", {"value": "newer"})
    before = nightly.branches()
    run = check(nightly.run(), rsdump.USAGE)
    assert "git lfs install" in run.summary and nightly.branches() == before
