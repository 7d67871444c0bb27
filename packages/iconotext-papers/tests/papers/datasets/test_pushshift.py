"""Pushshift's files: found by name, unpacked whatever they are packed with, and searched for one subreddit."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.errors import CorpusError
from iconotext_papers.datasets import pushshift
from iconotext_papers.datasets.pushshift import month_of, submission_files, subreddit_posts


def long_zstd(data):
    """As ``zstd --long=31`` packs a stream: whoever unpacks it must keep 2 GiB."""
    parameters = zstandard.ZstdCompressionParameters.from_level(1, window_log=31, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return packer.compress(data) + packer.flush()


PACKERS = {
    "RS_2013-01.zst": long_zstd,
    "RS_2013-02.bz2": bz2.compress,
    "RS_2013-03.xz": lzma.compress,
    "RS_2013-04.gz": gzip.compress,
    "RS_2013-05": bytes,
    "RS_2013-06.jsonl": bytes,
    "DIY_submissions.zst": lambda data: zstandard.ZstdCompressor().compress(data),
}


def line(name, subreddit="DIY", **more):
    post = {"id": name, "subreddit": subreddit, "score": 30, "url": "http://imgur.com/a/x", "title": "T"}
    return json.dumps(post | {"created_utc": 1357000000} | more)


def write(path, text, pack=bytes):
    path.write_bytes(pack(text.encode()))
    return str(path)


@pytest.mark.parametrize("name", PACKERS)
def test_every_packing_is_read(tmp_path, name):
    text = "\n".join([line("a"), line("b", "pics"), line("c")]) + "\n"
    found = subreddit_posts(write(tmp_path / name, text, PACKERS[name]), subreddit="DIY")
    assert [post["id"] for post in found["posts"]] == ["a", "c"]
    assert found["broken"] == []
    assert found["posts"][0] == {
        "id": "a",
        "title": "T",
        "score": 30,
        "url": "http://imgur.com/a/x",
        "created": 1357000000,
    }


@pytest.mark.parametrize("name", [name for name in PACKERS if not name.endswith(("05", "jsonl"))])
def test_a_file_that_was_cut_off_or_is_something_else_is_an_error(tmp_path, name):
    packed = PACKERS[name]("".join(line(f"{i}", title=f"{i * 7919:x}") + "\n" for i in range(500)).encode())
    for data in (packed[: len(packed) // 2], b"<html>Not found</html>"):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(CorpusError, match=r"cut off or damaged .*download it again"):
            subreddit_posts(str(tmp_path / name), subreddit="DIY")


def test_a_file_that_is_gone_is_an_error(tmp_path):
    with pytest.raises(CorpusError, match=r"cannot be read: No such file"):
        subreddit_posts(str(tmp_path / "RS_2013-01.zst"), subreddit="DIY")


def test_several_frames_of_zstd_are_one_file(tmp_path):
    packed = b"".join(zstandard.ZstdCompressor().compress(f"{line(name)}\n".encode()) for name in "abc")
    (tmp_path / "RS_2013-01.zst").write_bytes(packed)
    found = subreddit_posts(str(tmp_path / "RS_2013-01.zst"), subreddit="DIY")
    assert [post["id"] for post in found["posts"]] == ["a", "b", "c"]


def test_a_byte_order_mark_hides_no_post(tmp_path):
    path = tmp_path / "RS_2013-01.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + f"{line('a')}\r\n{line('b')}\r\n".encode())
    found = subreddit_posts(str(path), subreddit="DIY")
    assert ([post["id"] for post in found["posts"]], found["broken"]) == (["a", "b"], [])


def test_broken_lines_are_told_with_their_numbers(tmp_path):
    lines = ["not JSON at all", line("a"), '{"subreddit": "DIY", "score": ', line("b"), '["DIY"]', "", line("c")]
    path = tmp_path / "RS_2013-01"
    path.write_bytes("\r\n".join(lines).encode() + b'\n{"subreddit":"DIY","title":"\xff"}\n{"title": NaN, "x": "DIY"}')
    found = subreddit_posts(str(path), subreddit="DIY")
    assert [post["id"] for post in found["posts"]] == ["a", "b", "c"]
    assert [number for number, _ in found["broken"]] == [3, 5, 8, 9]


def test_only_the_subreddit_itself_counts(tmp_path):
    lines = [
        line("a", "DIY"),
        line("b", "diy"),
        line("c", "pics", link_flair_text="DIY"),
        line("d", None, title="DIY"),
        json.dumps({"id": "e", "subreddit": "DIY"}, separators=(",", ":")),
    ]
    found = subreddit_posts(write(tmp_path / "RS_2013-01", "\n".join(lines)), subreddit="DIY")
    assert [post["id"] for post in found["posts"]] == ["a", "e"]


def test_numbers_as_years_write_them(tmp_path):
    lines = [
        line("a", score="31", created_utc="1357000000"),
        line("b", score=None, created_utc=1357000000.0),
        line("c", score=True, url=None, title=7),
        line("d", score=10**30, created_utc="soon"),
        line("e", title="\ud800 half"),
    ]
    posts = subreddit_posts(write(tmp_path / "RS_2013-01", "\n".join(lines)), subreddit="DIY")["posts"]
    assert [post["score"] for post in posts] == [31, None, None, None, 30]
    assert [post["created"] for post in posts] == [1357000000, 1357000000, 1357000000, None, 1357000000]
    assert posts[2]["url"] is None
    assert posts[2]["title"] is None
    assert posts[4]["title"] == "? half"


@settings(max_examples=40, deadline=None)
@given(
    lines=st.lists(st.sampled_from([line("a"), line("b", "pics"), "broken DIY", '"DIY"', "", "x" * 70])),
    block=st.integers(1, 200),
    last=st.booleans(),
)
def test_blocks_make_no_difference(tmp_path_factory, lines, block, last):
    path = tmp_path_factory.mktemp("blocks") / "RS_2013-01"
    path.write_bytes("\n".join(lines).encode() + b"\n" * last)
    expected = [(i, text) for i, text in enumerate(lines, 1) if '"DIY"' in text]
    before = pushshift.BLOCK
    pushshift.BLOCK = block
    try:
        found = subreddit_posts(str(path), subreddit="DIY")
    finally:
        pushshift.BLOCK = before
    assert len(found["posts"]) == sum(text.startswith("{") for _, text in expected)
    assert [number for number, _ in found["broken"]] == [i for i, text in expected if not text.startswith("{")]


def test_a_line_without_end_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(pushshift, "MAX_LINE", 1000)
    path = write(tmp_path / "RS_2013-01", "x" * 5000)
    with pytest.raises(CorpusError, match=r"has a line of more than"):
        subreddit_posts(path, subreddit="DIY")


def test_files_are_found_by_name_and_month(tmp_path):
    (tmp_path / "deep" / ".hidden").mkdir(parents=True)
    for name in (
        "RS_2013-01.zst",
        "RS_2018-10",
        "RS_2018-11.zst",
        "RS_2012-12.bz2",
        "RS_v2_2013-05.xz",
        "RC_2013-01.zst",
        "deep/RS_2014-02.bz2",
        "deep/.hidden/RS_2014-03.bz2",
        "DIY_submissions.zst",
        "DIY_comments.zst",
        "RS_2013-07.zst.part",
        "RS_2013-07.torrent",
        "notes.txt",
    ):
        (tmp_path / name).write_bytes(b"")
    found = [path.relative_to(tmp_path).as_posix() for path in submission_files(tmp_path, "2013-01", "2018-10")]
    assert found == ["DIY_submissions.zst", "RS_2013-01.zst", "deep/RS_2014-02.bz2", "RS_2018-10", "RS_v2_2013-05.xz"]


def test_no_files_is_an_error_that_says_where_they_are(tmp_path):
    with pytest.raises(CorpusError, match=r"no submissions of 2013-01 to 2018-10: RS_2013-01.zst .*pushshift.io"):
        submission_files(tmp_path, "2013-01", "2018-10")
    (tmp_path / "RS_2020-01.zst").write_bytes(b"")
    with pytest.raises(CorpusError, match=r"\(1 files of other months are there\)"):
        submission_files(tmp_path, "2013-01", "2018-10")


def test_months_are_those_of_greenwich():
    assert month_of(1356998399) == "2012-12"
    assert month_of(1356998400) == "2013-01"
    assert month_of(None) is None
