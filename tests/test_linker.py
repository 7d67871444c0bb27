from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont
from pydantic import ValidationError
from skimage import data as photographs

from iconotext import Document, Image, Link, LinkedDocument, Linker, LinkSettings, Sentence, read, save
from iconotext.encoders.encoder import untrained_encoder
from iconotext.errors import FeatureError, ImageError, OutputError, SettingError
from iconotext.evidence.words import without
from iconotext.features import ImageFeatures
from iconotext.system import spool
from tests.support.encoders import image_backbone


@pytest.fixture(scope="module")
def linker() -> Linker:
    return Linker.load(settings=LinkSettings(cache=False, k=1))


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    for name, wanted in {"IMG_1.png": "coffee", "IMG_2.png": "chelsea", "IMG_3.png": "rocket"}.items():
        Pillow.fromarray(getattr(photographs, wanted)()).save(folder / name)
    return folder


TEXTS = (
    "We drank an espresso.",
    "The tabby cat sat up.",
    "A missile stood on its launch pad.",
    "Taxes are due in May.",
)


def bare(photos: Path) -> Document:
    """Sentences and pictures without layout, captions or names that say anything."""
    images = tuple(Image(path.name, path) for path in sorted(photos.iterdir()))
    return Document("bare", tuple(Sentence(text) for text in TEXTS), images)


def test_pictures_alone_find_their_sentences(linker, photos):
    linked = linker.link(bare(photos))
    assert {(link.image, link.sentence) for link in linked.links} == {(0, 0), (1, 1), (2, 2)}
    assert linked.similarity.shape == (4, 3)
    assert linked.model == "default"


@pytest.mark.slow
def test_the_words_in_a_picture_find_their_sentence(photos, tmp_path):
    pytest.importorskip("rapidocr", reason="the extra ocr is not installed")
    sign = Pillow.new("RGB", (420, 120), "white")
    ImageDraw.Draw(sign).text((20, 40), "Taxes due in May", "black", font=ImageFont.load_default(32))
    sign.save(tmp_path / "IMG_4.png")
    document = bare(photos)
    document = replace(document, images=(*document.images, Image("IMG_4.png", tmp_path / "IMG_4.png")))
    linker = Linker.load(settings=LinkSettings(evidence=("picture", "ocr"), k=1))
    linked = linker.link(document)
    assert [link.sentence for link in sorted(linked.links, key=lambda link: link.image)] == [0, 1, 2, 3]
    assert [line.text for line in linked.document.images[3].lines] == ["Taxes due in May"]
    assert {link.image: link.evidence["ocr"] > 0 for link in linked.links}[3]
    again = Linker.load(settings=LinkSettings(evidence=("picture", "ocr"), k=1)).link(document)
    assert again.document == linked.document
    assert again.links == linked.links


@pytest.mark.slow
def test_cached_features_give_the_same_links(photos):
    cached = [Linker.load(settings=LinkSettings()).link(bare(photos)) for _ in range(2)]
    assert cached[0].links == cached[1].links
    np.testing.assert_array_equal(cached[0].similarity, cached[1].similarity)


def test_picture_that_breaks_only_when_decoded(linker, photos, tmp_path):
    path = tmp_path / "broken.png"
    path.write_bytes((photos / "IMG_1.png").read_bytes()[:50_000])  # the header is whole
    document = Document("broken", (Sentence("We drank an espresso."),), (Image("broken.png", path),))
    linked = linker.link(document)
    assert linked.document.images[0].problem
    assert linked.links == ()


@pytest.mark.parametrize(("sentences", "images"), [(0, 0), (0, 2), (3, 0)])
def test_empty_sides(linker, photos, sentences, images):
    document = bare(photos)
    linked = linker.link(Document("empty", document.sentences[:sentences], document.images[:images]))
    assert linked.links == ()
    assert linked.similarity.shape == (sentences, images)


def test_a_backbone_without_classifier_cannot_use_the_bridge(linker, photos):
    class Plain:
        name, dim, classes = "plain", 8, None

        def encode(self, files, *, regions=False):
            return ImageFeatures(np.ones((len(files), 8), np.float32), problems=(None,) * len(files))

    encoder = untrained_encoder("x", linker.encoder.text_backbone, image_backbone(Plain()))
    with pytest.raises(FeatureError, match="classifier"):
        Linker(encoder).link(bare(photos))


@pytest.mark.parametrize("suffix", [".html", ".json", ".jsonl", ".md", ".parquet"])
def test_save(linker, photos, tmp_path, suffix):
    (tmp_path / "a.md").write_text("The tabby cat sat up. Nothing else.\n")
    linked = linker.link(read(tmp_path / "a.md"))
    target = tmp_path / f"out{suffix}"
    save(linked, target)
    assert target.stat().st_size > 20
    if suffix == ".html":
        save(linked, target)  # our own page, which nobody changed
        target.write_text(target.read_text() + " ")
    with pytest.raises(OutputError, match="exists"):
        save(linked, target)
    save(linked, target, force=True)
    if suffix == ".json":
        assert [each["id"] for each in json.loads(target.read_text())] == ["a"]
    with pytest.raises(OutputError, match="txt"):
        save(linked, tmp_path / "out.txt")


