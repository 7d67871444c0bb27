"""Documents of strangers, and what lies beside them: each costs its own lines, and work that grows with it."""

from __future__ import annotations

import os
import random
import sys
from io import BytesIO
from pathlib import Path

import pytest

from iconotext.check import files
from iconotext.check import picture as module
from iconotext.check.audit import FAILED, audit, check
from iconotext.check.files import Files, site_names
from iconotext.check.language import same
from iconotext.check.page import read_page
from iconotext.check.picture import pixels
from iconotext.check.places import PASSES, Finder
from iconotext.check.rules import CheckSettings, apply_rules
from iconotext.errors import RuleError
from iconotext.read import ReadSettings
from iconotext.system.files import open_plain, read_plain

BROKEN = """from iconotext.check import Rule
def fail(picture, page, settings):
    {body}
rule = Rule("own-broken", "error", "Fails.", fail)
"""


def told(tmp_path, *paths):
    return [(finding.rule, finding.source) for finding in check([tmp_path / path for path in paths]).findings]


@pytest.mark.parametrize("address", ["a%00/b.png", f"{'n' * 300}/b.png", "loop/b.png", "loop", "../" * 2000 + "b.png"])
def test_an_address_that_no_file_can_have_costs_nothing(tmp_path, address):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "a.md").write_text(f"![A fox in the snow]({address})\n")
    (tmp_path / "b.md").write_text("![image](https://x.test/a.png)\n")
    checked = check([tmp_path])
    assert (checked.failures, checked.documents) == ((), 2)
    assert ("alt-placeholder", "https://x.test/a.png") in [(f.rule, f.source) for f in checked.findings]


def test_an_address_with_a_zero_byte_is_of_no_file(tmp_path):
    (tmp_path / "a.md").write_text("![A fox in the snow](a%00/b.png)\n")
    (finding,) = check([tmp_path / "a.md"]).findings
    assert (finding.rule, finding.message.partition(" is ")[2]) == (
        "file-missing",
        "not found: its address has a zero byte in it",
    )


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is closed to this user")
def test_a_folder_that_cannot_be_listed_costs_nothing(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o000)
    (tmp_path / "a.md").write_text("![A fox in the snow](closed/b.png)\n")
    assert not check([tmp_path / "a.md"]).failures


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ZeroDivisionError", "ZeroDivisionError"),
        ("raise ValueError('a\\nb')", "ValueError: a b"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("return 5", "TypeError: it returns int, neither a text nor None"),
    ],
)
def test_a_rule_that_fails_costs_itself_at_that_document_in_one_line(
    tmp_path, monkeypatch, install_package, body, reason
):
    install_package("own", BROKEN.format(body=body), "iconotext.rules", own="own:rule")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text("![image](https://x.test/a.png)\n\n![image](https://x.test/b.png)\n")
    (tmp_path / "b.md").write_text("No pictures.\n")
    result = audit(["a.md", "b.md"], CheckSettings(), ReadSettings(), sarif=tmp_path / "found.sarif")
    line, summary = result.messages
    assert line == f"a.md: the rule own-broken failed ({reason}): a bug, to be reported; the option skip leaves it out"
    assert summary == "2 findings in 2 pictures of 2 documents; 1 rule failed at a document"
    assert (result.status, result.output.count("alt-placeholder")) == (FAILED, 2)
    assert reason in (tmp_path / "found.sarif").read_text()
    (failure,) = check(["a.md"]).failures
    assert isinstance(failure.error, RuleError)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_beside_a_document_keeps_nobody_waiting(tmp_path):
    os.mkfifo(tmp_path / "b.md")
    os.mkfifo(tmp_path / "b.png")
    text = "![A fox](b.png)\n\n*Figure 1.1: A fox.*\n\nSee Figure 1.2, Figure 1.3 and [it](#fig-x).\n"
    (tmp_path / "a.md").write_text(text + "\n![A fox in snow](c.png)\n\n*Figure 1.3: A fox in snow.*\n")
    assert ("reference-missing", "Figure 1.2") in told(tmp_path, "a.md")
    (failure,) = check([tmp_path]).failures
    assert "b.md: cannot be read: a pipe or a device, not a file" in str(failure.error)
    for path in (tmp_path / "b.md", tmp_path):
        with pytest.raises(OSError, match=r"pipe or a device|directory"):
            open_plain(path)


def test_no_more_is_read_than_the_limits(tmp_path, monkeypatch):
    (tmp_path / "a.md").write_bytes(b"fig-a " * 10)
    (tmp_path / "b.md").write_bytes(b"fig-b " * 100)
    (tmp_path / "c.md").write_bytes(b"fig-c " * 10)
    monkeypatch.setattr(files, "MAX_BYTES", 150)
    site_names.cache_clear()
    assert sorted(site_names(tmp_path, ".md")) == ["fig-a", "fig-c"]
    with pytest.raises(OSError, match="more than 599 bytes"):
        read_plain(tmp_path / "b.md", 599)
    assert len(read_plain(tmp_path / "b.md", 600)) == 600


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="no file is longer than the system says")
def test_a_file_longer_than_the_system_says_is_read_to_the_limit():
    with pytest.raises(OSError, match="more than 10 bytes"):
        read_plain(Path("/proc/self/maps"), 10)


