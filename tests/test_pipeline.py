from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from skimage import data as photographs

from iconotext import Document, Image, Linker, LinkSettings, Sentence, read, read_all
from iconotext.errors import FeatureError, OutputError
from iconotext.read import Failure


@pytest.fixture(scope="module")
def linker() -> Linker:
    return Linker.load(settings=LinkSettings(cache=False, select="best"))


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from PIL import Image as Pillow

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


def test_same_input_same_output(linker, photos):
    one, two = linker.link(bare(photos)), linker.link(bare(photos))
    assert one.links == two.links
    np.testing.assert_array_equal(one.similarity, two.similarity)


def test_cached_features_give_the_same_links(photos):
    cached = [Linker.load(settings=LinkSettings()).link(bare(photos)) for _ in range(2)]
    assert cached[0].links == cached[1].links
    np.testing.assert_array_equal(cached[0].similarity, cached[1].similarity)


def test_order_of_images_does_not_matter(linker, photos):
    document = bare(photos)
    turned = Document("turned", document.sentences, document.images[::-1])
    links = {(link.sentence, 2 - link.image) for link in linker.link(turned).links}
    assert links == {(link.sentence, link.image) for link in linker.link(document).links}


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


def test_failures_pass_through_and_stop_nothing(linker, tmp_path):
    (tmp_path / "a.md").write_text("A sentence.")
    (tmp_path / "b.md").write_bytes(b"")
    results = list(linker.link_all(read_all([tmp_path])))
    assert [isinstance(result, Failure) for result in results] == [False, True]


def test_a_backbone_without_classifier_cannot_use_the_bridge(linker, photos):
    class Plain:
        name, dim, space, classes = "plain", 8, "own", None

        def encode(self, files, *, regions=False):
            features = linker.image.encode(files)
            return type(features)(features.pooled[:, :8], problems=features.problems)

    with pytest.raises(FeatureError, match="classifier"):
        Linker("x", linker.text, Plain(), LinkSettings()).link(bare(photos))


@pytest.mark.parametrize("suffix", [".html", ".json", ".jsonl", ".md", ".parquet"])
def test_save(linker, photos, tmp_path, suffix):
    (tmp_path / "a.md").write_text("The tabby cat sat up. Nothing else.\n")
    linked = linker.link(read(tmp_path / "a.md"))
    target = tmp_path / f"out{suffix}"
    linked.save(target)
    assert target.stat().st_size > 20
    with pytest.raises(OutputError, match="exists"):
        linked.save(target)
    linked.save(target, force=True)
    if suffix == ".json":
        assert json.loads(target.read_text())["id"] == "a"
    with pytest.raises(OutputError, match="txt"):
        linked.save(tmp_path / "out.txt")


def test_the_default_model_is_trained_small_and_has_a_card(linker):
    from iconotext.embed.folder import default_folder

    assert linker.stored is not None
    assert linker.stored.recipe.linking.bridge > 0
    files = {path.name: path.stat().st_size for path in default_folder().iterdir()}
    assert sum(files.values()) <= 8_000_000
    assert files["README.md"] > 1000


def test_the_shipped_recipe_made_the_default_model(linker):
    from iconotext.recipe import load_recipe

    assert linker.stored is not None
    assert load_recipe("default") == linker.stored.recipe


def test_other_backbones_mean_the_bridge_and_the_result_says_so(linker, photos):
    untrained = Linker.load("no-training", LinkSettings(cache=False, select="best"))
    named = Linker.load(settings=LinkSettings(cache=False, select="best", image="efficientnet-lite0"))
    assert untrained.stored is None
    linked = named.link(bare(photos))
    assert linked.model == "no-training"
    np.testing.assert_array_equal(linked.similarity, untrained.link(bare(photos)).similarity)
    assert np.abs(linked.similarity - linker.link(bare(photos)).similarity).max() > 0.01


def test_a_folder_without_a_model_is_told(tmp_path):
    with pytest.raises(FeatureError, match=str(tmp_path)):
        Linker.load(str(tmp_path))
