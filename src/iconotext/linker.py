"""The linker: it links the images of documents to their sentences, with one model and one group of settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from iconotext.decide.settings import LinkSettings
from iconotext.errors import IconotextError, SettingError
from iconotext.evidence.kinds import chosen_evidence
from iconotext.extras import require
from iconotext.linked import LinkedDocument
from iconotext.read import Failure, as_document, as_document_or_failure
from iconotext.system.spool import Spool
from iconotext.types import Document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from iconotext.encoders.encoder import Encoder
    from iconotext.encoders.relation_model import RelationModel
    from iconotext.evidence.gather import DocumentEvidence, EncodedText
    from iconotext.evidence.habit import Habit, Judged
    from iconotext.features.ocr import LineReader
    from iconotext.place.pictures import Given
    from iconotext.place.settings import PlaceSettings
    from iconotext.read import ReadSettings
    from iconotext.run import LinkingRun

__all__ = ["LinkSettings", "Linker"]

R = TypeVar("R")

HABIT_DOCUMENTS = 500
"""At most this many documents of a collection are used to infer its habits; a few hundred images are enough."""


class Linker:
    """Links the images of documents to their sentences.

    Attributes:
        encoder: The model that compares pictures with sentences; see ``iconotext.encoders.load``.
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
            MissingPackageError: A chosen kind of evidence needs a package that is not installed.
        """
        from iconotext.encoders.load import load_encoder
        from iconotext.encoders.relation_model import relations_folder

        chosen = settings or LinkSettings()
        # Missing models and packages are reported now, not after the first document.
        if chosen.relations != "none":
            relations_folder(chosen.relations)
        for kind in chosen_evidence(chosen.evidence):
            if kind.extra:
                require(kind.extra, purpose=f"the evidence {kind.name}")
        options = chosen.model_dump(include={"text", "image", "concepts", "cache"})

        def read_layers(texts: Sequence[str], layers: NDArray[np.float16]) -> None:  # called when ``linker`` exists
            if chosen.relations != "none":
                linker.relation_model.read_layers(texts, layers)

        linker = cls(load_encoder(model, **options, download=download, read_layers=read_layers), chosen)
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
        document = as_document(document)
        (linked,) = self._run.link(self._encoded([document]), habits or {})
        return _or_raise(linked)

    def place(
        self,
        text: str | Path | Document,
        pictures: Iterable[Given],
        settings: PlaceSettings | None = None,
        reading: ReadSettings | None = None,
    ) -> LinkedDocument:
        """Place pictures in a text that has none, each at the sentence that it belongs to, or nowhere.

        Args:
            text: The text itself, as Markdown; or the ``Path`` of its file, or a document.
            pictures: What pictures come from: linked documents, their chunks or contexts, in memory or in files that
                commands wrote; documents, which are linked first; files and folders of pictures; or images, which may
                have a ``context``.
            settings: What places them; this linker's own settings link documents.
            reading: How files are read.

        Returns:
            The text with the pictures that it did not have before, at most one link each; ``iconotext.place`` writes it
            as Markdown. A picture without a link is left out.

        Raises:
            DocumentError: A file cannot be read.
            SettingError: The text is empty.
            TypeError: Another kind of text or picture.
        """
        from iconotext.place.pictures import pictures_of
        from iconotext.place.settings import PlaceSettings
        from iconotext.place.text import chosen, joined, text_document, with_language_note

        sources = self._best_linker().link_all
        settings = settings or PlaceSettings()
        document = text_document(text, reading)
        document = joined(document, pictures_of(pictures, sources, reading))
        linked = self._best_linker(habit=None, explain=False, evidence=settings.evidence).link(document)
        if self.encoder.text_backbone.languages is not None:
            linked = with_language_note(linked)
        return chosen(linked, settings)

    def gather(self, document: Document | Path | str) -> DocumentEvidence:
        """Compute all evidence about a document but the habit of its author, for ``link_evidence``.

        Raises:
            DocumentError, FeatureError, TypeError: As for ``link``.
        """
        ((evidence,),) = self._run.gather(self._encoded([as_document(document)]))
        return _or_raise(evidence)

    def link_evidence(self, evidence: DocumentEvidence, habits: Mapping[str, Habit] | None = None) -> LinkedDocument:
        """Link a document from computed evidence: fast, for other settings or habits.

        Args:
            evidence: From ``gather`` of a linker with the same encoder and at least the same evidence.
            habits: As for ``link``.
        """
        (linked,) = self._run.link_evidence([evidence], habits or {})
        return _or_raise(linked)

    def habits(
        self, documents: Iterable[Document | Path | str | Failure], judged: Mapping[str, Judged] = MappingProxyType({})
    ) -> dict[str, Habit]:
        """Infer where each collection puts images, and how far its captions count, from its first documents.

        The method uses captions, references and the given human judgments. It encodes no image.

        Args:
            documents: Iterated once, at most ``HABIT_DOCUMENTS``; those that cannot be read are skipped.
            judged: Document id to image number to the numbers of the sentences that people chose for the image, () for
                none.

        Returns:
            Collection (``collection_of``) to habit; empty if layout is no evidence, or the settings name the habit.
        """
        from iconotext.run import habits_of

        return habits_of(self._first(self._encoded(documents)), judged) if self._infers_habits else {}

    def encode_ahead(self, documents: Iterable[Document | Path | str | Failure]) -> None:
        """Encode documents in batches into the cache, to link them one by one afterwards."""
        for _ in self._run.encode_images(self._encoded(documents)):
            pass

    def _best_linker(self, **update: object) -> Linker:
        """A linker with the same model that links each image to its best sentence, whatever the confidence."""
        return Linker(self.encoder, self.settings.model_copy(update={"k": 1, "min_confidence": 0.0, **update}))

    @property
    def _run(self) -> LinkingRun:
        from iconotext.run import LinkingRun  # not before it is needed: it imports Pillow

        return LinkingRun(self.encoder, self.settings, lambda: self.line_reader, lambda: self.relation_model)

    @property
    def _infers_habits(self) -> bool:
        evidence = self.settings.evidence
        return self.settings.habit is None and "layout" in evidence and bool({"caption", "reference"} & set(evidence))

    def _encoded(self, documents: Iterable[Document | Path | str | Failure]) -> Iterator[EncodedText | Failure]:
        return self._run.encode_texts(map(as_document_or_failure, documents))

    def _first(self, documents: Iterator[EncodedText | Failure]) -> Iterator[EncodedText | Failure]:
        """Return the documents from which habits are inferred, with the evidence for that."""
        return self._run.add_places(islice(documents, HABIT_DOCUMENTS))

    def explain(self, linked: LinkedDocument) -> LinkedDocument:
        """Find for every link which words and which parts of the picture carry its picture evidence.

        Each link gets an ``explanation``, if its picture can be encoded; see ``iconotext.evidence.occlusion``. Each
        picture is encoded some 25 times, each linked sentence once per word; the cache is not used.

        Args:
            linked: From ``link`` of this linker.

        Raises:
            SettingError: The linker's ``evidence`` lacks ``picture``.
            ImageError: The file of a linked picture is gone.
        """
        from iconotext.evidence.occlusion import explained

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
        encoded = self._encoded(documents)
        if habits is not None or not self._infers_habits:
            yield from self._run.link(encoded, habits or {})
            return
        with Spool(self._first(encoded), size_of) as first:
            habits = habits_of(first) if len(first) > 1 else {}
            yield from self._run.link(chain(first, encoded), habits)

    @cached_property
    def line_reader(self) -> LineReader:
        """The model that reads words in images."""
        from iconotext.features import FeatureCache
        from iconotext.features.cached_backbones import cached_lines
        from iconotext.features.ocr import load_line_reader

        reader = load_line_reader()
        return cached_lines(reader, FeatureCache()) if self.settings.cache else reader

    @cached_property
    def relation_model(self) -> RelationModel:
        """The model that predicts the relations of links."""
        from iconotext.encoders.relation_model import load_relation_model, relations_folder
        from iconotext.features import FeatureCache

        cache = FeatureCache() if self.settings.cache else None
        return load_relation_model(relations_folder(self.settings.relations), cache=cache)


def _or_raise(result: R | Failure) -> R:
    if isinstance(result, Failure):
        raise result.error
    return result


class RunFiles(AbstractContextManager["RunFiles"]):
    """The files of a run, each read once: documents that habits needed are stored until they are linked.

    Args:
        files: Each file with its name in the run, and the named folder that contains it or None.
    """

    def __init__(self, files: Mapping[str, tuple[Path, Path | None]], reading: ReadSettings) -> None:
        self._files, self._reading = files, reading
        self._stored: Spool[list[Document] | IconotextError] = Spool()
        self._number: dict[str, int] = {}

    def __iter__(self) -> Iterator[Document | Failure]:
        """Read the documents of all files, and store them in a temporary file."""
        for name, (path, _) in self._files.items():
            if name in self._number:
                documents = self._stored[self._number[name]]
            else:
                documents, self._number[name] = self._read(name), len(self._stored)
                self._stored.append(documents)
            yield from [Failure(path, documents)] if isinstance(documents, IconotextError) else documents

    def read(self, name: str) -> list[Document]:
        """Return the documents of a file; raises an ``IconotextError`` if it cannot be read."""
        number = self._number.get(name)
        documents = self._read(name) if number is None else self._stored[number]
        if isinstance(documents, IconotextError):
            raise documents
        return documents

    def _read(self, name: str) -> list[Document] | IconotextError:
        from iconotext.read import read_documents

        path, within = self._files[name]
        try:
            return list(read_documents(path, self._reading, within=within, identifier=name))
        except IconotextError as error:
            return error

    def __exit__(self, *_: object) -> None:
        self._stored.close()
