"""The whole walk on one screen: document → features → unit vectors → similarity → links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.errors import IconotextError, SettingError
from iconotext.extras import EXTRAS, require
from iconotext.links.settings import LinkSettings
from iconotext.read import Failure
from iconotext.read.given import given_document
from iconotext.types import Document, LinkedDocument

if TYPE_CHECKING:
    from iconotext.embed.relation_model import RelationModel
    from iconotext.encoder import Encoder
    from iconotext.features.ocr import LineReader

__all__ = ["LinkSettings", "Linker"]


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
            require(*EXTRAS["ocr"], purpose="the evidence text")  # now, not after the first document
        own = chosen.model_dump(include={"text", "image", "concepts", "cache"})
        return cls(load_encoder(model, **own, download=download), chosen)

    def __repr__(self) -> str:
        return f"Linker({self.encoder.name!r}, evidence={','.join(self.settings.evidence)})"

    def link(self, document: Document | Path | str) -> LinkedDocument:
        """Find the links of one document.

        Args:
            document: The document, or the file that holds it.

        Returns:
            The document with its links; images that turn out to be unreadable have their ``problem`` now.

        Raises:
            DocumentError: The file cannot be read.
            FeatureError: The image backbone cannot be compared with the text backbone.
            TypeError: It is neither a document nor the name of a file.
        """
        from iconotext.features.ocr import with_lines
        from iconotext.links.explanation import explained
        from iconotext.links.link_document import link_document
        from iconotext.links.link_relations import with_relations

        document = given_document(document)
        if "text" in self.settings.evidence:
            document = with_lines(document, self.line_reader)
        encoded = self.encoder.read(document) if "picture" in self.settings.evidence else None
        linked = link_document(
            encoded.document if encoded else document,
            encoded.similarity if encoded else None,
            self.encoder.text_backbone.encode,
            evidence=self.settings.evidence,
            select=self.settings.select,
            k=self.settings.k,
            min_confidence=self.settings.min_confidence,
            model=self.encoder.name,
            sentence_vectors=encoded.caption_vectors if encoded else None,
        )
        if self.settings.relations != "none":
            # A picture has its say if the relation model knows the features that there are of it.
            known = self.encoder.image_source.name == self.relation_model.backbones["image"]
            linked = with_relations(linked, self.relation_model, encoded.pooled if encoded and known else {})
        return explained(linked, encoded) if self.settings.explain and encoded else linked

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

    def link_all(self, documents: Iterable[Document | Path | str | Failure]) -> Iterator[LinkedDocument | Failure]:
        """Link many documents, one after the other; one that cannot be linked gives a ``Failure`` and stops nothing.

        Args:
            documents: Documents, the files that hold them, or what ``read_all`` gives.

        Raises:
            TypeError: Something is neither a document nor the name of a file.
        """
        if isinstance(documents, (str, Path, Document)):
            raise TypeError(f"link_all takes a list of documents; link takes one, such as {documents!r:.60}")
        for document in documents:
            if isinstance(document, Failure):
                yield document
                continue
            try:
                yield self.link(document)
            except IconotextError as error:
                where = document.source or document.id if isinstance(document, Document) else document
                yield Failure(Path(where), error)

    @cached_property
    def line_reader(self) -> LineReader:
        """What reads the words in images."""
        from iconotext.features import FeatureCache
        from iconotext.features.cached import cached_lines
        from iconotext.features.ocr import load_line_reader

        reader = load_line_reader()
        return cached_lines(reader, FeatureCache()) if self.settings.cache else reader

    @cached_property
    def relation_model(self) -> RelationModel:
        """What tells the relations of links."""
        from iconotext.embed.relation_model import load_relation_model, relations_folder
        from iconotext.features import FeatureCache

        cache = FeatureCache() if self.settings.cache else None
        return load_relation_model(relations_folder(self.settings.relations), cache=cache)
