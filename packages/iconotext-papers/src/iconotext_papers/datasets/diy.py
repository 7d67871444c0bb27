"""DIY: albums of photographs with captions that people posted to Reddit's r/DIY (Hessel 2019, §5; supplement §1).

Posts come from the files of pushshift. One that links an album of imgur and has a score of at least 25 makes a
document: the pictures of the album's page are its images, their captions its sentences. Documents with a picture that
looks like another one of any document are discarded, as are those that are too short or too long.
"""

from __future__ import annotations

import hashlib
import os
import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from iconotext.corpus.builders.fetched import name_of
from iconotext.corpus.found_images import ImageFolders
from iconotext.corpus.split import Shares
from iconotext.errors import CorpusError, DocumentError, ImageError
from iconotext.images import decode
from iconotext.read.html import parse_html
from iconotext.read.text_file import decode_text
from iconotext_papers.datasets.downloads import DataSetSettings, FetchSettings
from iconotext_papers.datasets.near_duplicates import lookalikes, perceptual_hash
from iconotext_papers.datasets.pushshift import month_of, submission_files, subreddit_posts
from iconotext_papers.datasets.wiki import clean_text
from iconotext_papers.published.sizes import PUBLISHED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from iconotext.corpus.builders.build import Build, Values
    from iconotext.system.spool import Spool

Element = Any  # lxml has no types of its own that mypy could check

ALBUM = re.compile(r"https?://(?:[a-z]+\.)?imgur\.com/a/(?:[^/?#]*-)?([A-Za-z0-9]+)", re.IGNORECASE)
IMAGE = re.compile(
    r"(?:https?:)?//(?:[a-z]+\.)?imgur\.com/([A-Za-z0-9]{5,})(?:\.([a-z0-9]+))?(?=[?#]|$)", re.IGNORECASE
)
IDENTIFIER = re.compile(r"[A-Za-z0-9]+")

MOVING = frozenset(("gif", "gifv", "mp4", "webm"))
"""Suffixes of addresses of films and GIFs; imgur shows a GIF as a film."""

CONTAINER = "post-image-container"
DESCRIPTION = "post-image-description"

PLACEHOLDER = (503, "d835884373f4d6c8f24742ceabe74946")
"""Size in bytes and MD5 of the picture that imgur sends in place of a deleted one."""

MISSING = "picture missing"
FILM = "GIF or film"


class AlbumImage(NamedTuple):
    """A picture of an album.

    Attributes:
        id: Its name on imgur; case matters.
        caption: The author's caption; None without one.
        moving: Whether the page shows a GIF or a film.
    """

    id: str
    caption: str | None
    moving: bool = False


@dataclass(frozen=True, slots=True)
class Album:
    """An album whose page shows pictures.

    Attributes:
        post: The fields of the post in pushshift's file.
        images: Its pictures, in the order of the page.
        first: Number of its first picture among those of all albums.
    """

    post: dict[str, Any]
    images: list[AlbumImage]
    first: int

    @property
    def id(self) -> str:
        """Name of the album on imgur."""
        return str(self.post["album"])

    @property
    def captions(self) -> list[tuple[int, str]]:
        """Captions by the number of their picture, also of pictures that cannot be used."""
        return [(self.first + i, caption) for i, (_, caption, _) in enumerate(self.images) if caption]

    @property
    def numbers(self) -> range:
        """Numbers of the album's pictures among the pictures of all albums."""
        return range(self.first, self.first + len(self.images))

    def name(self, number: int) -> str:
        """Return the name of one of its pictures on imgur."""
        return self.images[number - self.first][0]


def album_id(address: str) -> str | None:
    """The album that an address leads to; None where it leads to none.

    >>> album_id("https://m.imgur.com/a/Ab3dE#12")
    'Ab3dE'
    >>> album_id("https://i.imgur.com/Ab3dE7f.jpg") is None
    True
    """
    match = ALBUM.match(unescape(address.strip()))
    return match[1] if match else None


