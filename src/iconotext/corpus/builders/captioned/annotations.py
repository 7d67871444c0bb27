"""Images and captions that stand in different places of their source, brought together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from iconotext.corpus.builders.captioned.photos import NO_CAPTION, NO_IMAGE, Photo, is_text
from iconotext.corpus.builders.find_images import ImageFolders
from iconotext.corpus.builders.run import Build
from iconotext.corpus.row import Split

Key = int | str
"""What a source calls an image."""


@dataclass(frozen=True, slots=True)
class Captioned:
    """An image and what is written about it.

    Attributes:
        split: None where the source does not say.
        captions: In the order of their numbers, those without one last; may be none.
    """

    key: Key
    name: str
    split: Split | None
    captions: tuple[str, ...]


class Annotations:
    """Takes images and captions in any order, and gives them back by image, in the order of their keys.

    An image that comes again, and a caption of the same number of the same image, counts once: the first. All texts are
    in memory: those of MSCOCO take some 150 MB.
    """

    def __init__(self) -> None:
        self.repeated_captions = 0
        self._images: dict[Key, tuple[str, Split | None, int]] = {}
        self._captions: defaultdict[Key, list[tuple[int | None, str]]] = defaultdict(list)

    def add_image(self, key: Key, name: str, split: Split | None = None, *, source: int = 0) -> None:
        """An image; ``source`` is the number of the file that lists it."""
        self._images.setdefault(key, (name, split, source))

    def add_caption(self, key: Key, number: int | None, text: str) -> None:
        """A caption of an image; ``number`` says which, None where that is unknown."""
        self._captions[key].append((number, text))

    def count_images(self, *, source: int | None = None) -> int:
        """Number of images; with ``source`` those that this file lists and none before it."""
        return sum(source in (None, found) for _, _, found in self._images.values())

    def unlisted(self) -> Iterator[tuple[Key, int | None]]:
        """Image and number of the captions whose image is not there."""
        for key, captions in self._captions.items():
            if key not in self._images:
                yield from ((key, number) for number, _ in captions)

    def captioned(self, *, source: int | None = None) -> Iterator[Captioned]:
        """Images with their captions, by rising key, numbers before texts; with ``source`` only those of this file."""
        for key in sorted(self._images, key=lambda key: (isinstance(key, str), key)):
            name, split, found = self._images[key]
            if source in (None, found):
                yield Captioned(key, name, split, tuple(self._texts(key)))

    def _texts(self, key: Key) -> Iterator[str]:
        last: int | None = None
        captions = self._captions.get(key, [])
        for number, text in sorted(captions, key=lambda each: (each[0] is None, each[0] or 0)):
            if number is not None and number == last:
                self.repeated_captions += 1
            else:
                yield text
            last = number


def found_photos(
    build: Build,
    described: Iterable[Captioned],
    images: ImageFolders,
    names_of: Callable[[Captioned], Iterable[str]] = lambda each: [each.name],
) -> Iterator[Photo]:
    """Photographs of described images; those without a caption or a file are dropped and reported.

    Args:
        names_of: Names that the file of an image may have.
    """
    for each in described:
        if not each.captions:
            build.report.drop(NO_CAPTION, each.name)
        elif (file := images.find(names_of(each))) is None or not is_text(str(file)):
            build.report.drop(NO_IMAGE, each.name)
        else:
            yield Photo(str(file), each.captions, each.split)
