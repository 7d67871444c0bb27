"""DIY: albums of photographs with captions that people posted to Reddit's r/DIY (Hessel 2019, §4.2; supplement §1).

Posts come from the files of pushshift. One that links an album of imgur and has a score of at least 25 makes a
document: the pictures of the album's page are its images, their captions its sentences. Documents with a picture that
looks like another one of any document are discarded, as are those that are too short or too long.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from iconotext.corpus.builders.frame.build import Build, Values
from iconotext.corpus.builders.frame.random_splits import with_random_splits
from iconotext.corpus.published_sizes import PUBLISHED
from iconotext.corpus.split import Shares
from iconotext.errors import CorpusError
from iconotext.papers.datasets.labelled.answers import clean_text
from iconotext.papers.datasets.reddit.album_images import look_at_images, lookalikes
from iconotext.papers.datasets.reddit.album_posts import keep_album_posts
from iconotext.papers.datasets.reddit.albums import Album, Albums, ImageFiles, fetch_missing, read_albums
from iconotext.papers.datasets.reddit.near_duplicates import MAX_DISTANCE
from iconotext.read.web.polite import Politeness

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MONTH = r"^\d{4}-(0[1-9]|1[0-2])$"

HELD_OUT = 1000 / 8800
"""Share of validation, and of test: 6.8K, 1K and 1K documents."""


class DiySettings(BaseModel):
    """The rules; the defaults are the published ones."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    subreddit: str = Field("DIY", pattern=r"^\w+$")
    """As Reddit writes it."""

    first: str = Field("2013-01", pattern=MONTH)
    """The first month."""

    last: str = Field("2018-10", pattern=MONTH)
    """The last month."""

    min_score: int = 25
    """Of a post."""

    distance: int = Field(3, ge=0, le=MAX_DISTANCE)
    """Bits of 64 in which the perceptual hashes of two pictures may differ that look the same."""

    min_captions: int = Field(2, ge=1)
    """Captions of at least ``min_tokens`` that a document must have."""

    min_tokens: int = Field(5, ge=1)
    """Tokens (parts between white space) of such a caption."""

    min_images: int = Field(2, ge=1)
    """Valid images of a document."""

    max_images: int = Field(40, ge=1)
    """Valid images of a document."""

    max_captions: int = Field(40, ge=1)
    """Captions of a document."""

    validation: float = Field(HELD_OUT, ge=0, lt=1)
    """Share of the documents."""

    test: float = Field(HELD_OUT, ge=0, lt=1)
    """The same for test."""


def diy_rows(
    build: Build, source: Path, settings: DiySettings, *, images: Path | None = None, fetch: Politeness | None = None
) -> Iterator[Values]:
    """The documents, in the order of the posts.

    Of several posts that link one album the first counts, whose pictures would else be duplicates of each other; the
    paper does not say. A caption stays where its picture cannot be used.

    Args:
        build: The run.
        source: Folder with pushshift's files (``RS_2013-01.zst`` and so on), and the pages of albums
            (``albums/Ab3dE.html``), anywhere in it.
        settings: The rules.
        images: Folder with the pictures (``Ab3dE7f.jpg``); None: they are somewhere in the source.
        fetch: Fetch pictures that are missing, from imgur, into ``images``, or ``images`` in the source.

    Raises:
        CorpusError: A source is missing or damaged.
    """
    shares = Shares(settings.validation, settings.test)
    if images is not None and fetch is None and not images.is_dir():
        raise CorpusError(f"{images}: not a folder; name the one that has the pictures (Ab3dE7f.jpg and so on)")
    number = keep_album_posts(
        build,
        source,
        subreddit=settings.subreddit,
        first_month=settings.first,
        last_month=settings.last,
        min_score=settings.min_score,
    )
    albums = read_albums(build, source, number)
    target = images or source / "images"
    problems = {} if fetch is None else fetch_missing(build, albums, (images or source, target), target, fetch)
    files = ImageFiles(images or source, target)
    look_at_images(build, albums, files, problems)
    alike = lookalikes(albums, distance=settings.distance)
    documents = _documents(build, albums, files, alike, settings)
    build.published = PUBLISHED["DIY"]
    yield from with_random_splits(build, documents, shares)


def _documents(
    build: Build, albums: Albums, files: ImageFiles, alike: NDArray[np.int64], settings: DiySettings
) -> Iterator[Values]:
    """The albums that pass the rules, as documents without splits."""
    report = build.report
    least, few, tokens = settings.min_captions, settings.min_images, settings.min_tokens
    rules = (
        "a picture that looks like another",
        f"fewer than {least} captions of {tokens} tokens",
        f"fewer than {few} images",
        f"more than {settings.max_images} images or {settings.max_captions} captions",
    )
    left = dict.fromkeys(rules, 0)
    twins = _twins(albums, alike)
    for album in albums:
        images = [number for number in album.numbers if albums.usable[number]]
        captions = album.captions
        twin = next((number for number in images if alike[number] >= 0), None)
        broken = (
            twin is not None,
            sum(len(caption.split()) >= tokens for _, caption in captions) < least,
            len(images) < few,
            len(images) > settings.max_images or len(captions) > settings.max_captions,
        )
        for rule, breaks in zip(rules, broken, strict=True):
            if breaks:
                reason = f"{len(images)} images, {len(captions)} captions"
                if twin is not None:
                    reason = f"{album.name(twin)} looks like {twins[int(alike[twin])]}"
                report.drop(rule, album.id, reason)
                break
            left[rule] += 1
        else:
            yield _values(build, album, images, files)
    report.count("documents without pictures that look like others", left[rules[0]])
    for rule in rules[1:]:
        report.count(f"documents left without those with {rule}", left[rule])


def _twins(albums: Albums, alike: NDArray[np.int64]) -> dict[int, str]:
    """Name and album of the pictures that the first such picture of an album looks like."""
    firsts = (next((int(alike[i]) for i in album.numbers if alike[i] >= 0), None) for album in albums)
    wanted = {number for number in firsts if number is not None}
    return {i: f"{album.name(i)} of {album.id}" for album in albums for i in album.numbers if i in wanted}


def _values(build: Build, album: Album, images: list[int], files: ImageFiles) -> Values:
    place = {number: place for place, number in enumerate(images)}
    found = [files.of(album.name(number)) for number in images]
    title = clean_text(album.post["title"] or "")
    meta = {"post": album.post["id"], "score": album.post["score"], "source": f"https://imgur.com/a/{album.id}"}
    return {
        "id": album.id,
        "sentences": [caption for _, caption in album.captions],
        "images": [build.way(file) for file in found if file is not None],
        "links": [(i, place[number]) for i, (number, _) in enumerate(album.captions) if number in place],
        "meta": ({"title": title} if title else {}) | meta,
    }
