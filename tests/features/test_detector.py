"""Tiny detectors of random weights, against the models of transformers called directly."""

import json
import math
import shutil
from importlib import import_module

import numpy as np
import pytest
import torch

from iconotext.errors import FeatureError
from iconotext.features import FeatureCache, hub_models, load_regions
from iconotext.features.hub_models import is_detector, load_detector
from iconotext.images import decode
from iconotext.types import Image
from tests.support.detected_regions import joined
from tests.support.graph_models import change
from tests.support.hub_models import noise

transformers = import_module("transformers")  # with its types mypy would read all of it

LABELS = {i: f"class {i}" for i in range(5)}
RESNET = {"embedding_size": 8, "hidden_sizes": [8, 8, 8, 12], "depths": [1, 1, 1, 1]}
SCALED = {"do_resize": True, "do_rescale": True, "rescale_factor": 1 / 255}
IMAGENET = {"do_normalize": True, "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
EDGES = SCALED | IMAGENET | {"size": {"shortest_edge": 64, "longest_edge": 110}}
PROCESSORS = {
    "yolos": EDGES | {"image_processor_type": "YolosImageProcessor"},
    "deformable_detr": EDGES | {"size": {"shortest_edge": 128, "longest_edge": 200}},
}
FIXED = SCALED | {"do_normalize": False, "size": {"height": 64, "width": 96}}
FIXED |= {"image_processor_type": "RTDetrImageProcessor"}
HYBRID = ["rt_detr", "rt_detr_v2", "d_fine"]
NAMES = ["yolos", "detr", "conditional_detr", "deformable_detr", *HYBRID]
SOFTMAX = {"yolos", "detr"}


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


def build(name):
    """A model with as few weights as its kind can have: 7 queries (YOLOS: 50), 5 classes."""
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    small = heads | {"encoder_layers": 1, "decoder_layers": 2, "num_queries": 7, "d_model": 16, "id2label": LABELS}
    if name == "yolos":
        config = transformers.YolosConfig(
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            image_size=[64, 96],
            patch_size=16,
            num_detection_tokens=50,
            id2label=LABELS,
        )
    elif name in HYBRID:
        config = transformers.AutoConfig.for_model(
            name,
            encoder_hidden_dim=16,
            encoder_in_channels=[8, 8, 12],
            decoder_in_channels=[16, 16, 16],
            num_denoising=0,
            backbone_config=transformers.RTDetrResNetConfig(
                **RESNET, layer_type="basic", out_features=["stage2", "stage3", "stage4"]
            ),
            **small,
        )
    else:
        if name == "deformable_detr":
            small |= {"d_model": 32, "num_feature_levels": 2}
        config = transformers.AutoConfig.for_model(
            name,
            use_timm_backbone=False,
            backbone=None,
            use_pretrained_backbone=False,
            backbone_config=transformers.ResNetConfig(**RESNET, out_features=["stage4"]),
            **small,
        )
    return transformers.AutoModelForObjectDetection.from_config(config)


@pytest.fixture(scope="session")
def detectors(tmp_path_factory):
    """The folder of a detector by its name, made when first asked for."""
    folder = tmp_path_factory.mktemp("detectors")

    def made(name):
        if not (folder / name).exists():
            torch.manual_seed(0)
            build(name).save_pretrained(folder / name)
            settings = PROCESSORS.get(name, FIXED if name in HYBRID else EDGES)
            (folder / name / "preprocessor_config.json").write_text(json.dumps(settings))
        return folder / name

    return made


@pytest.fixture
def copied(detectors, tmp_path):
    """A copy of a detector's folder that a test may change."""
    return lambda name: shutil.copytree(detectors(name), tmp_path / name)


def images_of(files):
    return [Image(source=f"{i}.png", file=file) for i, file in enumerate(files)]


def split(regions):
    """The arrays of each picture."""
    ends = np.cumsum(regions.counts)
    arrays = (regions.features, regions.boxes, regions.concepts, regions.scores)
    return [
        tuple(array[end - count : end] for array in arrays) for end, count in zip(ends, regions.counts, strict=True)
    ]


def pixels_of(folder, file):
    """What the model's own processor makes of a picture alone."""
    processor = transformers.AutoImageProcessor.from_pretrained(folder)
    return processor(images=decode(file), return_tensors="np")["pixel_values"][0]


def expected(folder, name, file, sure):
    """What the model itself says, query by query: (hidden, box, concept, score), best first."""
    model = transformers.AutoModelForObjectDetection.from_pretrained(folder).eval()
    with torch.no_grad():
        output = model(pixel_values=torch.from_numpy(pixels_of(folder, file))[None])
    found = []
    queries = output.logits.shape[1]
    for query in range(queries):
        logits = output.logits[0, query].double().tolist()
        if name in SOFTMAX:
            total = sum(math.exp(v) for v in logits)
            shares = [math.exp(v) / total for v in logits][:5]
        else:
            shares = [1 / (1 + math.exp(-v)) for v in logits]
        x, y, w, h = output.pred_boxes[0, query].tolist()
        box = [min(max(v, 0), 1) for v in (x - w / 2, y - h / 2, x + w / 2, y + h / 2)]
        hidden = output.last_hidden_state[0, output.last_hidden_state.shape[1] - queries + query]
        found.append((hidden.numpy(), box, int(np.argmax(shares)), max(shares)))
    found.sort(key=lambda one: -one[3])
    return [one for i, one in enumerate(found[: hub_models.MAX_REGIONS]) if i == 0 or one[3] >= sure]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_regions_are_what_the_queries_of_the_model_find(detectors, monkeypatch, name):
    folder, files = detectors(name), [noise(0), b"no picture", noise(1, 200, 90), noise(2, 33, 60), noise(3)]
    everything = [expected(folder, name, file, 0) for file in files if len(file) > 20]
    middle = float(np.median([one[3] for some in everything for one in some]))
    for sure in (0.0, middle, 2.0):
        monkeypatch.setattr(hub_models, "MIN_PROBABILITY", sure)
        source = loaded(folder)
        assert source.concepts == tuple(LABELS.values())
        assert source.dim == everything[0][0][0].shape[0]
        regions = joined(source.regions(images_of(files)))
        assert [problem is None for problem in regions.problems] == [True, False, True, True, True]
        assert regions.counts[1] == 0
        assert regions.features.dtype == np.float16
        assert regions.boxes.dtype == regions.scores.dtype == np.float32
        assert regions.concepts.dtype == np.int32
        good = [one for one in split(regions) if len(one[0])]
        for (features, boxes, concepts, scores), oracle in zip(good, everything, strict=True):
            oracle = [one for i, one in enumerate(oracle) if i == 0 or one[3] >= sure]
            # Equal scores may stand in another order, and one at the border may fall to either side.
            assert abs(len(scores) - len(oracle)) <= (sure == middle)
            some = min(len(scores), len(oracle))
            np.testing.assert_allclose(scores[:some], [one[3] for one in oracle[:some]], atol=1e-5)
            assert (np.diff(scores) <= 0).all()
            for i in range(some):
                close = [one for one in oracle if abs(one[3] - scores[i]) < 1e-5]
                gaps = [np.abs(features[i] - one[0]).max() + np.abs(boxes[i] - one[1]).max() for one in close]
                assert min(gaps) < 5e-3
                assert concepts[i] in {one[2] for one in close}


def loaded(folder):
    return load_detector(str(folder), folder)


def test_at_most_36_and_at_least_one_region(detectors, monkeypatch):
    images = images_of([noise(0), noise(1)])
    monkeypatch.setattr(hub_models, "MIN_PROBABILITY", 0.0)
    assert joined(loaded(detectors("yolos")).regions(images)).counts.tolist() == [36, 36]  # of 50 queries
    assert joined(loaded(detectors("detr")).regions(images)).counts.tolist() == [7, 7]
    monkeypatch.setattr(hub_models, "MIN_PROBABILITY", 1.1)
    assert joined(loaded(detectors("yolos")).regions(images)).counts.tolist() == [1, 1]


def test_boxes_lie_within_the_picture(detectors, monkeypatch):
    monkeypatch.setattr(hub_models, "MIN_PROBABILITY", 0.0)
    boxes = joined(loaded(detectors("yolos")).regions(images_of([noise(i) for i in range(4)]))).boxes
    assert ((boxes >= 0) & (boxes <= 1)).all()
    assert (boxes[:, 2:] >= boxes[:, :2]).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["yolos", "detr", "rt_detr"])
