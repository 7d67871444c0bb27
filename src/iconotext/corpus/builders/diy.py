"""DIY: albums of photographs with captions that people posted to Reddit's r/DIY (Hessel 2019, §4.2; supplement §1).

Posts come from the files of pushshift. One that links an album of imgur and has a score of at least 25 makes a
document: the pictures of the album's page are its images, their captions its sentences. Documents with a picture that
looks like another one of any document are discarded, as are those that are too short or too long.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from iconotext.corpus.builders.frame.build import Build, Values
from iconotext.corpus.builders.frame.random_splits import with_random_splits
from iconotext.corpus.builders.labelled.answers import clean_text
from iconotext.corpus.builders.pictures.fetched import fetch_pictures, name_of
from iconotext.corpus.builders.pictures.folders import PictureFolders
from iconotext.corpus.builders.pictures.near_duplicates import MAX_DISTANCE, near_duplicates
from iconotext.corpus.builders.pictures.perceptual_hash import perceptual_hash
from iconotext.corpus.builders.reddit.imgur_album import album_id, read_album, saved_albums
from iconotext.corpus.builders.reddit.pushshift import month_of, submission_files, subreddit_posts
from iconotext.corpus.digest_table import DigestTable, digest_of
from iconotext.corpus.json_lines import json_lines
from iconotext.corpus.published_sizes import PUBLISHED
from iconotext.corpus.split import Shares
from iconotext.corpus.strict_json import dump_json
from iconotext.errors import CorpusError, DocumentError, PictureError
from iconotext.read.images import decode
from iconotext.read.polite import Manners
from iconotext.write import write_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MONTH = r"^\d{4}-(0[1-9]|1[0-2])$"

HELD_OUT = 1000 / 8800
"""Share of validation, and of test: 6.8K, 1K and 1K documents."""


PLACEHOLDER = (503, "d835884373f4d6c8f24742ceabe74946")
"""Bytes and MD5 of the picture that imgur sends for one that was deleted."""

SUFFIXES = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".img", ".JPG", ".JPEG", ".PNG", "")
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
    """An album as it is read from disk, one at a time.

    Attributes:
        id: Of the album.
        post: What pushshift says of the post.
        images: Imgur's name, caption and whether it moves, of each.
        first: Number of its first picture among those of all albums.
    """

    id: str
    post: dict[str, Any]
    images: list[tuple[str, str | None, bool]]
    first: int

    @property
    def captions(self) -> list[tuple[int, str]]:
        """Number of the picture and caption of those that have one, also where the picture cannot be used."""
        return [(self.first + i, caption) for i, (_, caption, _) in enumerate(self.images) if caption]

    @property
    def numbers(self) -> range:
        """Of its pictures."""
        return range(self.first, self.first + len(self.images))


class _Albums:
    """The albums whose page shows pictures, kept on disk: memory holds some bytes for each picture.

    Attributes:
        pictures: How many they have, with those that cannot be used.
        hashes: By picture; 0 where it cannot be used.
        usable: By picture, whether it can be.
    """

    def __init__(self, build: Build, there: Callable[[], Iterator[dict[str, Any]]]) -> None:
        self._build = build
        self._there = there  # the posts whose album has a page, in the order of the step "albums"
        self.pictures = 0
        self.hashes = array("Q")
        self.usable = bytearray()

    def __iter__(self) -> Iterator[_Album]:
        first = 0
        for post, images in zip(self._there(), self._build.kept("albums"), strict=True):
            if images and not isinstance(images, str):
                yield _Album(post["album"], post, [(name, caption, moving) for name, caption, moving in images], first)
                first += len(images)

    def names(self) -> Iterator[tuple[_Album, str, bool]]:
        """The album and name of each picture, and whether it moves."""
        return ((album, name, moving) for album in self for name, _, moving in album.images)


class _PictureFiles:
    """Where the files of pictures are."""

    def __init__(self, *folders: Path) -> None:
        there = [folder for folder in dict.fromkeys(folders) if folder.is_dir()]
        self._folders = PictureFolders(*there) if there else None

    def of(self, name: str) -> Path | None:
        """The file of a picture, by imgur's name or by that of what was fetched for it."""
        if self._folders is None:
            return None
        return self._folders.find(f"{stem}{suffix}" for stem in _stems(name) for suffix in SUFFIXES)


def _stems(name: str) -> Iterator[str]:
    yield name
    yield name_of(_address(name))