def test_the_default_model_is_trained_small_and_has_a_card(linker):
    from iconotext.features.model_folder import shipped_folder

    assert linker.encoder.folder == shipped_folder()
    files = {path.name: path.stat().st_size for path in shipped_folder().iterdir()}
    assert sum(files.values()) <= 8_000_000
    assert files["README.md"] > 1000


def test_the_shipped_recipe_made_the_default_model():
    from iconotext.encoders.stored_model import load_model
    from iconotext.features.model_folder import shipped_folder
    from iconotext.recipe import load_recipe

    recipe = load_model(shipped_folder()).recipe
    assert load_recipe("default") == recipe
    assert recipe.linking.bridge > 0


@pytest.mark.slow
def test_other_backbones_mean_the_bridge_and_the_result_says_so(linker, photos):
    untrained = Linker.load("no-training", LinkSettings(cache=False, k=1))
    named = Linker.load(settings=LinkSettings(cache=False, k=1, image="efficientnet-lite0"))
    linked = named.link(bare(photos))
    assert linked.model == "no-training"
    np.testing.assert_array_equal(linked.similarity, untrained.link(bare(photos)).similarity)
    assert np.abs(linked.similarity - linker.link(bare(photos)).similarity).max() > 0.01


def test_a_folder_without_a_model_is_told(tmp_path):
    with pytest.raises(FeatureError, match=str(tmp_path)):
        Linker.load(str(tmp_path))


# --- Why this link.

CAPTIONS = {
    "astronaut": "A smiling astronaut in an orange space suit stands before the flag and a model of the shuttle.",
    "brick": "The path is paved with rows of grey bricks.",
    "camera": "A man in a dark coat looks through a camera on a tripod.",
    "chelsea": "A tabby cat with green eyes and long whiskers lies on a blanket.",
    "clock": "The clock on the wall is blurred by the motion of the camera.",
    "coffee": "On the wooden table stands a red cup of espresso with a spoon on the saucer.",
    "grass": "The lawn is a thick carpet of grass.",
    "hubble_deep_field": "The telescope saw thousands of galaxies in the dark sky.",
    "retina": "The retina of an eye is an orange disc with fine blood vessels.",
    "rocket": "A rocket stands on its launch pad at night between tall towers.",
}


@pytest.fixture(scope="module")
def captioned() -> Document:
    """Ten photographs, each with its sentence."""
    images = []
    for name in CAPTIONS:
        file = io.BytesIO()
        Pillow.fromarray(getattr(photographs, name)()).save(file, "PNG")
        images.append(Image(name, file.getvalue()))
    return Document("captioned", tuple(map(Sentence, CAPTIONS.values())), tuple(images))


@pytest.fixture(scope="module")
def photographer() -> Linker:
    """What knows everyday photographs, as these are."""
    return Linker.load("photographs", LinkSettings(cache=False, k=1))


@pytest.fixture(scope="module")
def explained(photographer, captioned):
    """Each photograph linked to its own sentence, and explained."""
    links = tuple(Link(n, n, 0.5, 0.5, 0.5, {}) for n in range(len(CAPTIONS)))
    linked = LinkedDocument(captioned, links, np.zeros((len(CAPTIONS),) * 2, np.float32), "photographs")
    return photographer.explain(linked)


def taken(weights, share, rng):
    """Rows of what is taken away: nothing, the parts of most weight, then as many at random, ten times."""
    count = max(1, round(share * len(weights)))
    rows = np.zeros((12, len(weights)), bool)
    rows[1, np.argsort(-np.array(weights), kind="stable")[:count]] = True
    for row in rows[2:]:
        row[rng.choice(len(weights), count, replace=False)] = True
    return rows


@pytest.mark.slow
def test_without_what_carries_a_link_less_is_left_than_without_anything_else(photographer, captioned, explained):
    encoded, captions = photographer.encoder.read(captioned), list(CAPTIONS.values())
    images, sentences = encoded.images(), encoded.sentences(captions, range(len(captions)))
    more_words, more_cells = [], []
    for n, link in enumerate(explained.links):
        rng = np.random.default_rng(n)
        spans = [(begin, end) for begin, end, _ in link.explanation.words]
        rows = taken([weight for *_, weight in link.explanation.words], 1 / 3, rng)
        texts = [without(captions[n], [spans[i] for i in np.flatnonzero(row)]) for row in rows]
        scores = encoded.sentences(texts, [n] * len(texts)) @ images[n]
        more_words.append(scores[2:].mean() - scores[1])
        rows = taken([weight for *_, weight in link.explanation.regions], 1 / 4, rng)
        scores = encoded.images(encoded.parts(n).without(rows)) @ sentences[n]
        more_cells.append(scores[2:].mean() - scores[1])
    assert min(more_words) > 0
    assert np.mean(more_cells) > 0.02
    assert sum(np.array(more_cells) > 0) >= 7  # of ten; where another part shows the same, little is lost either way


