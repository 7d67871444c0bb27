import numpy as np
import pytest
import torch

from iconotext import Document, Image, Linker, LinkSettings, Sentence
from iconotext.errors import FeatureError
from iconotext.features import load_dual_encoder, load_text_backbone, share_space
from iconotext.features.hub_checks import SIDE
from iconotext.features.hub_models import _reduced
from tests.support.hub_models import noise, write_tokenizer

pytestmark = pytest.mark.slow  # the library that made the models takes seconds to import
BROKEN = b"no picture"
TEXTS = ["a cat on the mat", "dog", "", "photo of a dog"]


def tiny_bert(folder, pooling):
    import transformers
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=16, hidden_size=8, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2
    )
    transformers.BertModel(config).save_pretrained(folder / "bert")
    write_tokenizer(folder / "bert")
    word = Transformer(str(folder / "bert"))
    model = SentenceTransformer(modules=[word, Pooling(8, pooling_mode=pooling), Normalize()], device="cpu")
    model.save(str(folder / "model"), create_model_card=False)
    return model


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_a_folder_gives_what_sentence_transformers_gives(tmp_path, pooling):
    model = tiny_bert(tmp_path, pooling)
    backbone = load_text_backbone(str(tmp_path / "model"))
    assert backbone.dim == 8
    assert backbone.name.startswith("model@")
    expected = model.encode(TEXTS, show_progress_bar=False)
    np.testing.assert_allclose(backbone.encode(TEXTS), expected, atol=1e-5)
    assert backbone.encode([]).shape == (0, 8)


def test_given_as_text_it_compares_documents_of_other_languages(tmp_path):
    tiny_bert(tmp_path, "mean")
    sentences = tuple(
        Sentence(f"It-tavla tinqata' għall-{n} darba u wara tiġi llixxata sew mill-mastrudaxxa.") for n in range(4)
    )
    document = Document("guide", sentences, (Image("a.png", noise(0), caption="tavla"),), language="mt")
    chosen = {"evidence": ("picture", "caption"), "k": 1, "min_confidence": 0, "cache": False}
    with_text = Linker.load(settings=LinkSettings(text=str(tmp_path / "model"), **chosen)).link(document)
    assert with_text.notes == ()
    assert set(with_text.links[0].evidence) == {"picture", "caption"}
    english = Linker.load(settings=LinkSettings(**chosen)).link(document)
    assert "in Maltese, which the model does not know" in english.notes[0]
    assert set(english.links[0].evidence) == {"caption"}


def test_both_sides_of_a_clip_like_model(models, tmp_path):
    from sentence_transformers import SentenceTransformer

    made = SentenceTransformer(str(models / "clip"), device="cpu")
    made.save(str(tmp_path / "clip"), create_model_card=False)
    dual = load_dual_encoder(str(tmp_path / "clip"))
    other = load_dual_encoder(str(models / "clip"))
    assert dual.text.name != other.text.name
    assert share_space(dual.text, dual.image)
    np.testing.assert_allclose(dual.text.encode(TEXTS), other.text.encode(TEXTS), atol=1e-5)
    files = [noise(0), BROKEN, noise(1, 300, 90)]
    features = dual.image.encode(files)
    np.testing.assert_allclose(features.pooled, other.image.encode(files).pooled, atol=1e-5)
    assert features.problems == other.image.encode(files).problems
    with pytest.raises(FeatureError, match="no regions"):
        dual.image.encode(files, regions=True)


def test_a_text_model_is_no_dual_encoder(tmp_path):
    tiny_bert(tmp_path, "mean")
    with pytest.raises(FeatureError, match="takes texts but no pictures"):
        load_dual_encoder(str(tmp_path / "model"))


def test_large_pictures_are_reduced_first():
    from PIL import Image as Pillow

    assert _reduced(Pillow.new("RGB", (4000, 1000))).size == (4 * SIDE, SIDE)
    assert _reduced(Pillow.new("RGB", (400, 10))).size == (400, 10)