def read_album(path: Path) -> list[AlbumImage]:
    """Read the pictures of a saved page in its order, each once; ``DocumentError`` if it cannot be read."""
    try:
        tree = parse_html(decode_text(path, html=True))
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror or error}") from error
    images: dict[str, AlbumImage] = {}
    for element in tree.iter("div"):
        if CONTAINER in _classes(element):
            image = _image(element)
            if image is not None:
                images.setdefault(image.id, image)
    return list(images.values())


def _image(element: Element) -> AlbumImage | None:
    names = [match for address in _addresses(element) if (match := IMAGE.match(address))]
    name = (element.get("id") or "").strip()
    if not IDENTIFIER.fullmatch(name):
        if not names:
            return None
        name = names[0][1]
    moving = any((match[2] or "").lower() in MOVING for match in names) or next(element.iter("video"), None) is not None
    captions = (_text(part) for part in element.iter("p", "div", "span") if _describes(part))
    return AlbumImage(name, next((text for text in captions if text), None), moving)


def _addresses(element: Element) -> Iterator[str]:
    """Yield the possible addresses of the picture, the most likely one first."""
    for part in element.iter("meta", "img", "a", "source"):
        if part.tag == "a" and _inside_description(part, element):
            continue  # a link that the author put into the caption
        for name in ("content", "src", "href"):
            if part.get(name):
                yield part.get(name).strip()


def _inside_description(part: Element, element: Element) -> bool:
    for above in part.iterancestors():
        if above is element:
            return False
        if _describes(above):
            return True
    return False


def _describes(part: Element) -> bool:
    return DESCRIPTION in _classes(part) or (part.get("itemprop") == "description" and part.tag != "meta")


def _classes(element: Element) -> list[str]:
    return (element.get("class") or "").split()


def _text(part: Element) -> str:
    """Return the text on one line, with a space for each line break."""
    parts: list[str] = []
    for piece in part.iter():
        if isinstance(piece.tag, str):
            parts += [" "] if piece.tag in ("br", "p", "div", "li") else []
            parts += [piece.text or ""]
        if piece is not part:
            parts += [" "] if piece.tag in ("p", "div", "li") else []
            parts += [piece.tail or ""]
    return " ".join("".join(parts).split())


def saved_albums(folder: Path) -> dict[str, str]:
    """Find pages in a folder and the folders in it, by the album's name: ``Ab3dE.html``, or ``albums/Ab3dE``."""
    albums: dict[str, str] = {}
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = PurePosixPath(name)
            page = path.suffix.lower() in (".html", ".htm") or (not path.suffix and os.path.basename(place) == "albums")
            if page and not name.startswith("."):
                albums.setdefault(path.stem, os.path.join(place, name))
    return albums


def album_page(path: str | None) -> list[AlbumImage] | str | None:
    """Read the pictures of a saved page, if there is one; or the reason why it cannot be read."""
    if path is None:
        return None
    try:
        return read_album(Path(path))
    except DocumentError as error:
        return str(error).removeprefix(f"{path}: ")


def image_hash(path: str | None) -> dict[str, str]:
    """The perceptual hash of a picture file as 16 hexadecimal digits, or the rule and reason for leaving it out."""
    if path is None:
        return {"rule": MISSING, "reason": ""}
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        return {"rule": MISSING, "reason": error.strerror or str(error)}
    if data.startswith(b"GIF8"):
        return {"rule": FILM, "reason": ""}
    if (len(data), hashlib.md5(data, usedforsecurity=False).hexdigest()) == PLACEHOLDER:
        return {"rule": MISSING, "reason": "deleted from imgur, which sent a placeholder"}
    try:
        return {"hash": f"{perceptual_hash(decode(data)):016x}"}
    except ImageError as error:
        return {"rule": "picture that cannot be decoded", "reason": str(error)}


