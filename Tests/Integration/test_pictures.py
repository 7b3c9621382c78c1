"""The check of the pictures finds nothing in those that are kept, and finds what is broken on purpose."""
import importlib.machinery
import importlib.util
import shutil
import xml.etree.ElementTree as ElementTree

import pytest

import rsdump

loader = importlib.machinery.SourceFileLoader("pictures", str(rsdump.REPOSITORY / "scripts/pictures"))
pictures = importlib.util.module_from_spec(importlib.util.spec_from_loader("pictures", loader))
loader.exec_module(pictures)
from drawing.canvas import Canvas  # noqa: E402
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def kept(tmp_path):
    """A copy of the kept pictures."""
    for path in [*pictures.DRAWN, *pictures.PRINTED, *pictures.SHOT, pictures.HASH]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(rsdump.REPOSITORY / path, tmp_path / path)
    return tmp_path


@pytest.fixture(scope="module")
def drawn():
    return {path: draw().svg() for path, draw in pictures.DRAWN.items()}


def test_nothing_is_wrong(kept, drawn):
    assert list(pictures.problems(drawn, [], kept)) == []


def test_a_picture_that_was_changed_or_removed(kept, drawn):
    changed, removed, *_ = pictures.DRAWN
    (kept / changed).write_text((kept / changed).read_text().replace("verify", "trust", 1))
    (kept / removed).unlink()
    one, other = pictures.problems(drawn, [], kept)
    assert changed in one and "out of date" in one
    assert removed in other and "found none" in other


def test_a_page_that_was_changed(kept, drawn):
    (kept / pictures.HASH).write_text("0" * 64 + "  Sources/Server/SnapshotServer/Page\n")
    assert [problem.split(":")[0] for problem in pictures.problems(drawn, [], kept)] == [pictures.HASH]


def test_sizes_of_printed_text_may_differ_and_nothing_else():
    path = next(iter(pictures.PRINTED))
    assert pictures.is_same(path, ">5.4 KiB<", ">5.3 KiB<") and not pictures.is_same(path, ">45 records<", ">46 records<")
    assert not pictures.is_same(next(iter(pictures.DRAWN)), ">5.4 KiB<", ">5.3 KiB<")


def test_every_picture_has_a_title_a_description_and_two_schemes(kept):
    for path in [*pictures.DRAWN, *pictures.PRINTED]:
        root = ElementTree.parse(kept / path).getroot()
        assert root.findtext(f"{SVG}title") and len(root.findtext(f"{SVG}desc")) > 80, path
        assert "prefers-color-scheme:dark" in root.findtext(f"{SVG}style"), path
        assert not {name for element in root.iter() for name in element.attrib if name.endswith("href")}, path


def test_texts_that_overlap_or_leave_the_picture_are_refused():
    for x, told in ((30, "'one' overlaps 'two'"), (190, "'two' leaves the picture")):
        canvas = Canvas(200, 100, "title", "description")
        canvas.text(20, 50, "one")
        canvas.text(x, 52, "two")
        with pytest.raises(ValueError, match=told):
            canvas.svg()
