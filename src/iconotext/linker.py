"""The linker: it links the images of documents to their sentences, with one model and one group of settings.

``Linker.load`` loads a model, ``Linker.link`` links one document, and ``Linker.link_all`` links many. A document
becomes
features, unit vectors, similarities and then links; ``run`` does this work for many documents at a time. With
``max_false`` in the settings the linker first makes promises about all documents (``decide.promise``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from iconotext.decide.settings import LinkSettings
from iconotext.errors import SettingError
from iconotext.evidence.kinds import chosen_evidence
from iconotext.extras import require
from iconotext.read import Failure, given_document, given_or_failure
from iconotext.system.spool import Spool
from iconotext.types import Document, Evidence, LinkedDocument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from iconotext.decide.calibration import Calibration
    from iconotext.decide.competition import DecoyPool
    from iconotext.decide.promise import Candidate, Promises
    from iconotext.encoders.encoder import Encoder
    from iconotext.encoders.relation_model import RelationModel
    from iconotext.evidence.gather import DocumentEvidence, EncodedText
    from iconotext.evidence.habit import Habit, Judged
    from iconotext.features.ocr import LineReader

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
        encoder: The model that compares pictures with sentences; see ``iconotext.encoders.encoder``.
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
            download: Whether to fetch missing models from the Hugging Face hub; else nothing uses the network.

        Raises:
            FeatureError: There is no such model, it cannot be loaded, or it was trained on other backbones.
            MissingPackageError: Words in images are evidence, and the package that reads them is not installed.
        """
        from iconotext.encoders.encoder import load_encoder
        from iconotext.encoders.relation_model import relations_folder

        chosen = settings or LinkSettings()
        if chosen.relations != "none":
            relations_folder(chosen.relations)  # find a mistyped name now, not after the first document
        for kind in chosen_evidence(chosen.evidence):
            if kind.extra:
                require(kind.extra, purpose=f"the evidence {kind.name}")  # now, not after the first document
        own = chosen.model_dump(include={"text", "image", "concepts", "cache"})

        def read_layers(texts: Sequence[str], layers: NDArray[np.float16]) -> None:
            if chosen.relations != "none":
                linker.relation_model.read_layers(texts, layers)

        linker = cls(load_encoder(model, **own, download=download, read_layers=read_layers), chosen)
        return linker

    def __repr__(self) -> str:
        return f"Linker({self.encoder.name!r}, evidence={','.join(self.settings.evidence)})"

    def link(self, document: Document | Path | str, habits: Mapping[str, Habit] | None = None) -> LinkedDocument:
        """Link one document.

        Args:
            document: The document, or its file.
            habits: Where the authors of its collection put images, from ``habits``. By default this is inferred from
                the document alone.

        Returns:
            The document with its links; images that could not be decoded now have a ``problem``.

        Raises:
            DocumentError: The file cannot be read.
            FeatureError: The image backbone cannot be compared with the text backbone.
            TypeError: Neither a document nor a file name.
        """
        document = given_document(document)
        if self.settings.max_false is not None:
            return self.promises([document]).keep(self.plain.link(document, habits))
        (linked,) = self._linked(self._read([document]), habits or {})
        if isinstance(linked, Failure):
            raise linked.error
        return linked

    def gather(self, document: Document | Path | str) -> DocumentEvidence:
        """Compute all evidence about a document but the habit of its author, for ``link_evidence``.

        Raises:
            DocumentError, FeatureError, TypeError: As for ``link``.
        """
        from iconotext.run import gather

        read = self._read([given_document(document)])
        ((evidence,),) = gather(read, self.encoder, self.settings, line_reader=lambda: self.line_reader)
        if isinstance(evidence, Failure):
            raise evidence.error
        return evidence

    def link_evidence(self, evidence: DocumentEvidence, habits: Mapping[str, Habit] | None = None) -> LinkedDocument:
        """Link a document from computed evidence: fast, for other settings or habits. Makes no promises.

        Args:
            evidence: From ``gather`` of a linker with the same encoder and at least the same evidence.
            habits: As for ``link``.
        """
        from iconotext.run import link_evidence

        relations = {"relation_model": lambda: self.relation_model}
        (linked,) = link_evidence([evidence], self.encoder, self.settings, habits or {}, **relations)
        if isinstance(linked, Failure):
            raise linked.error
        return linked

    def habits(
        self,
        documents: Iterable[Document | Path | str | Failure],
        judged: Mapping[str, Judged] = MappingProxyType({}),
    ) -> dict[str, Habit]:
        """Infer where the authors of each collection put images, without labels, from its first documents.

        The method uses captions, references and the given human judgments. It encodes no image.

        Args:
            documents: Iterated once, at most ``HABIT_DOCUMENTS``; those that cannot be read are skipped.
            judged: Document id to image number to the numbers of the sentences that people chose for the image, () for
                none.

        Returns:
            Collection (``collection_of``) to habit; empty if layout is no evidence, or the settings name the habit.
        """
        from iconotext.run import habits_of

        return habits_of(self._placed(self._read(documents)), judged) if self._learns_habits else {}

    def encode_ahead(self, documents: Iterable[Document | Path | str | Failure]) -> None:
        """Encode documents in batches into the cache, to link them one by one afterwards."""
        from iconotext.run import encode_images

        for _ in encode_images(self._read(documents), self.encoder):
            pass

    @property
    def _learns_habits(self) -> bool:
        evidence = self.settings.evidence
        return self.settings.habit is None and "layout" in evidence and bool({"caption", "reference"} & set(evidence))

    def _read(self, documents: Iterable[Document | Path | str | Failure]) -> Iterator[EncodedText | Failure]:
        from iconotext.run import encode_texts

        return encode_texts(map(given_or_failure, documents), self.encoder, self.settings.evidence)

    def _placed(self, documents: Iterator[EncodedText | Failure]) -> Iterator[EncodedText | Failure]:
        from iconotext.run import add_places

        return add_places(islice(documents, HABIT_DOCUMENTS), self.encoder, self.settings.evidence)

    def _linked(
        self, documents: Iterable[EncodedText | Failure], habits: Mapping[str, Habit]
    ) -> Iterator[LinkedDocument | Failure]:
        from iconotext.run import link_windows

        return link_windows(
            documents,
            self.encoder,
            self.settings,
            habits,
            line_reader=lambda: self.line_reader,
            relation_model=lambda: self.relation_model,
        )

    def explain(self, linked: LinkedDocument) -> LinkedDocument:
        """Find for every link which words and which parts of the picture carry its picture evidence.

        Each link gets an ``explanation``, if its picture can be encoded; see ``iconotext.decide.explanation``. Each
        picture is encoded some 25 times, each linked sentence once per word; the cache is not used.

        Args:
            linked: From ``link`` of this linker.

        Raises:
            SettingError: The linker's ``evidence`` lacks ``picture``.
            ImageError: The file of a linked picture is gone.
        """
        from iconotext.decide.explanation import explained

        if "picture" not in self.settings.evidence:
            raise SettingError("explain: only picture evidence can be explained, and evidence does not name picture")
        return explained(linked, self.encoder.read(linked.document))

    def link_all(
        self, documents: Iterable[Document | Path | str | Failure], habits: Mapping[str, Habit] | None = None
    ) -> Iterator[LinkedDocument | Failure]:
        """Link many documents, one after the other; one that cannot be linked gives a ``Failure``.

        The texts of the first ``HABIT_DOCUMENTS`` are read before the first document is linked, to infer the habits of
        all; a temporary file holds the part that does not fit into memory. Documents are encoded in batches, see
        ``run``.

        Args:
            documents: Documents, their files, or the output of ``read_all``.
            habits: Where the authors of their collections put images, if known; by default inferred from the documents.

        Raises:
            TypeError: An item is neither a document nor a file name.
        """
        from iconotext.run import habits_of, size_of

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
        with Spool(self._placed(walk), size_of) as first:
            habits = habits_of(first) if len(first) > 1 else {}
            yield from self._linked(chain(first, walk), habits)

    @cached_property
    def line_reader(self) -> LineReader:
        """The model that reads words in images."""
        from iconotext.features import FeatureCache
        from iconotext.features.cached_backbones import cached_lines
        from iconotext.features.ocr import load_line_reader

        reader = load_line_reader()
        return cached_lines(reader, FeatureCache()) if self.settings.cache else reader

    @cached_property
    def plain(self) -> Linker:
        """The same linker without promises; if promises would drop links, each image is linked to its best sentence."""
        chosen: dict[str, object] = {} if self.settings.promise == "none" else BEST
        return Linker(self.encoder, self.settings.model_copy(update={"max_false": None, **chosen}))

    def calibrate(self, documents: Iterable[Document | Failure]) -> None:
        """Use these documents, with right and complete gold links, for promises instead of the package's figures."""
        from iconotext.decide.calibration import calibration_of

        linked = ((OWN, each) for each in self._bare().link_all(documents) if isinstance(each, LinkedDocument))
        self.calibration = calibration_of(linked, self.settings.evidence)

    def promises(self, documents: Iterable[Document | Path | str | Failure]) -> Promises:
        """Make the promises for documents that are linked together; only numbers about each are kept in memory.

        Args:
            documents: Iterated once; those that cannot be linked are skipped.

        Raises:
            SettingError: Two documents have the same id, or ``max_false`` is not set.
        """
        if self.settings.max_false is None:
            raise SettingError("max_false is not set: say which share of the links may be wrong")
        with Spool(map(given_or_failure, documents)) as spool:
            return self._promises(spool)

    def candidates(self, documents: Iterable[Document | Failure], pool: DecoyPool) -> Iterator[Candidate]:
        """Yield the image data for promises; it iterates ``documents`` twice and draws decoys from ``pool``."""
        from iconotext.decide.promise import candidates

        return candidates(documents, pool, self._best_of_all, self.settings.evidence)

    def _promises(self, spool: Spool[Document | Failure]) -> Promises:
        from iconotext.decide.promise import collection_promises

        return collection_promises(spool, self._best_of_all, self.settings, self.calibration)

    def _best_of_all(
        self, documents: Iterable[Document | Failure], evidence: tuple[Evidence, ...]
    ) -> Iterator[LinkedDocument | Failure]:
        return self._bare(evidence=evidence).link_all(documents)

    def _bare(self, **chosen: object) -> Linker:
        """Return a linker that only finds the best link of each image, without promises."""
        update = {"max_false": None, "relations": "none", "explain": False, **BEST, **chosen}
        return Linker(self.encoder, self.settings.model_copy(update=update))

    @cached_property
    def calibration(self) -> Calibration:
        """The figures of ``calibrate``, else the calibration figures in the package."""
        from iconotext.decide.calibration import load_calibration

        return load_calibration()

    @cached_property
    def relation_model(self) -> RelationModel:
        """The model that predicts the relations of links."""
        from iconotext.encoders.relation_model import load_relation_model, relations_folder
        from iconotext.features import FeatureCache

        cache = FeatureCache() if self.settings.cache else None
        return load_relation_model(relations_folder(self.settings.relations), cache=cache)