def test_a_picture_has_the_same_regions_alone_and_among_others(detectors, name):
    files = [noise(0), noise(1, 200, 90), noise(2, 33, 60), noise(3), noise(4, 90, 200)]
    source = loaded(detectors(name))
    for file, together in zip(files, split(joined(source.regions(images_of(files)))), strict=True):
        for alone, among in zip(split(joined(source.regions(images_of([file]))))[0], together, strict=True):
            np.testing.assert_allclose(alone, among, atol=2e-3)


def test_no_pictures_and_only_broken_ones(detectors):
    source = loaded(detectors("yolos"))
    assert len(source.regions([])) == 0
    regions = joined(source.regions([Image("a"), Image("b", file=b"x")]))
    assert regions.counts.tolist() == [0, 0]
    assert all(regions.problems)


def test_the_name_changes_with_the_weights(detectors, copied):
    folder = copied("yolos")
    torch.manual_seed(1)
    build("yolos").save_pretrained(folder)
    assert loaded(folder).name != loaded(detectors("yolos")).name


def lacking(name):
    return lambda weights: {key: value for key, value in weights.items() if not key.startswith(name)}


def no_number(name):
    return lambda weights: weights | {name: torch.full_like(weights[name], math.nan)}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lacking("bbox_predictor"), r"weights are missing \(bbox_predictor"),
        (no_number("vit.layernorm.weight"), "not finite"),
    ],
)
def test_weights_that_are_missing_or_no_numbers_are_refused(copied, damage, message):
    from safetensors.torch import load_file, save_file

    path = copied("yolos") / "model.safetensors"
    save_file(damage(load_file(path)), path, metadata={"format": "pt"})
    with pytest.raises(FeatureError, match=message):
        loaded(path.parent)


