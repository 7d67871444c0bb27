"""Documents out of captioned photographs in memory, by the rules of ``iconotext corpus build captions``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.corpus.builders.captions import CaptionSettings, deal, documents_of
from iconotext.corpus.builders.photos import Photo
from iconotext.errors import SettingError
from iconotext.types import Document, Image, Sentence

if TYPE_CHECKING:
    from iconotext.corpus.row import Split
    from iconotext.types import FloatMatrix


def build_captions(
    photos: Sequence[Photo],
    settings: CaptionSettings | None = None,
    *,
    seed: int = 0,
    vectors: FloatMatrix | None = None,
) -> Iterator[Document]:
    """Documents out of captioned photographs in memory; the same ones for the same arguments.

    Args:
        photos: In any number, all different; their order matters for which documents come out.
        settings: None for the rule of MSCOCO.
        vectors: (photos, d), what says how close two photographs are; needed for topical documents only.

    Raises:
        CorpusError: A split has too few photographs for a document, or too few captions for its distractors.
        SettingError: Topical documents are asked for without vectors, or vectors do not fit the photographs.
    """
    settings = settings or CaptionSettings()
    if settings.topical and (vectors is None or vectors.ndim != 2 or len(vectors) != len(photos)):
        raise SettingError(f"topical documents need a vector for each of {len(photos)} photographs")
    members: dict[Split, list[int]] = defaultdict(list)
    for i, photo in enumerate(photos):
        members[photo.split or "train"].append(i)
    pools = {split: [text for i in some for text in photos[i].captions] for split, some in members.items()}
    for values in documents_of(photos, deal(members, settings, seed=seed, vectors=vectors), pools, settings):
        yield Document(
            id=values["id"],
            sentences=tuple(map(Sentence, values["sentences"])),
            images=tuple(Image(source=Path(image).as_posix(), file=Path(image)) for image in values["images"]),
            links=tuple(values["links"]),
            split=values["split"],
        )
