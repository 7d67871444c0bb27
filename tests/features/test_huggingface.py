"""Models with a few random weights, built and saved here, loaded as those of the hub are."""

import json

import numpy as np
import pytest
import torch
from feature_pictures import BROKEN, noise

from iconotext.errors import FeatureError
from iconotext.features import load_dual_encoder, load_image_backbone, load_text_backbone, share_space

transformers = pytest.importorskip("transformers")

WORDS = "a cat dog the on mat of photo".split()
VISION = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
SQUARE = {"image_size": 32, "patch_size": 4}


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    labels = {i: f"class {i}" for i in range(5)}
    vit = transformers.ViTConfig(**VISION, **SQUARE, id2label=labels)
    transformers.ViTForImageClassification(vit).save_pretrained(folder / "vit")
    transformers.ViTModel(vit, add_pooling_layer=False).save_pretrained(folder / "vit-without-pooler")
    transformers.ViTModel(vit).save_pretrained(folder / "vit-with-pooler")
    resnet = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 12], depths=[1, 1], id2label=labels)
    transformers.ResNetForImageClassification(resnet).save_pretrained(folder / "resnet")
    transformers.ResNetModel(resnet).save_pretrained(folder / "resnet-without-head")
    for name in ("vit", "vit-without-pooler", "vit-with-pooler", "resnet", "resnet-without-head"):
        save_processor(folder / name, "ViTImageProcessor", size={"height": 32, "width": 32})
    text = VISION | {"vocab_size": 16, "max_position_embeddings": 12, "bos_token_id": 0, "eos_token_id": 1}
    clip = transformers.CLIPConfig(
        text_config=text | {"pad_token_id": 2}, vision_config=VISION | SQUARE, projection_dim=12
    )
    transformers.CLIPModel(clip).save_pretrained(folder / "clip")
    siglip = transformers.SiglipConfig(text_config=text | {"pad_token_id": 2}, vision_config=VISION | SQUARE)
    transformers.SiglipModel(siglip).save_pretrained(folder / "siglip")
    for name in ("clip", "siglip"):
        save_processor(folder / name, "CLIPImageProcessor", size={"shortest_edge": 32}, crop_size=32)
        save_tokenizer(folder / name)
    return folder