def test_a_detector_without_its_processor_is_one_line(copied):
    folder = copied("yolos")
    (folder / "preprocessor_config.json").unlink()
    with pytest.raises(FeatureError, match=r"preprocessor_config.json is missing"):
        loaded(folder)


def test_only_detectors_are_detectors(detectors, models, tmp_path):
    assert is_detector(detectors("yolos"))
    assert not is_detector(models / "vit")
    assert not is_detector(models / "clip")
    assert not is_detector(tmp_path)
    with pytest.raises(FeatureError, match="nobody/no-such-model: no such model"):
        load_regions("nobody/no-such-model")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": NaN}', '{"architectures": 3}', '{"architectures": null}'])
def test_settings_that_are_damaged(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    try:
        assert not is_detector(tmp_path)
    except FeatureError as error:
        assert "config.json" in str(error)
        assert "\n" not in str(error)


@pytest.mark.slow
def test_a_detector_trained_without_focal_loss_has_a_last_class_for_no_object(copied, monkeypatch):
    monkeypatch.setattr(hub_models, "MIN_PROBABILITY", 0.0)
    folder = copied("rt_detr")
    change(folder / "config.json", use_focal_loss=False)
    regions = joined(loaded(folder).regions(images_of([noise(0)])))
    model = transformers.AutoModelForObjectDetection.from_pretrained(folder).eval()
    with torch.no_grad():
        shares = model(pixel_values=torch.from_numpy(pixels_of(folder, noise(0)))[None]).logits[0].softmax(-1)[:, :4]
    np.testing.assert_allclose(regions.scores, shares.max(1).values.sort(descending=True).values, atol=1e-6)
    assert (regions.concepts < 4).all()


def test_hidden_states_that_are_not_one_a_query_are_refused(detectors):
    class Odd:
        def __call__(self, pixel_values):
            shapes = {"logits": (1, 9, 3), "pred_boxes": (1, 9, 4), "last_hidden_state": (1, 5, 8)}
            return type("Output", (), {name: torch.zeros(shape) for name, shape in shapes.items()})

    processor = transformers.AutoImageProcessor.from_pretrained(detectors("detr"))
    with pytest.raises(FeatureError, match="one hidden state for each query"):
        hub_models.Detector(Odd(), processor, name="odd", concepts=2)


def test_load_regions_takes_a_detector_and_looks_at_each_picture_once(detectors, tmp_path, monkeypatch):
    monkeypatch.setattr(hub_models, "MIN_PROBABILITY", 0.0)
    scores = joined(loaded(detectors("yolos")).regions(images_of([noise(0), noise(1)]))).scores.reshape(2, 36)
    rank = int(np.abs(scores[0] - scores[1]).argmax())  # where one of them stays above, the other below
    monkeypatch.setattr(hub_models, "MIN_PROBABILITY", float(scores[:, rank].mean()))
    cache = FeatureCache(tmp_path / "features.sqlite")
    (tmp_path / "a.png").write_bytes(noise(0))
    images = [
        Image("a", file=tmp_path / "a.png"),
        Image("b", file=b"broken"),
        Image("c", file=noise(1)),
        Image("again", file=noise(0)),
        Image("gone", file=tmp_path / "none.png"),
    ]
    plain = load_regions(str(detectors("yolos")))
    looked: list[str] = []
    original = hub_models.Detector.regions

    def counting(self, images):
        looked.extend(image.source for image in images)
        return original(self, images)

    once = joined(plain.regions(images))
    assert len(set(once.counts[[0, 2]].tolist())) == 2  # ragged
    monkeypatch.setattr(hub_models.Detector, "regions", counting)
    cached = load_regions(str(detectors("yolos")), cache=cache)
    assert (plain.name, plain.dim, plain.concepts) == (cached.name, cached.dim, cached.concepts)
    for asked in (["a", "b", "c", "gone"], ["b", "gone"]):
        found = joined(cached.regions(images))
        assert looked == asked
        looked.clear()
        assert found.problems == once.problems
        np.testing.assert_array_equal(found.counts, once.counts)
        for name in ("features", "boxes", "concepts", "scores"):
            assert getattr(found, name).dtype == getattr(once, name).dtype
            np.testing.assert_allclose(getattr(found, name), getattr(once, name), atol=2e-3)
    assert len(cached.regions([])) == 0


@pytest.mark.parametrize(
    "settings",
    [
        {"size": {"height": 5}},
        {"size": {"height": 0, "width": 5}},
        {"size": {"shortest_edge": -3}},
        {"size": "x"},
        {"size": 5, "do_normalize": True, "image_mean": [1, 2], "image_std": 1},
        {"size": 5, "image_mean": "x", "image_std": 1},
        [],
    ],
)
def test_settings_of_the_processor_that_cannot_be_used(copied, settings):
    folder = copied("detr")
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    with pytest.raises(FeatureError) as error:
        loaded(folder)
    assert "\n" not in str(error.value)


def test_a_picture_that_is_too_large_to_be_taken_as_it_is(copied, monkeypatch):
    folder = copied("detr")
    change(folder / "preprocessor_config.json", do_resize=False)
    monkeypatch.setattr(hub_models, "MAX_PIXELS", 10_000)
    regions = joined(loaded(folder).regions(images_of([noise(0, 200, 90), noise(1, 64, 64)])))
    assert "200 × 90: too large" in regions.problems[0]
    assert regions.problems[1] is None
