"""DIY: albums of photographs with captions that people posted to Reddit's r/DIY (Hessel 2019, §4.2; supplement §1).

Posts come from the files of pushshift. One that links an album of imgur and has a score of at least 25 makes a
document: the pictures of the album's page are its images, their captions its sentences. Documents with a picture that
looks like another one of any document are discarded, as are those that are too short or too long.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from iconotext.corpus.builders.frame.build import Build, Values
from iconotext.corpus.builders.frame.random_splits import with_random_splits
from iconotext.corpus.builders.pictures.fetched import fetch_pictures, name_of
from iconotext.corpus.builders.pictures.near_duplicates import MAX_DISTANCE, near_duplicates
from iconotext.corpus.builders.pictures.perceptual_hash import perceptual_hash
from iconotext.corpus.builders.reddit.imgur_album import album_id, read_album, saved_albums
from iconotext.corpus.builders.reddit.pushshift import month_of, submission_files, subreddit_posts
from iconotext.corpus.published_sizes import PUBLISHED
from iconotext.corpus.split import Shares
from iconotext.errors import CorpusError, DocumentError, PictureError
from iconotext.read.images import decode
from iconotext.read.polite import Manners

MONTH = r"^\d{4}-(0[1-9]|1[0-2])$"

HELD_OUT = 1000 / 8800
"""Share of validation, and of test: 6.8K, 1K and 1K documents."""


PLACEHOLDER = (503, "d835884373f4d6c8f24742ceabe74946")
"""Bytes and MD5 of the picture that imgur sends for one that was deleted."""

SUFFIXES = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".img", "")
"""Of files that may be pictures; ``.img`` has what was fetched and could not be told."""


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


@dataclass(slots=True)
class _Album:
    """A document in the making.

    Attributes:
        id: Of the album.
        post: What pushshift says of the post.
        images: Imgur's name, caption and whether it moves, of each.
        files: Of the images that can be used, by name.
    """

    id: str
    post: dict[str, Any]
    images: list[tuple[str, str | None, bool]]
    files: dict[str, Path]

    @property
    def captions(self) -> list[tuple[str, str]]:
        """Name and caption of the images that have one, also of those that cannot be used."""
        return [(name, caption) for name, caption, _ in self.images if caption]


def diy_rows(
    build: Build, source: Path, settings: DiySettings, *, images: Path | None = None, fetch: Manners | None = None
) -> Iterator[Values]:
    """The documents, in the order of the posts.

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
        raise CorpusError(f"{images}: no folder; name the one that has the pictures (Ab3dE7f.jpg and so on)")
    links = _album_links(build, source, settings)
    albums = _read_albums(build, source, links)
    _find_pictures(build, albums, images or source, images or source / "images", fetch)
    kept = _without_lookalikes(build, albums, settings)
    long, short = settings.min_captions, settings.min_tokens
    kept = _kept(
        build,
        kept,
        f"fewer than {long} captions of {short} tokens",
        lambda album: sum(len(caption.split()) >= short for _, caption in album.captions) >= long,
    )
    few = settings.min_images
    kept = _kept(build, kept, f"fewer than {few} images", lambda album: len(album.files) >= few)
    images_most, captions_most = settings.max_images, settings.max_captions
    kept = _kept(
        build,
        kept,
        f"more than {images_most} images or {captions_most} captions",
        lambda album: len(album.files) <= images_most and len(album.captions) <= captions_most,
    )
    yield from with_random_splits(build, (_values(build, album) for album in kept), shares, PUBLISHED["DIY"])


def _values(build: Build, album: _Album) -> Values:
    number = {name: place for place, name in enumerate(album.files)}
    captions = album.captions
    meta = {"post": album.post["id"], "score": album.post["score"], "source": f"https://imgur.com/a/{album.id}"}
    return {
        "id": album.id,
        "sentences": [caption for _, caption in captions],
        "images": [build.way(file) for file in album.files.values()],
        "links": [(place, number[name]) for place, (name, _) in enumerate(captions) if name in number],
        "meta": ({"title": album.post["title"]} if album.post["title"] else {}) | meta,
    }