def diy_rows(
    build: Build, source: Path, settings: DiySettings, *, images: Path | None = None, fetch: Manners | None = None
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
        raise CorpusError(f"{images}: no folder; name the one that has the pictures (Ab3dE7f.jpg and so on)")
    number = _album_links(build, source, settings)
    albums = _read_albums(build, source, number)
    target = images or source / "images"
    problems = {} if fetch is None else _fetch(build, albums, (images or source, target), target, fetch)
    files = _PictureFiles(images or source, target)
    _look_at_pictures(build, albums, files, problems)
    alike = _lookalikes(build, albums, settings)
    documents = _documents(build, albums, files, alike, settings)
    build.published = PUBLISHED["DIY"]
    yield from with_random_splits(build, documents, shares)


def _album_links(build: Build, source: Path, settings: DiySettings) -> int:
    """Write the posts that count to disk, and say how many there are."""
    import numpy as np

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
    seen, linked = DigestTable(), DigestTable()
    posts = popular = 0

    def new(table: DigestTable, names: list[str]) -> list[bool]:
        added: list[bool] = table.put(np.array([digest_of(name) for name in names], np.uint64))[1].tolist()
        return added

    def links() -> Iterator[str]:
        nonlocal posts, popular
        for path, result in zip(files, results, strict=True):
            for line, problem in result["broken"]:
                report.drop("line that is no JSON", f"{path.name}, line {line}", problem)
            in_time = []
            for post in result["posts"]:
                month = month_of(post["created"])
                if month is None or settings.first <= month <= settings.last:  # a file of one subreddit has all years
                    in_time.append(post | {"id": post["id"] or f"{path.name}: {post['url']}"})
            good = []
            for post, first in zip(in_time, new(seen, [post["id"] for post in in_time]), strict=True):
                if not first:
                    report.drop("post that came before", post["id"], path.name)
                    continue
                posts += 1
                if post["score"] is None or post["score"] < settings.min_score:
                    report.drop(f"score below {settings.min_score}", post["id"], str(post["score"]))
                    continue
                popular += 1
                album = album_id(post["url"] or "")
                if album is None:
                    report.drop("no album of imgur", post["id"], post["url"] or "")
                else:
                    good.append(post | {"album": album})
            for post, first in zip(good, new(linked, [post["album"] for post in good]), strict=True):
                if first:
                    yield f"{dump_json(post)}\n"
                else:
                    report.drop("album that was posted before", post["id"], post["album"])

    write_text(_links_file(build), links(), force=True)
    report.count(f"posts to r/{settings.subreddit}", posts, 241_000, rounding=1000)
    report.count(f"posts with a score of at least {settings.min_score}", popular)
    report.count("different albums of imgur that they link", len(linked))
    if not len(linked):
        raise CorpusError(
            f"{source}: none of {posts} posts to r/{settings.subreddit} links an album of imgur and has a score of "
            f"{settings.min_score}"
        )
    return len(linked)


def _links_file(build: Build) -> Path:
    return build.work / "links.jsonl"


def _links(build: Build) -> Iterator[dict[str, Any]]:
    """The posts that count, with ``album``."""
    return (post for _, post, _ in json_lines(_links_file(build)))


def _read_albums(build: Build, source: Path, number: int) -> _Albums:
    """The albums whose page was saved and shows pictures."""
    report = build.report
    pages = saved_albums(source)

    def there() -> Iterator[dict[str, Any]]:
        return (post for post in _links(build) if post["album"] in pages)

    total = sum(1 for _ in there())
    if not total:
        page = source / "albums" / f"{next(_links(build))['album']}.html"
        raise CorpusError(
            f"{source}: none of the {number} albums has a saved page: {page} and so on, the page of "
            "https://imgur.com/a/... as it was until 2019 (web.archive.org has many)"
        )
    if total < number:
        report.note(
            f"{number - total} of {number} albums have no saved page; pages of today do not show what is needed, "
            "web.archive.org has many as they were"
        )
        for post in _links(build):
            if post["album"] not in pages:
                report.drop("album without a saved page", post["album"])
    paths = (pages[post["album"]] for post in there())
    albums = _Albums(build, there)
    shown = 0
    results = build.mapped("albums", paths, album_page, total=total, label="Reading albums")
    for post, result in zip(there(), results, strict=True):
        if isinstance(result, str):
            report.drop("album page that cannot be read", post["album"], result)
        elif not result:
            report.drop("album page without pictures", post["album"], "no div of the class post-image-container")
        else:
            shown += 1
            albums.pictures += len(result)
    report.count("albums with pictures", shown, 13_000, rounding=1000)
    return albums


def album_page(path: str) -> list[tuple[str, str | None, bool]] | str:
    """Name, caption and whether it moves of each picture of a saved page; or why the page cannot be read."""
    try:
        return [(image.id, image.caption, image.moving) for image in read_album(Path(path))]
    except DocumentError as error:
        return str(error).removeprefix(f"{path}: ")


def _fetch(build: Build, albums: _Albums, folders: tuple[Path, ...], target: Path, manners: Manners) -> dict[str, str]:
    """Fetch the pictures that are not in the folders; for those that cannot be had, why."""
    files = _PictureFiles(*folders)
    addresses = {_address(name): name for _, name, moving in albums.names() if not moving and files.of(name) is None}
    results = fetch_pictures(addresses, target, manners=manners)
    watched = build.watch(results, total=len(addresses), label="Fetching pictures")
    return {addresses[each.address]: each.problem or "not fetched" for each in watched if each.file is None}


def _address(name: str) -> str:
    return f"https://i.imgur.com/{name}.jpg"


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


def file_and_hash(path: str | None) -> tuple[str | None, dict[str, str]]:
    """Which file was looked at, None where there is none, and its ``picture_hash``."""
    return path, {"rule": "picture missing", "reason": ""} if path is None else picture_hash(path)


def _look_at_pictures(build: Build, albums: _Albums, files: _PictureFiles, problems: dict[str, str]) -> None:
    """Fill in hashes, and tell which pictures cannot be used."""
    waiting: deque[str | None] = deque()  # files until their result is there

    def paths() -> Iterator[str | None]:
        for _, name, moving in albums.names():
            file = None if moving else files.of(name)
            waiting.append(None if file is None else str(file))
            yield waiting[-1]

    results = build.mapped("pictures", paths(), file_and_hash, total=albums.pictures, label="Looking at pictures")
    for (album, name, moving), (earlier, looked_at) in zip(albums.names(), results, strict=True):
        path = waiting.popleft()
        if earlier != path:  # it came, went or moved after a run that was killed had looked at it
            looked_at = file_and_hash(path)[1]
        good = "hash" in looked_at
        albums.hashes.append(int(looked_at["hash"], 16) if good else 0)
        albums.usable.append(good)
        if moving:
            build.report.drop("GIF or film", f"{album.id}/{name}")
        elif not good:
            build.report.drop(looked_at["rule"], f"{album.id}/{name}", looked_at["reason"] or problems.get(name, ""))
    valid = albums.usable.count(1)
    build.report.count("valid pictures", valid, 295_000, rounding=1000)
    if not valid:
        raise CorpusError(
            "no picture of the albums is there: put them into a folder named images in the source, or name their "
            "folder with --images, as Ab3dE7f.jpg and so on, or give --fetch"
        )


def _lookalikes(build: Build, albums: _Albums, settings: DiySettings) -> NDArray[np.int64]:
    """(pictures,) for each the number of one that looks the same, -1 where there is none."""
    import numpy as np

    usable = np.flatnonzero(np.frombuffer(albums.usable, np.uint8))
    other = near_duplicates(np.frombuffer(albums.hashes, np.uint64)[usable], settings.distance)
    found = np.full(albums.pictures, -1, np.int64)
    found[usable] = np.where(other < 0, -1, usable[other])
    return found


def _documents(
    build: Build, albums: _Albums, files: _PictureFiles, alike: NDArray[np.int64], settings: DiySettings
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
                    reason = f"{_name(album, twin)} looks like {twins[int(alike[twin])]}"
                report.drop(rule, album.id, reason)
                break
            left[rule] += 1
        else:
            yield _values(build, album, images, files)
    report.count("documents without pictures that look like others", left[rules[0]])
    for rule in rules[1:]:
        report.count(f"documents left without those with {rule}", left[rule])


def _twins(albums: _Albums, alike: NDArray[np.int64]) -> dict[int, str]:
    """Name and album of the pictures that the first such picture of an album looks like."""
    firsts = (next((int(alike[i]) for i in album.numbers if alike[i] >= 0), None) for album in albums)
    wanted = {number for number in firsts if number is not None}
    return {i: f"{_name(album, i)} of {album.id}" for album in albums for i in album.numbers if i in wanted}


def _values(build: Build, album: _Album, images: list[int], files: _PictureFiles) -> Values:
    place = {number: place for place, number in enumerate(images)}
    found = [files.of(_name(album, number)) for number in images]
    title = clean_text(album.post["title"] or "")
    meta = {"post": album.post["id"], "score": album.post["score"], "source": f"https://imgur.com/a/{album.id}"}
    return {
        "id": album.id,
        "sentences": [caption for _, caption in album.captions],
        "images": [build.way(file) for file in found if file is not None],
        "links": [(i, place[number]) for i, (number, _) in enumerate(album.captions) if number in place],
        "meta": ({"title": title} if title else {}) | meta,
    }


def _name(album: _Album, number: int) -> str:
    return album.images[number - album.first][0]
