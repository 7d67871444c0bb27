"""The whole walk on one screen: document → features → unit vectors → similarity → links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.errors import IconotextError, SettingError
from iconotext.extras import EXTRAS, require
from iconotext.links.settings import LinkSettings
from iconotext.read import Failure
from iconotext.read.given import given_document
from iconotext.read.spool import Spool
from iconotext.types import Document, LinkedDocument

if TYPE_CHECKING:
    from iconotext.embed.relation_model import RelationModel
    from iconotext.encoder import Encoder
    from iconotext.features.ocr import LineReader
    from iconotext.links.calibration import Calibration
    from iconotext.links.decoys import DecoyPool
    from iconotext.links.promise import Promises

__all__ = ["LinkSettings", "Linker"]

OWN = "your own"
"""The class of calibration figures that the user gave."""


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
        from iconotext.links.language import is_foreign, language_note, no_meaning
        from iconotext.links.link_document import link_document
        from iconotext.links.link_relations import with_relations

        document = given_document(document)
        if self.settings.max_false is not None:
            return self.promises([document]).keep(self.plain.link(document))
        if "text" in self.settings.evidence:
            document = with_lines(document, self.line_reader)
        evidence, encode = self.settings.evidence, self.encoder.text_backbone.encode
        unseen = "picture" in evidence and is_foreign(document, self.encoder.language)
        unread = is_foreign(document, self.encoder.text_backbone.language)
        note = language_note(document, picture=unseen, caption=unread and "caption" in evidence)
        if unseen:
            evidence = tuple(kind for kind in evidence if kind != "picture")
        encoded = self.encoder.read(document) if "picture" in evidence else None
        linked = link_document(
            encoded.document if encoded else document,
            encoded.similarity if encoded else None,
            no_meaning if unread else encode,
            evidence=evidence,
            select=self.settings.select,
            k=self.settings.k,
            min_confidence=self.settings.min_confidence,
            model=self.encoder.name,
            sentence_vectors=encoded.caption_vectors if encoded and not unread else None,
        )
        linked = replace(linked, notes=(note,) if note else ())
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
        if self.settings.max_false is not None:
            with Spool(documents) as spool:
                promises = self._promises(spool, self.settings.max_false)
                for linked in self.plain.link_all(spool):
                    yield linked if isinstance(linked, Failure) else promises.keep(linked)
            return
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
    def plain(self) -> Linker:
        """The same without promises: each image is linked to its best sentence, however little confidence it has."""
        chosen = {"max_false": None, "select": "best", "min_confidence": 0.0}
        return Linker(self.encoder, self.settings.model_copy(update=chosen))

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
        with Spool(documents) as spool:
            return self._promises(spool, self.settings.max_false)

    def _promises(self, documents: Spool, max_false: float) -> Promises:
        from iconotext.links.calibration import kind_of
        from iconotext.links.decoys import DecoyPool
        from iconotext.links.promise import Candidate, make_promises

        pool = DecoyPool()
        ids: set[str] = set()
        for document in documents:
            if isinstance(document, Document):
                if document.id in ids:
                    raise SettingError(f"two documents have the id {document.id!r}: promises need ids that differ")
                ids.add(document.id)
                pool.add(document)
        rivals = self._rivals(documents, pool)
        tested = [
            Candidate(
                linked.document.id,
                link.image,
                kind_of(linked.document, link.image, self.settings.evidence),
                link.confidence,
                link.paragraph,
                *rivals.get((linked.document.id, link.image), ()),
            )
            for linked in self._bare().link_all(documents)
            if isinstance(linked, LinkedDocument)
            for link in linked.links
        ]
        return make_promises(tested, self.calibration, max_false, self.settings.promise)

    def _rivals(self, documents: Spool, pool: DecoyPool) -> dict[tuple[str, int], tuple[float, float]]:
        """Id of the document and number of each image that has a decoy, to the best score of both."""
        content = tuple(kind for kind in self.settings.evidence if kind not in ("layout", "reference"))
        found: dict[tuple[str, int], tuple[float, float]] = {}
        pairs: dict[str, dict[int, int]] = {}

        def joined() -> Iterator[Document]:
            for document in documents:
                if isinstance(document, Document):
                    both, pairs[document.id] = pool.with_decoys(document)
                    yield both

        for linked in self._bare(evidence=content).link_all(joined()) if content else ():
            if isinstance(linked, LinkedDocument):
                best = {link.image: link.score for link in linked.links}
                for own, decoy in pairs.pop(linked.document.id).items():
                    if own in best and decoy in best:
                        found[linked.document.id, own] = best[own], best[decoy]
        return found

    def _bare(self, **chosen: object) -> Linker:
        """``plain``, and nothing but the links themselves."""
        update = {"relations": "none", "explain": False, **chosen}
        return Linker(self.encoder, self.plain.settings.model_copy(update=update))

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
