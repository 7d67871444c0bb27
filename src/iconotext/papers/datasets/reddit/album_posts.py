"""The posts of a subreddit that link an album of imgur, out of pushshift's files, kept on disk."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from iconotext.corpus.builders.frame.build import Build
from iconotext.corpus.json_lines import json_lines
from iconotext.errors import CorpusError
from iconotext.papers.datasets.reddit.imgur_album import album_id
from iconotext.papers.datasets.reddit.pushshift import month_of, submission_files, subreddit_posts
from iconotext.strict_json import dump_json
from iconotext.write import write_text


def keep_album_posts(
    build: Build, source: Path, *, subreddit: str, first_month: str, last_month: str, min_score: int
) -> int:
    """Write the posts that count to disk: those that link an album of imgur which no earlier one links.

    Args:
        build: The run.
        source: Folder with pushshift's files.
        subreddit: As Reddit writes it.
        first_month: As 2013-01.
        last_month: Likewise.
        min_score: Of a post.

    Returns:
        How many there are.

    Raises:
        CorpusError: A file is missing or damaged, or no post counts.
    """
    report = build.report
    files = submission_files(source, first_month, last_month)
    results = build.mapped(
        "submissions",
        [str(path) for path in files],
        partial(subreddit_posts, subreddit=subreddit),
        total=len(files),
        label="Reading submissions",
        chunk=1,
    )
    seen: set[str] = set()
    linked: set[str] = set()
    posts = popular = 0

    def is_new(name: str, known: set[str]) -> bool:
        before = len(known)
        known.add(name)
        return len(known) > before

    def links() -> Iterator[str]:
        nonlocal posts, popular
        for path, result in zip(files, results, strict=True):
            for line, problem in result["broken"]:
                report.drop("line that is not JSON", f"{path.name}, line {line}", problem)
            in_time = []
            for post in result["posts"]:
                month = month_of(post["created"])
                if month is None or first_month <= month <= last_month:  # a file of one subreddit has all years
                    in_time.append(post | {"id": post["id"] or f"{path.name}: {post['url']}"})
            good = []
            for post in in_time:
                if not is_new(post["id"], seen):
                    report.drop("post that came before", post["id"], path.name)
                    continue
                posts += 1
                if post["score"] is None or post["score"] < min_score:
                    report.drop(f"score below {min_score}", post["id"], str(post["score"]))
                    continue
                popular += 1
                album = album_id(post["url"] or "")
                if album is None:
                    report.drop("not an album of imgur", post["id"], post["url"] or "")
                else:
                    good.append(post | {"album": album})
            for post in good:
                if is_new(post["album"], linked):
                    yield f"{dump_json(post)}\n"
                else:
                    report.drop("album that was posted before", post["id"], post["album"])

    write_text(_file(build), links(), force=True)
    report.count(f"posts to r/{subreddit}", posts, 241_000, rounding=1000)
    report.count(f"posts with a score of at least {min_score}", popular)
    report.count("different albums of imgur that they link", len(linked))
    if not len(linked):
        raise CorpusError(
            f"{source}: none of {posts} posts to r/{subreddit} links an album of imgur and has a score of {min_score}"
        )
    return len(linked)


def _file(build: Build) -> Path:
    return build.work / "links.jsonl"


def kept_posts(build: Build) -> Iterator[dict[str, Any]]:
    """The posts that count, with ``album``."""
    return (post for _, post, _ in json_lines(_file(build)))