@pytest.mark.parametrize(
    "picture",
    [
        b"P5 " + b"1" * 1_000_000 + b" 2 255\n",
        b"P5 #" + b"x" * 5_000_000,
        b'<svg xmlns="http://www.w3.org/2000/svg" width="' + b"9" * 400 + b'" height="3"/>',
        b"\xff\xd8" + b"\x00" * 5_000_000,
        b"\xff\xd8" + b"\xff" * 5_000_000,
    ],
    ids=["digits", "comment", "width", "zeros", "markers"],
)
def test_the_size_of_a_picture_is_looked_for_in_so_many_bytes(tmp_path, monkeypatch, picture):
    read = []

    class Counted(BytesIO):
        def read(self, size=-1):
            data = super().read(size)
            read.append(len(data))
            return data

    monkeypatch.setattr(module, "BytesIO", Counted)
    assert pixels(picture) is None
    assert sum(read) <= module.MAX_HEADER
    assert len(read) <= module.MAX_READS
    (tmp_path / "a.png").write_bytes(picture)
    (tmp_path / "a.md").write_text("![A fox](a.png)\n")
    assert told(tmp_path, "a.md") == []


def missing_pictures(count, folder):
    for number in range(count * 10):
        (folder / f"picture_of_a_fox_{number:05}.png").touch()
    return "".join(f"![Fox {n} in the snow](picture_of_the_fox_{n:05}.png)\n\n" for n in range(count))


DOCUMENTS = {
    "figures that nothing cites": lambda n, _: (
        "![A](z.png)\n\n*Figure 9999: A.*\n\nSee Figure 9999.\n\n"
        + "".join(f"![A](a{k}.png)\n\n*Figure {k}: Some {k}.*\n\nText.\n\n" for k in range(1, n))
    ),
    "falling numbers": lambda n, _: "".join(f"![A](a{k}.png)\n\n*Figure {k}: Some {k}.*\n\n" for k in range(n, 0, -1)),
    "one caption for all": lambda n, _: "".join(f"![A](a{k}.png)\n\n*Figure: Some foxes there.*\n\n" for k in range(n)),
    "one caption, side by side": lambda n, _: (
        "<p>" + "".join(f'<figure><img src="{k}.png" alt="A"><figcaption>A fox there.</figcaption></figure>' for k in range(n))
    ),
    "links to no figure": lambda n, _: "".join(f"[see it](#fig-x{k}) there. " for k in range(n)) + "\n\n![A](a.png)\n",
    "a name of a figure in each": lambda n, _: "".join(f'<figure id="fig-{k}"><img src="a{k}.png" alt="A"></figure>\n\nText.\n\n' for k in range(n)),
    "missing pictures beside similar names": missing_pictures,
    "an alternative text against its caption": lambda n, _: (
        f"![{' '.join(f'w{k} x' for k in range(n * 4))}](a.png)\n\n*{' '.join(f'x w{k}' for k in range(n * 4))}*\n"
    ),
}  # fmt: skip


def calls(text, folder):
    """How many functions are called, also built-in ones, when the rules are applied to a document."""
    path = folder / ("a.html" if text.startswith("<p>") else "a.md")
    path.write_text(text)
    page = read_page("html" if text.startswith("<p>") else "markdown", path, ReadSettings())
    page = type(page)(
        page.path, page.format, page.pictures, page.passages, page.text, Files(path, folder, ReadSettings())
    )
    count = 0

    def counted(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        applied = apply_rules(page, CheckSettings())
        for subject, _, _ in applied.broken:
            page.place(subject)
    finally:
        sys.setprofile(None)
    assert applied.failed == {}
    return count


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_rules_take_work_that_grows_with_the_document(tmp_path, document):
    folders = [tmp_path / name for name in ("small", "large")]
    for folder in folders:
        folder.mkdir()
    small, large = (calls(document(size, folder), folder) for size, folder in zip((150, 300), folders, strict=True))
    assert large < 2.5 * small


def test_places_are_looked_for_within_a_bound():
    searched = []

    text = "[see it](#x) " * 500
    finder = Finder(text, ())
    search = finder._search

    def counted(pattern, start, end, *flags):
        before = finder._left
        at = search(pattern, start, end, *flags)
        searched.append(before - finder._left)
        return at

    finder._search = counted
    for block in range(20_000):
        finder.passage(block, "nothing of this is in it")
        finder.word("neither", 0, len(text))
    assert sum(searched) <= PASSES * len(text)


def test_equal_passages_have_places_of_their_own(tmp_path):
    (tmp_path / "a.md").write_text("![A](https://x.test/a.png)\n" + "\nAs [it](#fig-x) shows.\n" * 3)
    assert [f.place.line for f in check([tmp_path / "a.md"], CheckSettings(rules=("reference",))).findings] == [3, 5, 7]


def test_long_texts_are_compared_where_they_differ():
    words = [f"word{n}" for n in range(3_000)]
    assert same(words, [*words[:1_000], "other", *words[1_001:]])
    assert not same(words, [*words[:1_000], *["other"] * 400, *words[1_400:]])
    shuffled = random.Random(1).sample(words, len(words))
    assert not same(words, shuffled)