def _album_links(build: Build, source: Path, settings: DiySettings) -> dict[str, dict[str, Any]]:
    """By the album's name, the posts that count."""
    report = build.report
    files = submission_files(source, settings.first, settings.last)
    results = build.mapped(
        "submissions",
        [str(path) for path in files],
        partial(subreddit_posts, subreddit=settings.subreddit),
        total=len(files),
        label="Reading submissions",
        chunk=1,
    )
    found: dict[str, dict[str, Any]] = {}
    seen: set[str] = set()
    posts = popular = 0
    for path, result in zip(files, results, strict=True):
        for line, problem in result["broken"]:
            report.drop("line that is no JSON", f"{path.name}, line {line}", problem)
        for post in result["posts"]:
            month = month_of(post["created"])
            if month is not None and not settings.first <= month <= settings.last:
                continue  # a file of one subreddit has all years
            name = post["id"] or f"{path.name}: {post['url']}"
            if name in seen:
                report.drop("post that came before", name, path.name)
                continue
            seen.add(name)
            posts += 1
            if post["score"] is None or post["score"] < settings.min_score:
                report.drop(f"score below {settings.min_score}", name, str(post["score"]))
                continue
            popular += 1
            album = album_id(post["url"] or "")
            if album is None:
                report.drop("no album of imgur", name, post["url"] or "")
            elif album in found:
                report.drop("album that was posted before", name, album)
            else:
                found[album] = post | {"id": name}
    report.count(f"posts to r/{settings.subreddit}", posts, 241_000, rounding=1000)
    report.count(f"posts with a score of at least {settings.min_score}", popular)
    report.count("different albums of imgur that they link", len(found))
    if not found:
        raise CorpusError(
            f"{source}: none of {posts} posts to r/{settings.subreddit} links an album of imgur and has a score of "
            f"{settings.min_score}"
        )
    return found


def _read_albums(build: Build, source: Path, links: dict[str, dict[str, Any]]) -> list[_Album]:
    """The albums whose page was saved and shows pictures."""
    pages = saved_albums(source)
    there = [name for name in links if name in pages]
    missing = len(links) - len(there)
    if not there:
        first = next(iter(links))
        raise CorpusError(
            f"{source}: none of the {len(links)} albums has a saved page: {source / 'albums' / f'{first}.html'} and so "
            "on, the page of https://imgur.com/a/... as it was until 2019 (web.archive.org has many)"
        )
    if missing:
        build.report.note(
            f"{missing} of {len(links)} albums have no saved page; pages of today do not show what is needed, "
            "web.archive.org has many as they were"
        )
    results = build.mapped(
        "albums", [str(pages[name]) for name in there], album_page, total=len(there), label="Reading albums"
    )
    for name in links:
        if name not in pages:
            build.report.drop("album without a saved page", name)
    albums: list[_Album] = []
    for name, result in zip(there, results, strict=True):
        if isinstance(result, str):
            build.report.drop("album page that cannot be read", name, result)
        elif not result:
            build.report.drop("album page without pictures", name, "no div of the class post-image-container")
        else:
            images = [(image, caption, moving) for image, caption, moving in result]
            albums.append(_Album(name, links[name], images, {}))
    build.report.count("albums with pictures", len(albums), 13_000, rounding=1000)
    return albums


def album_page(path: str) -> list[tuple[str, str | None, bool]] | str:
    """Name, caption and whether it moves of each picture of a saved page; or why the page cannot be read."""
    try:
        return [(image.id, image.caption, image.moving) for image in read_album(Path(path))]
    except DocumentError as error:
        return str(error).removeprefix(f"{path}: ")


def _find_pictures(build: Build, albums: list[_Album], folder: Path, target: Path, fetch: Manners | None) -> None:
    """Fill in the files of the pictures that are there, or can be fetched."""
    wanted = dict.fromkeys(name for album in albums for name, _, moving in album.images if not moving)
    found = _pictures_in(folder, wanted)
    problems: dict[str, str] = {}
    if fetch is not None:
        addresses = {_address(name): name for name in wanted if name not in found}
        results = fetch_pictures(addresses, target, manners=fetch)
        for result in build.watch(results, total=len(addresses), label="Fetching pictures"):
            if result.file is not None:
                found[addresses[result.address]] = result.file
            else:
                problems[addresses[result.address]] = result.problem or "not fetched"
    for album in albums:
        for name, _, moving in album.images:
            if moving:
                build.report.drop("GIF or film", f"{album.id}/{name}")
            elif name in found:
                album.files[name] = found[name]
            else:
                build.report.drop("picture missing", f"{album.id}/{name}", problems.get(name, ""))


