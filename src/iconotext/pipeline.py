"""The whole walk on one screen: document → features → unit vectors → similarity → links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from iconotext.errors import SettingError
from iconotext.extras import require
from iconotext.links.settings import LinkSettings
from iconotext.read import Failure
from iconotext.read.spool import Spool, given_document, given_or_failure
from iconotext.types import Document, Evidence, LinkedDocument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from iconotext.embed.relation_model import RelationModel
    from iconotext.encoder import Encoder
    from iconotext.features.ocr import LineReader
    from iconotext.links.calibration import Calibration
    from iconotext.links.decoys import DecoyPool
    from iconotext.links.habit import Habit, Judged
    from iconotext.links.link_windows import Known
    from iconotext.links.promise import Candidate, Promises
    from iconotext.links.windows import Told

__all__ = ["LinkSettings", "Linker"]

HABIT_DOCUMENTS = 500
"""At most this many documents of a collection are used to infer its habits; a few hundred images are enough."""

BEST: dict[str, object] = {"select": "best", "min_confidence": 0.0}
"""Settings that link each image to its best sentence, whatever the confidence; promises are made from these links."""

OWN = "your own"
"""Name of the class of calibration figures that the user gave."""


class Linker:
    """Links the images of documents to their sentences.

    Attributes:
        encoder: What compares pictures with sentences; see ``iconotext.encoder``.
        settings: See ``LinkSettings``.
    """

    def __init__(self, encoder: Encoder, settings: LinkSettings | None = None) -> None:
        self.encoder = encoder
        self.settings = settings or LinkSettings()

    @classmethod
    def load(cls, model: str = "default", settings: LinkSettings | None = None, *, download: bool = False) -> Linker:
        """Load a model.

        Args:
            model: As for ``load_encoder``: ``default``, the folder of a trained model, ``no-training``, or the name or
                folder of a dual encoder (CLIP, SigLIP).
            settings: Choices such as the evidence and the backbones.
            download: Whether models that are not here are fetched from the Hugging Face hub; else nothing goes to the
                network.

        Raises:
            FeatureError: There is no such model, it cannot be loaded, or it was trained on other backbones.
            MissingPackageError: The words in images are evidence, and what reads them is not installed.
        """
        from iconotext.embed.relation_model import relations_folder
        from iconotext.encoder import load_encoder

        chosen = settings or LinkSettings()
        if chosen.relations != "none":
            relations_folder(chosen.relations)  # a mistyped one shows now, not after the first document
        if "text" in chosen.evidence:
            require("ocr", purpose="the evidence text")  # now, not after the first document
        own = chosen.model_dump(include={"text", "image", "concepts", "cache"})

        def read_layers(texts: Sequence[str], layers: NDArray[np.float16]) -> None:
            if chosen.relations != "none":
                linker.relation_model.read_layers(texts, layers)

        linker = cls(load_encoder(model, **own, download=download, read_layers=read_layers), chosen)
        return linker

    def __repr__(self) -> str:
        return f"Linker({self.encoder.name!r}, evidence={','.join(self.settings.evidence)})"

    def link(self, document: Document | Path | str, habits: Mapping[str, Habit] | None = None) -> LinkedDocument:
        """Find the links of one document.

        Args:
            document: The document, or the file that holds it.
            habits: Where the authors of its collection put images: see ``habits``. By default nothing is known but
                what the document itself tells.

        Returns:
            The document with its links; images that turn out to be unreadable have their ``problem`` now.

        Raises:
            DocumentError: The file cannot be read.
            FeatureError: The image backbone cannot be compared with the text backbone.
            TypeError: It is neither a document nor the name of a file.
        """
        document = given_document(document)
        if self.settings.max_false is not None:
            return self.promises([document]).keep(self.plain.link(document, habits))
        (linked,) = self._linked(self._read([document]), habits or {})
        if isinstance(linked, Failure):
            raise linked.error
        return linked

    def know(self, document: Document | Path | str) -> Known:
        """All that is known of a document by the evidence of the settings, before it is linked: see ``link_known``.

        Raises:
            DocumentError, FeatureError, TypeError: As for ``link``.
        """
        from iconotext.links.link_windows import know_windows

        read = self._read([given_document(document)])
        (known,) = know_windows(read, self.encoder, self.settings, line_reader=lambda: self.line_reader)
        if isinstance(known, Failure):
            raise known.error
        return known

    def link_known(self, known: Known, habits: Mapping[str, Habit] | None = None) -> LinkedDocument:
        """The links of a document of which all is known: quick, for other settings or habits. Nothing is promised.

        Args:
            known: Of ``know``, by a linker with the same encoder and no less evidence.
            habits: As for ``link``.
        """
        from iconotext.links.link_windows import link_known

        relations = {"relation_model": lambda: self.relation_model}
        (linked,) = link_known([known], self.encoder, self.settings, habits or {}, **relations)
        if isinstance(linked, Failure):
            raise linked.error
        return linked

    def habits(
        self,
        documents: Iterable[Document | Path | str | Failure],
        judged: Mapping[str, Judged] = MappingProxyType({}),
    ) -> dict[str, Habit]:
        """Where the authors of each collection put images, learned from the first of its documents without a label.

        Captions and references teach it, and what people said of some images; no image is looked at.

        Args:
            documents: Walked once, ``HABIT_DOCUMENTS`` of them at most; what cannot be read is passed over.
            judged: By the id of a document the sentences of some of its images, as people said: the number of the image
                to the numbers of its sentences, () for none of them.

        Returns:
            By ``collection_of`` a document; nothing where the layout is no evidence, or the habit is given.
        """
        from iconotext.links.windows import habits_of

        return habits_of(self._taught(self._read(documents)), judged) if self._learns_habits else {}

    def encode_ahead(self, documents: Iterable[Document | Path | str | Failure]) -> None:
        """Encode documents many at a time into the cache, for whoever links them one by one afterwards."""
        from iconotext.links.windows import see_images

        for _ in see_images(self._read(documents), self.encoder):
            pass

    @property
    def _learns_habits(self) -> bool:
        evidence = self.settings.evidence
        return self.settings.habit is None and "layout" in evidence and bool({"caption", "reference"} & set(evidence))

    def _read(self, documents: Iterable[Document | Path | str | Failure]) -> Iterator[Told | Failure]:
        from iconotext.links.windows import read_texts

        return read_texts(map(given_or_failure, documents), self.encoder, self.settings.evidence)

    def _taught(self, documents: Iterator[Told | Failure]) -> Iterator[Told | Failure]:
        from iconotext.links.windows import taught

        return taught(islice(documents, HABIT_DOCUMENTS), self.encoder, self.settings.evidence)

    def _linked(
        self, documents: Iterable[Told | Failure], habits: Mapping[str, Habit]
    ) -> Iterator[LinkedDocument | Failure]:
        from iconotext.links.link_windows import link_windows

        return link_windows(
            documents,
            self.encoder,
            self.settings,
            habits,
            line_reader=lambda: self.line_reader,
            relation_model=lambda: self.relation_model,
        )

    def explain(self, linked: LinkedDocument) -> LinkedDocument:
        """Say for every link which words and which parts of the picture carry its picture evidence.

        Each link gets its ``explanation``, if there is anything to be seen of its picture;
        ``iconotext.links.explanation`` says how. A picture is encoded some 25 times, each sentence of a link once a
        word; nothing of that goes into the cache.

        Args:
            linked: What ``link`` gave, of this linker.

        Raises:
            SettingError: The linker does not look at pictures: its ``evidence`` lacks ``picture``.
            ImageError: A linked picture is not there any more.
        """
        from iconotext.links.explanation import explained

        if "picture" not in self.settings.evidence:
            raise SettingError("explain: only picture evidence can be explained, and evidence does not name picture")
        return explained(linked, self.encoder.read(linked.document))

    def link_all(
        self, documents: Iterable[Document | Path | str | Failure], habits: Mapping[str, Habit] | None = None
    ) -> Iterator[LinkedDocument | Failure]:
        """Link many documents, one after the other; one that cannot be linked gives a ``Failure`` and stops nothing.

        The texts of the first ``HABIT_DOCUMENTS`` are read before the first is linked, since they tell the habits of
        all; what is too much for memory lies in a file meanwhile. Documents are encoded many at a time, see
        ``links.windows``.

        Args:
            documents: Documents, the files that hold them, or what ``read_all`` gives.
            habits: Where the authors of their collections put images, where that is known; by default the documents
                tell it.

        Raises:
            TypeError: Something is neither a document nor the name of a file.
        """
        from iconotext.links.windows import habits_of, size_of

        if isinstance(documents, (str, Path, Document)):
            raise TypeError(f"link_all takes a list of documents; link takes one, such as {documents!r:.60}")
        if self.settings.max_false is not None:
            with Spool(map(given_or_failure, documents)) as spool:
                promises = self._promises(spool)
                for linked in self.plain.link_all(spool, habits):
                    yield linked if isinstance(linked, Failure) else promises.keep(linked)
            return
        walk = self._read(documents)
        if habits is not None or not self._learns_habits:
            yield from self._linked(walk, habits or {})
            return
        with Spool(self._taught(walk), size_of) as first:
            habits = habits_of(first) if len(first) > 1 else {}
            yield from self._linked(chain(first, walk), habits)

    @cached_property
    def line_reader(self) -> LineReader:
        """What reads the words in images."""
        from iconotext.features import FeatureCache
        from iconotext.features.cached import cached_lines
        from iconotext.features.ocr import load_line_reader

        reader = load_line_reader()
        return cached_lines(reader, FeatureCache()) if self.settings.cache else reader

    @cached_property
    def plain(self) -> Linker:
        """The same without promises; where these drop links, each image has its best one, however unsure it is."""
        chosen: dict[str, object] = {} if self.settings.promise == "none" else BEST
        return Linker(self.encoder, self.settings.model_copy(update={"max_false": None, **chosen}))

    def calibrate(self, documents: Iterable[Document | Failure]) -> None:
        """Make promises from these documents, whose gold links are right and complete, instead of those that ship."""
        from iconotext.links.calibration import calibration_of

        linked = ((OWN, each) for each in self._bare().link_all(documents) if isinstance(each, LinkedDocument))
        self.calibration = calibration_of(linked, self.settings.evidence)

    def promises(self, documents: Iterable[Document | Path | str | Failure]) -> Promises:
        """What can be promised of documents that are linked together; nothing but numbers is kept of each.

        Args:
            documents: Walked once; what cannot be linked is passed over.

        Raises:
            SettingError: Two documents have the same id, or ``max_false`` is not set.
        """
        if self.settings.max_false is None:
            raise SettingError("max_false is not set: say which share of the links may be wrong")
        with Spool(map(given_or_failure, documents)) as spool:
            return self._promises(spool)

    def candidates(self, documents: Iterable[Document | Failure], pool: DecoyPool) -> Iterator[Candidate]:
        """What promises are made of, image by image: of documents that are walked twice, with decoys of this pool."""
        from iconotext.links.promised_collection import candidates

        return candidates(documents, pool, self._best_of_all, self.settings.evidence)

    def _promises(self, spool: Spool[Document | Failure]) -> Promises:
        from iconotext.links.promised_collection import collection_promises

        return collection_promises(spool, self._best_of_all, self.settings, self.calibration)

    def _best_of_all(
        self, documents: Iterable[Document | Failure], evidence: tuple[Evidence, ...]
    ) -> Iterator[LinkedDocument | Failure]:
        return self._bare(evidence=evidence).link_all(documents)

    def _bare(self, **chosen: object) -> Linker:
        """The best link of each image without promises, and nothing but the links themselves."""
        update = {"max_false": None, "relations": "none", "explain": False, **BEST, **chosen}
        return Linker(self.encoder, self.settings.model_copy(update=update))

    @cached_property
    def calibration(self) -> Calibration:
        """What promises are made from: the calibration figures that ship, unless ``calibrate`` had others."""
        from iconotext.links.calibration import load_calibration

        return load_calibration()

    @cached_property
    def relation_model(self) -> RelationModel:
        """What tells the relations of links."""
        from iconotext.embed.relation_model import load_relation_model, relations_folder
        from iconotext.features import FeatureCache

        cache = FeatureCache() if self.settings.cache else None
        return load_relation_model(relations_folder(self.settings.relations), cache=cache)