@pytest.mark.slow
def test_the_word_for_what_is_shown_carries_the_link(explained):
    found = dict(zip(CAPTIONS, explained.links, strict=True))
    for name, expected in {"chelsea": {"cat", "tabby"}, "rocket": {"rocket", "launch", "towers"}}.items():
        heaviest = max(found[name].explanation.words, key=lambda word: word[2])
        assert CAPTIONS[name][slice(*heaviest[:2])] in expected


@pytest.mark.slow
@pytest.mark.parametrize("model", ["default", "no-training"])
def test_explanations_explain_the_matrix_of_the_links(model, captioned):
    linker = Linker.load(model, LinkSettings(cache=False, evidence=("picture",), min_confidence=0))
    encoded = linker.encoder.read(captioned)
    product = encoded.sentences(list(CAPTIONS.values()), range(len(CAPTIONS))) @ encoded.images().T
    np.testing.assert_allclose(product, linker.link(captioned).similarity, atol=2e-6)


@pytest.mark.slow
def test_the_rest_of_the_document_stays_as_it_is(photographer, captioned, explained):
    """Explaining some links of a document gives what explaining all of them does."""
    some = LinkedDocument(captioned, explained.links[3:5], explained.similarity, "default")
    for one, two in zip(photographer.explain(some).links, explained.links[3:5], strict=True):
        for side in ("words", "regions"):
            np.testing.assert_allclose(getattr(one.explanation, side), getattr(two.explanation, side), atol=1e-5)


@pytest.mark.slow
def test_what_was_only_tried_does_not_go_into_the_cache(photos, monkeypatch):
    from iconotext.features import FeatureCache

    kept: list[int] = []
    put = FeatureCache.put

    def counting(self, rows, **kind):
        kept.append(len(rows))
        put(self, rows, **kind)

    linker = Linker.load(settings=LinkSettings(k=1))
    linked = linker.link(bare(photos))
    monkeypatch.setattr(FeatureCache, "put", counting)
    explained = linker.explain(linked)
    assert not any(kept)
    assert all(link.explanation for link in explained.links)


def test_only_picture_evidence_can_be_explained(linker, photos):
    with pytest.raises(ValidationError, match="picture"):
        LinkSettings(evidence=("caption",), explain=True)
    blind = Linker.load(settings=LinkSettings(cache=False, evidence=("caption", "layout")))
    with pytest.raises(SettingError, match="picture"):
        blind.explain(linker.link(bare(photos)))


def test_a_picture_that_went_away_is_told(linker, photos, tmp_path):
    path = tmp_path / "cat.png"
    path.write_bytes((photos / "IMG_2.png").read_bytes())
    linked = linker.link(Document("one", (Sentence("The tabby cat sat up."),), (Image("cat.png", path),)))
    path.unlink()
    with pytest.raises(ImageError, match=r"cat\.png"):
        linker.explain(linked)


@pytest.mark.slow
def test_a_link_of_a_picture_that_nobody_saw_has_no_explanation(linker, photos):
    """Its caption made the link; there is no picture evidence to explain."""
    images = (Image("cat.png", photos / "IMG_2.png"), Image("cup.png", None, caption="A cup of espresso on the table."))
    texts = ("The tabby cat sat up.", "We drank a cup of espresso at the table.", "Nothing else.")
    linked = linker.link(Document("d", tuple(map(Sentence, texts)), images))
    found = {link.image: link.explanation for link in linker.explain(linked).links}
    assert found[0] is not None
    assert found[1] is None


def test_a_model_that_reads_a_table_of_features_explains_the_words_alone(tmp_path):
    from iconotext.corpus.store import read_corpus
    from iconotext.train import train
    from tests.support.training import small_recipe, write_synthetic

    corpus = write_synthetic(tmp_path / "corpus", 20)
    model = train(small_recipe(training={"epochs": 1}), [corpus], tmp_path / "model")
    table = str(corpus.with_name("features.npy"))
    settings = LinkSettings(evidence=("picture",), image=table, cache=False, explain=True)
    linked = Linker.load(str(model), settings).link(next(iter(read_corpus(corpus))))
    assert linked.links
    assert not any(link.explanation.regions for link in linked.links)
    assert any(weight for link in linked.links for *_, weight in link.explanation.words)


@pytest.mark.parametrize("held", [0, 25, 1000])
def test_a_spool_gives_its_items_in_order_wherever_they_lie(held, monkeypatch):
    monkeypatch.setattr(spool, "HELD", held)
    with spool.Spool(iter("abcdef"), lambda _: 10) as items:
        assert len(items) == 6
        assert list(items) == list(items) == list("abcdef")
        assert len(items._held) == min(held // 10, 6)
    with spool.Spool("abc") as items:  # where nobody knows their size
        assert (list(items), items._held) == (list("abc"), [])