MONTH = r"^\d{4}-(0[1-9]|1[0-2])$"

HELD_OUT = 1000 / 8800
"""Share of documents for validation, and for test: 6.8K, 1K and 1K documents in the paper."""

SUFFIXES = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".img", ".JPG", ".JPEG", ".PNG", "")
"""Suffixes of files that may be pictures; a fetched file of unknown kind has the suffix ``.img``."""


class Settings(FetchSettings, DataSetSettings):
    """Make DIY (Hessel 2019): posts to r/DIY that link an album of imgur; its captions are the sentences.

    The source has pushshift's files of submissions (RS_2013-01.zst to RS_2018-10.zst, or DIY_submissions.zst) and the
    pages of the albums as they were until 2019 (albums/Ab3dE.html). Pictures are named as imgur names them
    (Ab3dE7f.jpg); --fetch gets those that are missing.

    **Examples**

    - `iconotext papers build diy --source reddit/ --output diy.jsonl`
    - `iconotext papers build diy -s reddit/ -o diy.jsonl --images pictures/ --fetch`
    """

    subreddit: str = Field("DIY", pattern=r"^\w+$")
    """Name of the subreddit, as Reddit writes it."""

    first: str = Field("2013-01", pattern=MONTH)
    """The first month of posts."""

    last: str = Field("2018-10", pattern=MONTH)
    """The last month of posts."""

    min_score: int = 25
    """Lowest score of a post."""

    distance: int = Field(3, ge=0, le=15)
    """Bits in which copies of a picture may differ. Of the 64 bits of their perceptual hashes."""

    min_captions: int = Field(2, ge=1)
    """Fewest captions of --min-tokens or more."""

    min_tokens: int = Field(5, ge=1)
    """Tokens of such a caption. Parts between white space."""

    min_images: int = Field(2, ge=1)
    """Least number of valid images of a document."""

    max_images: int = Field(40, ge=1)
    """Most valid images of a document."""

    max_captions: int = Field(40, ge=1)
    """Largest number of captions of a document."""

    validation: float = Field(HELD_OUT, ge=0, lt=1)
    """Share of the documents for validation."""

    test: float = Field(HELD_OUT, ge=0, lt=1)
    """The same for test."""

    seed: int = 0
    """Seed of the random choices."""


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """Make the documents, in the order of the posts.

    If several posts link one album, only the first counts, since its pictures would otherwise be duplicates of each
    other; the paper does not treat this case. A caption stays even if its picture cannot be used.
    """
    shares = Shares(settings.validation, settings.test)
    images = settings.images
    if images is not None and not settings.fetch and not images.is_dir():
        raise CorpusError(f"{images}: not a folder; name the one that has the pictures (Ab3dE7f.jpg and so on)")
    posts = build.spool(_posts(build, settings))
    albums = Albums(build.spool(_albums(build, settings, posts)))
    problems = _fetch_missing(build, albums, settings) if settings.fetch else {}
    folders = _folders(settings)
    _look_at_images(build, albums, folders, problems)
    build.published = PUBLISHED["DIY"]
    yield from build.with_random_splits(_documents(build, albums, folders, settings), shares, seed=settings.seed)


def _posts(build: Build, settings: Settings) -> Iterator[dict[str, Any]]:
    """Yield popular posts, with ``album``, that link an album of imgur which no earlier post links."""
    report = build.report
    ids: set[str] = set()
    linked: set[str] = set()
    popular = 0
    for post, file in _posts_in_time(build, settings):
        if post["id"] in ids:
            report.drop("post that came before", post["id"], file)
            continue
        ids.add(post["id"])
        if post["score"] is None or post["score"] < settings.min_score:
            report.drop(f"score below {settings.min_score}", post["id"], str(post["score"]))
            continue
        popular += 1
        album = album_id(post["url"] or "")
        if album is None:
            report.drop("not an album of imgur", post["id"], post["url"] or "")
        elif album in linked:
            report.drop("album that was posted before", post["id"], album)
        else:
            linked.add(album)
            yield post | {"album": album}
    report.count(f"posts to r/{settings.subreddit}", len(ids), 241_000, rounding=1000)
    report.count(f"posts with a score of at least {settings.min_score}", popular)
    report.count("different albums of imgur that they link", len(linked))
    if not linked:
        raise CorpusError(
            f"{settings.source}: none of {len(ids)} posts to r/{settings.subreddit} links an album of imgur and has a "
            f"score of {settings.min_score}"
        )