def save_processor(folder, kind, **fields):
    fields |= {"image_processor_type": kind, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    fields |= {"do_resize": True, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True}
    fields |= {"do_center_crop": "crop_size" in fields}
    (folder / "preprocessor_config.json").write_text(json.dumps(fields))


def save_tokenizer(folder):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    special = {"<s>": 0, "</s>": 1, "<pad>": 2, "<unk>": 3}
    vocabulary = special | {word: i + 4 for i, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    ).save_pretrained(folder)


FILES = [noise(0), BROKEN, noise(1, 200, 90), noise(2, 33, 60)]


@pytest.mark.parametrize(("name", "dim"), [("vit", 16), ("resnet", 12)])
def test_classifiers(models, name, dim):
    backbone = load_image_backbone(str(models / name))
    assert backbone.classes == tuple(f"class {i}" for i in range(5))
    features = backbone.encode(FILES, regions=True)
    assert features.pooled.shape == (4, dim)
    assert features.regions.shape == (4, 36, dim)
    np.testing.assert_allclose(features.probabilities.sum(1), [1, 0, 1, 1], atol=1e-6)
    assert [problem is None for problem in features.problems] == [True, False, True, True]
    model = transformers.AutoModelForImageClassification.from_pretrained(models / name)
    head = [module for module in model.modules() if isinstance(module, torch.nn.Linear)][-1]
    again = head(torch.from_numpy(features.pooled)).softmax(1).detach().numpy()
    np.testing.assert_allclose(again[[0, 2, 3]], features.probabilities[[0, 2, 3]], atol=1e-5)


def test_resnet_regions_average_to_the_pooled(models):
    """A map of 8 × 8 cells does not divide into 6 × 6, but mean and classes must still belong together."""
    features = load_image_backbone(str(models / "resnet")).encode([noise(0)], regions=True)
    assert features.region_classes.shape == (1, 36)
    assert ((features.region_scores > 0.2) & (features.region_scores <= 1)).all()


@pytest.mark.parametrize(
    ("name", "dim"), [("vit-without-pooler", 16), ("vit-with-pooler", 16), ("resnet-without-head", 12)]
)
def test_models_without_a_classifier(models, name, dim):
    backbone = load_image_backbone(str(models / name))
    features = backbone.encode(FILES, regions=True)
    assert features.pooled.shape == (4, dim)
    assert features.regions.shape == (4, 36, dim)
    assert backbone.classes is features.probabilities is features.region_classes is None
    # A pooler that the folder lacks must not be made up at random.
    np.testing.assert_array_equal(load_image_backbone(str(models / name)).encode(FILES).pooled, features.pooled)


def test_one_picture_alone_and_among_others(models):
    backbone = load_image_backbone(str(models / "vit"))
    together = backbone.encode(FILES)
    np.testing.assert_allclose(backbone.encode(FILES[2:3]).pooled[0], together.pooled[2], atol=1e-6)


@pytest.mark.parametrize("name", ["clip", "siglip"])
def test_dual_encoders(models, name):
    dual = load_dual_encoder(str(models / name))
    assert share_space(dual.text, dual.image)
    assert dual.text.dim == dual.image.dim
    texts = ["a cat on the mat", "dog", "", "the " * 50]
    vectors = dual.text.encode(texts)
    features = dual.image.encode(FILES)
    assert vectors.shape == (4, dual.text.dim)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(features.pooled, axis=1), [1, 0, 1, 1], atol=1e-6)
    for i, text in enumerate(texts):
        np.testing.assert_allclose(dual.text.encode([text])[0], vectors[i], atol=1e-5)
    assert dual.text.encode([]).shape == (0, dual.text.dim)
    assert load_image_backbone(str(models / name)).space == dual.text.space
    with pytest.raises(FeatureError, match="does not tell regions apart"):
        dual.image.encode(FILES, regions=True)


def test_dual_encoder_is_what_transformers_computes(models):
    dual = load_dual_encoder(str(models / "clip"))
    model = transformers.CLIPModel.from_pretrained(models / "clip").eval()
    ids = torch.tensor([[0, 4, 5, 1]])  # <s> a cat </s>
    with torch.no_grad():
        expected = model(input_ids=ids, pixel_values=torch.zeros(1, 3, 32, 32)).text_embeds[0].numpy()
    np.testing.assert_allclose(dual.text.encode(["a cat"])[0], expected, atol=1e-6)


def test_backbones_of_different_folders_share_nothing(models):
    assert not share_space(load_text_backbone(), load_image_backbone())
    assert not share_space(load_text_backbone(), load_dual_encoder(str(models / "clip")).image)


def test_a_vision_model_is_no_dual_encoder(models):
    with pytest.raises(FeatureError, match="no text side"):
        load_dual_encoder(str(models / "vit"))


@pytest.mark.parametrize("load", [load_text_backbone, load_image_backbone, load_dual_encoder])
@pytest.mark.parametrize("name", ["nobody/no-such-model", "no/such/folder", "./none", ""])
def test_a_name_that_cannot_be_had_is_one_line(load, name):
    with pytest.raises(FeatureError, match=r"the model cannot be loaded \(.*give a model's folder") as error:
        load(name)
    assert "\n" not in str(error.value)


def test_a_folder_without_a_model_is_one_line(tmp_path):
    for load in (load_image_backbone, load_dual_encoder):
        with pytest.raises(FeatureError, match="cannot be loaded"):
            load(str(tmp_path))


def test_weights_that_are_missing_are_not_made_up(models, tmp_path):
    from safetensors.torch import load_file, save_file

    for file in (models / "vit").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    weights = load_file(tmp_path / "model.safetensors")
    save_file(
        {key: value for key, value in weights.items() if not key.startswith("classifier")},
        tmp_path / "model.safetensors",
        metadata={"format": "pt"},
    )
    with pytest.raises(FeatureError, match=r"weights are missing \(classifier"):
        load_image_backbone(str(tmp_path))
