"""Albums of imgur whose pages were saved: the pictures and captions of each, and the files of the pictures."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iconotext.corpus.builders.frame.build import Build
from iconotext.corpus.builders.images.fetched import fetch_images, name_of
from iconotext.corpus.builders.images.folders import ImageFolders
from iconotext.errors import CorpusError, DocumentError
from iconotext.papers.datasets.reddit.album_posts import kept_posts
from iconotext.papers.datasets.reddit.imgur_album import read_album, saved_albums
from iconotext.read.web.polite import Politeness

SUFFIXES = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".img", ".JPG", ".JPEG", ".PNG", "")
"""Of files that may be pictures; ``.img`` has what was fetched and could not be told."""


@dataclass(slots=True)
class Album:
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

    def name(self, number: int) -> str:
        """Imgur's name of one of its pictures."""
        return self.images[number - self.first][0]


class Albums:
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

    def __iter__(self) -> Iterator[Album]:
        first = 0
        for post, images in zip(self._there(), self._build.kept("albums"), strict=True):
            if images and not isinstance(images, str):
                yield Album(post["album"], post, [(name, caption, moving) for name, caption, moving in images], first)
                first += len(images)

    def names(self) -> Iterator[tuple[Album, str, bool]]:
        """The album and name of each picture, and whether it moves."""
        return ((album, name, moving) for album in self for name, _, moving in album.images)


class ImageFiles:
    """Where the files of pictures are."""

    def __init__(self, *folders: Path) -> None:
        there = [folder for folder in dict.fromkeys(folders) if folder.is_dir()]
        self._folders = ImageFolders(*there) if there else None

    def of(self, name: str) -> Path | None:
        """The file of a picture, by imgur's name or by that of what was fetched for it."""
        if self._folders is None:
            return None
        return self._folders.find(f"{stem}{suffix}" for stem in _stems(name) for suffix in SUFFIXES)


def _stems(name: str) -> Iterator[str]:
    yield name
    yield name_of(_address(name))


def read_albums(build: Build, source: Path, number: int) -> Albums:
    """The albums whose page was saved and shows pictures."""
    report = build.report
    pages = saved_albums(source)

    def there() -> Iterator[dict[str, Any]]:
        return (post for post in kept_posts(build) if post["album"] in pages)

    total = sum(1 for _ in there())
    if not total:
        page = source / "albums" / f"{next(kept_posts(build))['album']}.html"
        raise CorpusError(
            f"{source}: none of the {number} albums has a saved page: {page} and so on, the page of "
            "https://imgur.com/a/... as it was until 2019 (web.archive.org has many)"
        )
    if total < number:
        report.note(
            f"{number - total} of {number} albums have no saved page; pages of today do not show what is needed, "
            "web.archive.org has many as they were"
        )
        for post in kept_posts(build):
            if post["album"] not in pages:
                report.drop("album without a saved page", post["album"])
    paths = (pages[post["album"]] for post in there())
    albums = Albums(build, there)
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


def fetch_missing(
    build: Build, albums: Albums, folders: tuple[Path, ...], target: Path, politeness: Politeness
) -> dict[str, str]:
    """Fetch the pictures that are not in the folders; for those that cannot be had, why."""
    files = ImageFiles(*folders)
    addresses = {_address(name): name for _, name, moving in albums.names() if not moving and files.of(name) is None}
    results = fetch_images(addresses, target, politeness=politeness)
    watched = build.watch(results, total=len(addresses), label="Fetching pictures")
    return {addresses[each.address]: each.problem or "not fetched" for each in watched if each.file is None}


def _address(name: str) -> str:
    return f"https://i.imgur.com/{name}.jpg"