def _posts_in_time(build: Build, settings: Settings) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the posts of the requested months, each with the name of its file."""
    files = submission_files(settings.source, settings.first, settings.last)
    work = partial(subreddit_posts, subreddit=settings.subreddit)
    results = build.mapped(map(str, files), work, total=len(files), label="Reading submissions", chunk=1)
    for path, result in zip(files, results, strict=True):
        for line, problem in result["broken"]:
            build.report.drop("line that is not JSON", f"{path.name}, line {line}", problem)
        for post in result["posts"]:
            month = month_of(post["created"])
            if month is None or settings.first <= month <= settings.last:  # a file of one subreddit has all years
                yield post | {"id": post["id"] or f"{path.name}: {post['url']}"}, path.name


@dataclass(slots=True)
class Albums:
    """The albums, on disk; memory holds a few bytes for each picture.

    Attributes:
        albums: The albums whose page was saved and shows pictures.
        hashes: Hash of each picture; 0 if it cannot be used.
        usable: Whether each picture can be used.
    """

    albums: Spool[Album]
    hashes: array[int] = field(default_factory=lambda: array("Q"))
    usable: bytearray = field(default_factory=bytearray)

    def __iter__(self) -> Iterator[Album]:
        return iter(self.albums)

    def pictures(self) -> Iterator[tuple[Album, str, bool]]:
        """The album and name of each picture, and whether it moves."""
        return ((album, name, moving) for album in self for name, _, moving in album.images)


def _albums(build: Build, settings: Settings, posts: Spool[dict[str, Any]]) -> Iterator[Album]:
    """Yield the albums whose page was saved and shows pictures."""
    report = build.report
    pages = saved_albums(settings.source)
    total = sum(post["album"] in pages for post in posts)
    if not total:
        page = settings.source / "albums" / f"{posts[0]['album']}.html"
        raise CorpusError(
            f"{settings.source}: none of the {len(posts)} albums has a saved page: {page} and so on, the page of "
            "https://imgur.com/a/... as it was until 2019 (web.archive.org has many)"
        )
    if total < len(posts):
        report.note(
            f"{len(posts) - total} of {len(posts)} albums have no saved page; pages of today do not show what is "
            "needed, web.archive.org has many as they were"
        )
    paths = (pages.get(post["album"]) for post in posts)
    with_pictures = first = 0
    for post, result in zip(posts, build.mapped(paths, album_page, total=total, label="Reading albums"), strict=True):
        if result is None:
            report.drop("album without a saved page", post["album"])
        elif isinstance(result, str):
            report.drop("album page that cannot be read", post["album"], result)
        elif not result:
            report.drop("album page without pictures", post["album"], "no div of the class post-image-container")
        else:
            yield Album(post, result, first)
            with_pictures += 1
            first += len(result)
    report.count("albums with pictures", with_pictures, 13_000, rounding=1000)


def _folders(settings: Settings) -> ImageFolders:
    folders = dict.fromkeys((settings.image_folder, _target(settings)))
    return ImageFolders(*(folder for folder in folders if folder.is_dir()))


def _file(folders: ImageFolders, name: str) -> Path | None:
    return folders.find(f"{stem}{suffix}" for stem in (name, name_of(_address(name))) for suffix in SUFFIXES)


def _target(settings: Settings) -> Path:
    return settings.images or settings.source / "images"


def _address(name: str) -> str:
    return f"https://i.imgur.com/{name}.jpg"


def _fetch_missing(build: Build, albums: Albums, settings: Settings) -> dict[str, str]:
    """Fetch the pictures that are not in the folders; returns by address the reason why a picture cannot be fetched."""
    folders = _folders(settings)
    missing = [_address(name) for _, name, moving in albums.pictures() if not (moving or _file(folders, name))]
    return build.fetched(missing, _target(settings), settings.interval)


def _look_at_images(build: Build, albums: Albums, folders: ImageFolders, problems: Mapping[str, str]) -> None:
    """Compute the hashes of the pictures, and report the pictures that cannot be used."""
    paths = (None if moving else _file(folders, name) for _, name, moving in albums.pictures())
    total = sum(len(album.images) for album in albums)
    results = build.checked(paths, image_hash, total=total, label="Looking at pictures")
    for (album, name, moving), result in zip(albums.pictures(), results, strict=True):
        good = "hash" in result
        albums.hashes.append(int(result["hash"], 16) if good else 0)
        albums.usable.append(good)
        if moving:
            build.report.drop(FILM, f"{album.id}/{name}")
        elif not good:
            build.report.drop(
                result["rule"], f"{album.id}/{name}", result["reason"] or problems.get(_address(name), "")
            )
    valid = albums.usable.count(1)
    build.report.count("valid pictures", valid, 295_000, rounding=1000)
    if not valid:
        raise CorpusError(
            "no picture of the albums is there: put them into a folder named images in the source, or name their "
            "folder with images=..., as Ab3dE7f.jpg and so on, or give fetch=True"
        )


def _documents(build: Build, albums: Albums, folders: ImageFolders, settings: Settings) -> Iterator[Values]:
    """The albums that pass the rules, as documents without splits."""
    report = build.report
    rules = (
        "a picture that looks like another",
        f"fewer than {settings.min_captions} captions of {settings.min_tokens} tokens",
        f"fewer than {settings.min_images} images",
        f"more than {settings.max_images} images or {settings.max_captions} captions",
    )
    left = dict.fromkeys(rules, 0)
    alike = lookalikes(albums.hashes, albums.usable, settings.distance)
    twins = _twins(albums, alike)
    for album in albums:
        images = [number for number in album.numbers if albums.usable[number]]
        captions = album.captions
        twin = next((number for number in images if alike[number] >= 0), None)
        broken = (
            twin is not None,
            sum(len(caption.split()) >= settings.min_tokens for _, caption in captions) < settings.min_captions,
            len(images) < settings.min_images,
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
            yield _values(build, album, images, folders)
    report.count("documents without pictures that look like others", left[rules[0]])
    for rule in rules[1:]:
        report.count(f"documents left without those with {rule}", left[rule])


def _twins(albums: Albums, alike: NDArray[np.int64]) -> dict[int, str]:
    """Return name and album, by number, of the pictures that the first lookalike of each album looks like."""
    firsts = (next((int(alike[i]) for i in album.numbers if alike[i] >= 0), None) for album in albums)
    distinct = {number for number in firsts if number is not None}
    return {i: f"{album.name(i)} of {album.id}" for album in albums for i in album.numbers if i in distinct}


def _values(build: Build, album: Album, images: list[int], folders: ImageFolders) -> Values:
    place = {number: place for place, number in enumerate(images)}
    files = [_file(folders, album.name(number)) for number in images]
    title = clean_text(album.post["title"] or "")
    meta = {"post": album.post["id"], "score": album.post["score"], "source": f"https://imgur.com/a/{album.id}"}
    return {
        "id": album.id,
        "sentences": [caption for _, caption in album.captions],
        "images": [build.relative_path(file) for file in files if file is not None],
        "links": [(i, place[number]) for i, (number, _) in enumerate(album.captions) if number in place],
        "meta": ({"title": title} if title else {}) | meta,
    }