def _address(name: str) -> str:
    return f"https://i.imgur.com/{name}.jpg"


def _pictures_in(folder: Path, wanted: dict[str, None]) -> dict[str, Path]:
    """Files in a folder and the folders in it that have a wanted name, or that of what was fetched for it."""
    digests = {name_of(_address(name)): name for name in wanted}
    found: dict[str, Path] = {}
    with suppress(OSError):
        for place, folders, files in os.walk(folder):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "albums")
            for file in sorted(files):
                stem, suffix = os.path.splitext(file)
                name = digests.get(stem, stem)
                if name in wanted and suffix.lower() in SUFFIXES:
                    found.setdefault(name, Path(place, file))
    return found


def picture_hash(path: str) -> dict[str, str]:
    """The perceptual hash of a picture file as 16 hexadecimal digits, or the rule and reason for leaving it out."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        return {"rule": "picture missing", "reason": error.strerror or str(error)}
    if data.startswith(b"GIF8"):
        return {"rule": "GIF or film", "reason": ""}
    if (len(data), hashlib.md5(data, usedforsecurity=False).hexdigest()) == PLACEHOLDER:
        return {"rule": "picture missing", "reason": "deleted from imgur, which sent a placeholder"}
    try:
        return {"hash": f"{perceptual_hash(decode(data)):016x}"}
    except PictureError as error:
        return {"rule": "picture that cannot be decoded", "reason": str(error)}


def _without_lookalikes(build: Build, albums: list[_Album], settings: DiySettings) -> list[_Album]:
    """Leave out pictures that cannot be used, then the documents with one that looks like another."""
    import numpy as np

    report = build.report
    files = list(dict.fromkeys(str(file) for album in albums for file in album.files.values()))
    # Pictures may come between a build that was killed and the one that goes on: then these are other ones.
    digest = hashlib.sha256("\n".join(files).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    results = build.mapped(f"pictures-{digest}", files, picture_hash, total=len(files), label="Looking at pictures")
    found = dict(zip(files, results, strict=True))
    hashes = array("Q")
    owners: list[tuple[_Album, str]] = []
    for album in albums:
        for name, path in list(album.files.items()):
            looked_at = found[str(path)]
            if "hash" in looked_at:
                hashes.append(int(looked_at["hash"], 16))
                owners.append((album, name))
            else:
                del album.files[name]
                report.drop(looked_at["rule"], f"{album.id}/{name}", looked_at["reason"])
    report.count("valid pictures", len(owners), 295_000, rounding=1000)
    if not owners:
        raise CorpusError(
            "no picture of the albums is there: put them into a folder named images in the source, or name their "
            "folder with --images, as Ab3dE7f.jpg and so on, or give --fetch"
        )
    alike: dict[str, str] = {}
    for (album, name), other in zip(
        owners, near_duplicates(np.frombuffer(hashes, np.uint64), settings.distance), strict=True
    ):
        if other >= 0:
            album_2, name_2 = owners[other]
            alike.setdefault(album.id, f"{name} looks like {name_2} of {album_2.id}")
    for album in albums:
        if album.id in alike:
            report.drop("a picture that looks like another", album.id, alike[album.id])
    kept = [album for album in albums if album.id not in alike]
    report.count("documents without pictures that look like others", len(kept))
    return kept


def _kept(build: Build, albums: list[_Album], rule: str, keeps: Callable[[_Album], bool]) -> list[_Album]:
    """The documents that pass a rule."""
    kept = []
    for album in albums:
        if keeps(album):
            kept.append(album)
        else:
            build.report.drop(rule, album.id, f"{len(album.files)} images, {len(album.captions)} captions")
    build.report.count(f"documents left without those with {rule}", len(kept))
    return kept
