from __future__ import annotations

import math

import numpy as np
import pytest

from iconotext.decide.choose import with_relations
from iconotext.linked import LinkedDocument
from iconotext.types import Document, Image, Link, Sentence


class Fixed:
    """Log-odds by the text's length, offsets by the first feature."""

    relations = ("Visible", "Story")
    asked: list[list[str]]

    def __init__(self):
        self.asked = []

    def text_logits(self, texts):
        self.asked.append(list(texts))
        return np.array([[len(text), -1] for text in texts], np.float32)

    def image_offsets(self, pooled):
        return np.stack([pooled[:, 0], np.zeros(len(pooled))], axis=1).astype(np.float32)


def linked(language="en"):
    document = Document(
        "d", (Sentence("a"), Sentence("never"), Sentence("bc")), (Image("x"), Image("y")), language=language
    )
    links = (Link(0, 0, 0.9, 0.9, 0.9, {}), Link(2, 0, 0.5, 0.5, 0.5, {}), Link(2, 1, 0.4, 0.4, 0.4, {}))
    return LinkedDocument(document, links, np.zeros((3, 2), np.float32), "m")


def sigmoid(value):
    return 1 / (1 + math.exp(-value))


def test_text_and_picture_are_added_and_each_linked_sentence_is_read_once():
    model = Fixed()
    (found,) = with_relations([(linked(), {0: np.array([0.5, 9], np.float32)})], model)
    assert model.asked == [["a", "bc"]]
    wanted = [sigmoid(1.5), sigmoid(2.5), sigmoid(2)]  # the second picture is not known
    assert [link.relations["Visible"] for link in found.links] == pytest.approx(wanted)
    assert [link.relations["Story"] for link in found.links] == pytest.approx([sigmoid(-1)] * 3)
    assert [(link.sentence, link.image, link.confidence) for link in found.links] == [
        (0, 0, 0.9),
        (2, 0, 0.5),
        (2, 1, 0.4),
    ]


def test_the_links_of_several_documents_are_read_together():
    model = Fixed()
    several = [(linked(), {0: np.array([0.5, 9], np.float32)}), (linked("de"), {}), (linked(), {})]
    found = with_relations(several, model)
    assert model.asked == [["a", "bc"]]
    alone = [with_relations([each], Fixed())[0].links for each in several]
    assert [each.links for each in found] == alone


def test_without_known_pictures_the_text_speaks_alone():
    (found,) = with_relations([(linked(), {})], Fixed())
    assert found.links[0].relations["Visible"] == pytest.approx(sigmoid(1))


def test_other_languages_and_documents_without_links_stay_as_they_are():
    for given in (linked("de"), LinkedDocument(linked().document, (), np.zeros((3, 2), np.float32), "m")):
        (found,) = with_relations([(given, {})], Fixed())
        assert found is given


@pytest.mark.slow
def test_the_linker_says_how_sentence_and_picture_relate_unless_told_not_to(tmp_path, picture):
    from iconotext import Linker, LinkSettings
    from iconotext.relations import CITE, CLUE

    picture("cat.png", seed=1)
    sentences = (Sentence("A cat sleeps."), Sentence("What a lovely day!"))
    document = Document("d", sentences, (Image("cat.png", tmp_path / "cat.png", caption="A cat"),))
    found = {}
    for evidence in ("picture", "caption"):
        linker = Linker.load(settings=LinkSettings(cache=False, evidence=(evidence,), min_confidence=0))
        found[evidence] = {link.sentence: link.relations for link in linker.link(document).links}
        assert all(tuple(relations) == (*CLUE, *CITE) for relations in found[evidence].values())
        assert all(0 < value < 1 for relations in found[evidence].values() for value in relations.values())
    assert found["picture"] != found["caption"]  # a picture that was looked at has its say
    silent = Linker.load(settings=LinkSettings(cache=False, relations="none"))
    assert {link.relations for link in silent.link(document).links} == {None}


@pytest.mark.slow
def test_no_text_is_encoded_twice_to_tell_links_and_relations(tmp_path, picture, monkeypatch):
    from iconotext import Linker, LinkSettings
    from iconotext.features.minilm import MiniLM

    def encoded(self, texts, layers):
        asked.extend(texts)
        return plain(self, texts, layers)

    asked: list[str] = []
    plain = MiniLM._encoded
    monkeypatch.setattr(MiniLM, "_encoded", encoded)
    monkeypatch.setenv("ICONOTEXT_CACHE", str(tmp_path / "cache"))
    picture("cat.png", seed=1)
    sentences = (Sentence("A cat sleeps."), Sentence("What a lovely day!"))
    document = Document("d", sentences, (Image("cat.png", tmp_path / "cat.png", caption="A cat"),))
    first, again = (Linker.load(settings=LinkSettings(min_confidence=0)).link(document) for _ in range(2))
    assert len(asked) == len(set(asked)) > 2
    kept = list(asked)
    plainly = Linker.load(settings=LinkSettings(min_confidence=0, cache=False)).link(document)
    assert len(asked) > 2 * len(kept)  # without a cache, links are encoded twice
    assert first.links == again.links == plainly.links


@pytest.mark.slow
def test_the_linker_takes_a_relation_model_that_somebody_trained(tmp_path, picture):
    import shutil

    from iconotext import Linker, LinkSettings
    from iconotext.encoders.relation_model import relations_folder
    from iconotext.errors import FeatureError

    picture("cat.png", seed=1)
    document = Document("d", (Sentence("A cat sleeps."),), (Image("cat.png", tmp_path / "cat.png", caption="A cat"),))
    shutil.copytree(relations_folder(), tmp_path / "mine")
    linkers = [
        Linker.load(settings=LinkSettings(cache=False, relations=name)) for name in ("default", str(tmp_path / "mine"))
    ]
    first, second = ([link.relations for link in linker.link(document).links] for linker in linkers)
    assert first == second != []
    with pytest.raises(FeatureError, match="nowhere: no such model"):
        Linker.load(settings=LinkSettings(cache=False, relations=str(tmp_path / "nowhere")))
