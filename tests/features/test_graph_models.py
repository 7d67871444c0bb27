"""Encoders as ONNX graphs: against sums by hand, and against transformers on the same weights."""

import json
import shutil
from io import BytesIO

import numpy as np
import pytest
from PIL import Image as Pillow

from iconotext.encoders.load import load_encoder
from iconotext.errors import FeatureError
from iconotext.features import load_dual_encoder, load_image_backbone, load_text_backbone
from iconotext.features.catalogue import HUB_MODELS
from iconotext.features.graph_files import chosen_graphs, graphs_by_precision
from iconotext.features.graph_inputs import Pixels
from iconotext.features.model_folder import name_and_precision
from tests.support.graph_models import (
    EMBEDDINGS,
    HIDDEN,
    LONGEST,
    SIDE,
    TYPES,
    change,
    embedding_of,
    export,
    export_dual,
    image_vector,
    text_vector,
    write_dual_graphs,
    write_sentence_graphs,
)
from tests.support.images import noise

A_CAT, DOG = [0, 4, 5, 1], [0, 6, 8, 7, 9, 1]
"""Ids of "a cat" and "dog on the mat": the words are numbered from 4 on, between <s> and </s>."""

UNSEEN = 2
"""The id of the padding."""


@pytest.fixture
def clip(tmp_path):
    """A folder with both sides of a dual encoder."""
    write_dual_graphs(tmp_path / "clip")
    return tmp_path / "clip"


@pytest.fixture
def sentences(tmp_path):
    """A folder with a sentence encoder."""
    write_sentence_graphs(tmp_path / "sentences")
    return tmp_path / "sentences"


def square(seed):
    """A picture that no preparation resizes or crops, and its pixels."""
    pixels = np.random.default_rng(seed).integers(0, 256, (SIDE, SIDE, 3), np.uint8)
    return Pillow.fromarray(pixels), pixels


def encoded(picture, tmp_path):
    path = tmp_path / "picture.png"
    picture.save(path)
    return path


@pytest.mark.parametrize("one", [False, True])
@pytest.mark.parametrize(("precision", "most"), [("fp32", 1e-6), ("fp16", 2e-3), ("quantized", 0.05)])
def test_both_sides_are_what_a_sum_by_hand_gives(tmp_path, one, precision, most):
    write_dual_graphs(tmp_path / "clip", precision=precision, one=one)
    both = load_dual_encoder(str(tmp_path / "clip"))
    picture, pixels = square(0)
    values = (pixels / 255 - 0.5) / 0.5
    vectors = both.text.encode(["a cat", "dog on the mat"])
    assert np.abs(vectors - [text_vector(A_CAT), text_vector(DOG)]).max() < most
    image = both.image.encode([encoded(picture, tmp_path), b"no picture"])
    assert np.abs(image.pooled[0] - image_vector(values.transpose(2, 0, 1))).max() < most
    assert image.problems[0] is None
    assert image.problems[1] is not None
    assert both.text.name == both.image.name
    assert both.text.name.endswith(f"/onnx-{precision}")


def test_graphs_may_take_and_give_half_precision(tmp_path):
    write_dual_graphs(tmp_path / "clip", precision="fp16", half_inputs=True)
    picture, pixels = square(1)
    own = load_image_backbone(str(tmp_path / "clip")).encode([encoded(picture, tmp_path)]).pooled
    assert own.dtype == np.float32
    assert np.abs(own[0] - image_vector(((pixels / 255 - 0.5) / 0.5).transpose(2, 0, 1))).max() < 5e-3


@pytest.mark.parametrize("mask", [True, False])
def test_texts_are_padded_only_where_the_graph_was_made_for_it(tmp_path, mask):
    write_dual_graphs(tmp_path / "clip", mask=mask)
    (vector,) = load_text_backbone(str(tmp_path / "clip")).encode(["a cat"])
    padded = A_CAT if mask else A_CAT + [UNSEEN] * (LONGEST - len(A_CAT))
    np.testing.assert_allclose(vector, text_vector(padded), atol=1e-6)


def test_siglip_is_padded_in_spite_of_a_mask_and_read_from_its_pooled_output(tmp_path):
    write_dual_graphs(tmp_path / "siglip", kind="siglip", mask=True)
    (vector,) = load_text_backbone(str(tmp_path / "siglip")).encode(["a cat"])
    np.testing.assert_allclose(vector, text_vector(A_CAT), atol=1e-6)  # the graph leaves the padding out by its mask
    write_dual_graphs(tmp_path / "bare", kind="siglip", mask=False)
    (vector,) = load_text_backbone(str(tmp_path / "bare")).encode(["a cat"])
    np.testing.assert_allclose(vector, text_vector(A_CAT + [UNSEEN] * 8), atol=1e-6)


def test_a_pooled_output_of_clip_is_no_vector_of_the_joint_space(tmp_path):
    write_dual_graphs(tmp_path / "clip", kind="siglip")
    change(tmp_path / "clip/config.json", model_type="clip")
    with pytest.raises(FeatureError, match="its text graph has no text_embeds, but pooler_output"):
        load_dual_encoder(str(tmp_path / "clip"))


def test_long_texts_are_cut_with_their_last_token(clip):
    (vector,) = load_text_backbone(str(clip)).encode(["cat " * 40])
    np.testing.assert_allclose(vector, text_vector([0, *[5] * (LONGEST - 2), 1]), atol=1e-6)


def test_texts_of_gemma_s_tokenizer_are_in_small_letters(tmp_path):
    write_dual_graphs(tmp_path / "siglip", kind="siglip")
    name = str(tmp_path / "siglip")
    large, small = load_text_backbone(name).encode(["A CAT", "a cat"])
    assert np.abs(large - small).max() > 0.01
    change(tmp_path / "siglip/tokenizer_config.json", tokenizer_class="GemmaTokenizer")
    np.testing.assert_array_equal(*load_text_backbone(name).encode(["A CAT", "a cat"]))


@pytest.mark.parametrize("precision", ["fp32", "quantized"])
def test_a_vector_depends_on_no_other_text_or_picture(tmp_path, precision):
    write_dual_graphs(tmp_path / "clip", precision=precision)
    both = load_dual_encoder(str(tmp_path / "clip"))
    texts = ["a cat", "dog on the mat", "photo of the cat", "\ud800", ""] * 20
    together = both.text.encode(texts)
    np.testing.assert_array_equal(together, np.concatenate([both.text.encode([text]) for text in texts]))
    pictures = [noise(seed) for seed in range(20)]
    alone = np.concatenate([both.image.encode([picture]).pooled for picture in pictures])
    np.testing.assert_array_equal(both.image.encode(pictures).pooled, alone)
    assert both.text.encode([]).shape == (0, 5)


def tokens_of(ids, types=True):
    return EMBEDDINGS[ids] + (TYPES[0] if types else 0)


POOLED = {
    "mean": lambda tokens: tokens.mean(0),
    "cls": lambda tokens: tokens[0],
    "max": lambda tokens: tokens.max(0),
    "lasttoken": lambda tokens: tokens[-1],
}


@pytest.mark.parametrize("types", [True, False])
@pytest.mark.parametrize("pooling", POOLED)
def test_tokens_become_a_sentence_as_its_makers_say(tmp_path, pooling, types):
    write_sentence_graphs(tmp_path / "sentences", pooling=pooling, types=types)
    backbone = load_text_backbone(str(tmp_path / "sentences"))
    wanted = POOLED[pooling](tokens_of(A_CAT, types))
    np.testing.assert_allclose(backbone.encode(["a cat"])[0], wanted / np.linalg.norm(wanted), atol=1e-6)
    assert backbone.name.endswith(f"/onnx-fp32/{pooling}")


@pytest.mark.parametrize(
    ("switches", "pooling"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True, "word_embedding_dimension": 6}, "mean"),
    ],
)
def test_older_settings_of_pooling(switches, pooling, sentences):
    (sentences / "1_Pooling/config.json").write_text(json.dumps(switches))
    assert load_text_backbone(str(sentences)).name.endswith(f"/{pooling}")


def test_a_graph_that_pools_itself_is_believed(tmp_path):
    write_sentence_graphs(tmp_path / "sentences", output="sentence_embedding", pooling=None)
    wanted = tokens_of(A_CAT).max(0)
    own = load_text_backbone(str(tmp_path / "sentences")).encode(["a cat"])[0]
    np.testing.assert_allclose(own, wanted / np.linalg.norm(wanted), atol=1e-6)


def test_prefixes_come_from_the_makers_or_the_table(tmp_path):
    folder = tmp_path / "sentences"
    write_sentence_graphs(folder)
    wanted = tokens_of([0, 8, 7, 4, 5, 1]).mean(0)  # "on the a cat"
    prompts = {"prompts": {"query": "on the ", "passage": "of "}, "default_prompt_name": "query"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    own = load_text_backbone(str(folder))
    np.testing.assert_allclose(own.encode(["a cat"])[0], wanted / np.linalg.norm(wanted), atol=1e-6)
    assert own.name.endswith("/on the/mean")
    (folder / "config_sentence_transformers.json").unlink()
    shutil.rmtree(folder / "1_Pooling")
    change(folder / "config.json", _name_or_path="intfloat/multilingual-e5-small")
    assert load_text_backbone(str(folder)).name.endswith("/query/mean")


def test_what_a_sentence_encoder_does_not_say_is_an_error(tmp_path):
    folder = tmp_path / "sentences"
    write_sentence_graphs(folder, pooling=None)
    with pytest.raises(FeatureError, match=r"does not say how .* 1_Pooling/config\.json"):
        load_text_backbone(str(folder))
    (folder / "1_Pooling").mkdir()
    for asked in ({"pooling_mode_mean_sqrt_len_tokens": True}, {"pooling_mode": "weightedmean"}, {}):
        (folder / "1_Pooling/config.json").write_text(json.dumps(asked))
        with pytest.raises(FeatureError, match="asks for an unknown pooling"):
            load_text_backbone(str(folder))
    (folder / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.models.Dense"}]))
    with pytest.raises(FeatureError, match="has a layer Dense outside of its graph"):
        load_text_backbone(str(folder))


# Preparation of pictures: every step again by hand, from the pixels that Pillow resizes.


def prepared(tmp_path, picture, shape=("n", 3, None, None), **settings):
    defaults = {"image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.3, 0.4], "rescale_factor": 1 / 255}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(defaults | settings))
    return Pixels.of(tmp_path, shape)(picture)


def normal(pixels):
    return ((np.asarray(pixels) / 255 - [0.5, 0.4, 0.3]) / [0.2, 0.3, 0.4]).transpose(2, 0, 1)


PICTURE = Pillow.fromarray(np.random.default_rng(5).integers(0, 256, (30, 47, 3), np.uint8))


def test_the_shorter_side_is_resized_and_the_middle_cut_out(tmp_path):
    own = prepared(
        tmp_path,
        PICTURE,
        image_processor_type="CLIPImageProcessor",
        size={"shortest_edge": 12},
        crop_size={"height": 10, "width": 8},
        resample=3,
    )
    # 30 x 47 become 12 x 18 (18.8, rounded down); of 18 columns 8 remain from the fifth on, of 12 rows 10 from the second.
    resized = np.asarray(PICTURE.resize((18, 12), Pillow.Resampling.BICUBIC))
    np.testing.assert_allclose(own, normal(resized[1:11, 5:13]), atol=1e-5)


def test_squashed_to_a_square_with_another_filter(tmp_path):
    own = prepared(tmp_path, PICTURE, size={"height": 9, "width": 7}, resample=2)
    np.testing.assert_allclose(own, normal(PICTURE.resize((7, 9), Pillow.Resampling.BILINEAR)), atol=1e-5)
    square = prepared(tmp_path, PICTURE, size=9, image_processor_type="ViTFeatureExtractor")
    np.testing.assert_allclose(square, normal(PICTURE.resize((9, 9), Pillow.Resampling.BILINEAR)), atol=1e-5)


def test_old_settings_of_clip_are_numbers(tmp_path):
    own = prepared(tmp_path, PICTURE, feature_extractor_type="CLIPFeatureExtractor", size=12, crop_size=12)
    np.testing.assert_allclose(own, normal(PICTURE.resize((18, 12), Pillow.Resampling.BICUBIC))[:, :, 3:15], atol=1e-5)


def test_around_a_small_picture_is_black(tmp_path):
    own = prepared(tmp_path, PICTURE, size={"shortest_edge": 30}, crop_size={"height": 32, "width": 40})
    framed = np.zeros((32, 40, 3))
    framed[1:31] = np.asarray(PICTURE)[:, 3:43]
    np.testing.assert_allclose(own, normal(framed), atol=1e-5)


def test_steps_may_be_left_out(tmp_path):
    raw = prepared(tmp_path, PICTURE, size={"height": 5, "width": 5}, do_normalize=False, resample=0)
    pixels = np.asarray(PICTURE.resize((5, 5), Pillow.Resampling.NEAREST)).transpose(2, 0, 1)
    np.testing.assert_allclose(raw, pixels / 255, atol=1e-6)  # as for MobileCLIP
    untouched = prepared(
        tmp_path, PICTURE, size={"height": 5, "width": 5}, do_normalize=False, do_rescale=False, resample=0
    )
    np.testing.assert_array_equal(untouched, pixels)


def test_the_graph_s_own_size_comes_before_the_settings(tmp_path):
    crop = {"size": {"shortest_edge": 12}, "crop_size": {"height": 12, "width": 12}, "resample": 3}
    own = prepared(tmp_path, PICTURE, (1, 3, 10, 10), image_processor_type="CLIPImageProcessor", **crop)
    np.testing.assert_allclose(own, normal(PICTURE.resize((15, 10), Pillow.Resampling.BICUBIC))[:, :, 2:12], atol=1e-5)
    squashed = prepared(tmp_path, PICTURE, (1, 3, 10, 10), size={"height": 12, "width": 12}, resample=3)
    np.testing.assert_allclose(squashed, normal(PICTURE.resize((10, 10), Pillow.Resampling.BICUBIC)), atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": {"shortest_edge": 8}}, "pictures would differ in size"),
        ({"size": {"longest_edge": 8}}, "'height' is missing"),
        ({"size": {"height": 8, "width": 8, "depth": 8}}, "cannot be followed"),
        ({"size": {"height": 0, "width": 8}}, "expected 1 to 2048 pixels"),
        ({"size": {"height": 10**9, "width": 8}}, "expected 1 to 2048 pixels"),
        ({}, "'size' is missing"),
        ({"do_resize": False}, "at their own sizes"),
        ({"size": {"height": 8, "width": 8}, "do_pad": True}, "asks for do_pad"),
        ({"size": {"height": 8, "width": 8}, "image_std": [0.5, 0, 0.5]}, "cannot be followed"),
        ({"size": {"height": 8, "width": 8}, "image_mean": [0.5]}, "each of three colours"),
        ({"size": {"height": 8, "width": 8}, "resample": 77}, "77"),
    ],
)
def test_settings_that_cannot_be_followed(tmp_path, settings, message):
    with pytest.raises(FeatureError, match=message):
        prepared(tmp_path, PICTURE, **settings)


def test_a_long_narrow_picture_costs_little(tmp_path, clip):
    change(clip / "preprocessor_config.json", size={"shortest_edge": 2048})
    narrow = encoded(Pillow.new("RGB", (1, 2000)), tmp_path)
    (problem,) = load_image_backbone(str(clip)).encode([narrow]).problems
    assert problem is not None
    assert "too long and narrow for this model" in problem


# Files and names.


def test_which_graphs_there_are_and_which_one_is_taken():
    names = [
        "onnx/model.onnx",
        "onnx/text_model.onnx",
        "onnx/vision_model.onnx",
        "onnx/model_fp16.onnx",
        "onnx/text_model_q4.onnx",
        "model_quantized.onnx",
        "onnx/decoder_model.onnx",
        "onnx/deep/model_int8.onnx",
    ]
    assert graphs_by_precision(names) == {
        "fp32": {"text": "onnx/text_model.onnx", "image": "onnx/vision_model.onnx"},
        "fp16": {"all": "onnx/model_fp16.onnx"},
        "quantized": {"all": "model_quantized.onnx"},
    }
    assert chosen_graphs("m", names, "")[0] == "fp32"
    assert chosen_graphs("m", names[3:4], "")[0] == "fp16"
    with pytest.raises(FeatureError, match=r"^m: has no graph with the precision fp32; .*: m:quantized or m:fp16$"):
        chosen_graphs("m", names[3:], "")
    with pytest.raises(FeatureError, match="m: has no ONNX graph of an encoder"):
        chosen_graphs("m", names[6:], "")


def test_a_name_ends_with_its_precision(tmp_path):
    folder = tmp_path / "clip"
    write_dual_graphs(folder)
    write_dual_graphs(folder, precision="quantized")
    names = [load_text_backbone(f"{folder}{end}").name.rpartition("/")[2] for end in ("", ":fp32", ":quantized")]
    assert names == ["onnx-fp32", "onnx-fp32", "onnx-quantized"]
    with pytest.raises(FeatureError, match=r"has no graph with the precision fp16; .*:fp32 or .*:quantized$"):
        load_dual_encoder(f"{folder}:fp16")
    assert name_and_precision("org/model:q4f16") == ("org/model", "q4f16")
    assert name_and_precision("no model:q4") == ("no model:q4", "")


def test_a_name_changes_with_the_weights(clip):
    before = load_text_backbone(str(clip)).name
    graph = clip / "onnx/text_model.onnx"
    graph.write_bytes(graph.read_bytes() + b"\x3a\x00")  # an empty graph behind the graph: ignored, and another file
    assert load_text_backbone(str(clip)).name != before


def missing(name):
    return lambda folder: (folder / name).unlink()


def text_for(name, text):
    return lambda folder: (folder / name).write_text(text)


def elsewhere(name):
    def link(folder):
        outside = folder.parent / "outside"
        (folder / name).rename(outside)
        (folder / name).symlink_to(outside)

    return link


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (missing("tokenizer.json"), "tokenizer.json: is missing"),
        (missing("preprocessor_config.json"), "preprocessor_config.json: is missing"),
        (missing("onnx/vision_model.onnx"), "has no ONNX graph of an encoder"),
        (text_for("tokenizer.json", "{}"), "tokenizer.json: cannot be read"),
        (text_for("config.json", "[]"), "config.json: holds a list, expected a dict"),
        (text_for("config.json", "{"), "config.json: cannot be read .not JSON"),
        (text_for("onnx/text_model.onnx", "no graph"), r"text_model\.onnx: cannot be opened .*: fetch the model again"),
        (text_for("tokenizer_config.json", "{}"), "do not say how many tokens a text may have"),
        (elsewhere("onnx/text_model.onnx"), "is a link to a file outside of the model's folder"),
        (elsewhere("tokenizer.json"), "is a link to a file outside of the model's folder"),
        (elsewhere("preprocessor_config.json"), "is a link to a file outside of the model's folder"),
    ],
)
def test_files_that_are_missing_or_wrong_are_one_line(tmp_path, damage, message, clip):
    change(clip / "config.json", model_type="other")
    damage(clip)
    with pytest.raises(FeatureError, match=message) as error:
        load_dual_encoder(f"{tmp_path / 'clip'}:fp32")
    assert "\n" not in str(error.value)


FILES = {
    "config.json": "model_type text_config max_position_embeddings pad_token_id _name_or_path",
    "tokenizer_config.json": "tokenizer_class do_lower_case pad_token model_max_length",
    "preprocessor_config.json": "image_processor_type feature_extractor_type do_resize size resample do_center_crop "
    "crop_size do_rescale rescale_factor do_normalize image_mean image_std",
    "sentence_bert_config.json": "max_seq_length",
    "config_sentence_transformers.json": "prompts default_prompt_name",
    "1_Pooling/config.json": "pooling_mode pooling_mode_cls_token include_prompt",
    "modules.json": "",
}
"""Files of settings, and what the program reads in each."""

VALUES: tuple[object, ...] = (
    None,
    True,
    0,
    -1,
    2**70,
    1e300,
    "",
    "query",
    [],
    [1, 2, 3],
    [{"type": 3}],
    {},
    {"query": {}},
    {"shortest_edge": []},
)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_no_settings_break_the_program(tmp_path, file, sentences):
    """Whatever stands in a file of settings, it is followed or is one line."""
    write_dual_graphs(tmp_path / "clip", mask=False)
    loaders = {"clip": load_dual_encoder, "sentences": load_text_backbone}
    outcomes = set()
    for folder, load in loaders.items():
        path = tmp_path / folder / file
        before = json.loads(path.read_text()) if path.is_file() else {}
        path.parent.mkdir(exist_ok=True)
        for content in [*VALUES, *({**before, key: value} for key in FILES[file].split() for value in VALUES)]:
            path.write_text(json.dumps(content))
            try:
                with np.errstate(all="ignore"):
                    load(str(tmp_path / folder))
                outcomes.add("followed")
            except FeatureError as error:
                assert "\n" not in str(error)
                outcomes.add("refused")
    assert outcomes == {"followed", "refused"}


def test_a_graph_that_takes_what_is_not_known(sentences):
    import onnx

    path = sentences / "onnx/model.onnx"
    graph = onnx.load(path)
    graph.graph.input.append(onnx.helper.make_tensor_value_info("position_ids", 7, ["n", "t"]))
    onnx.save(graph, path)
    with pytest.raises(FeatureError, match="its graph takes position_ids, which is not known here"):
        load_text_backbone(str(sentences))


def test_a_graph_whose_numbers_are_not_finite(clip):
    import onnx
    from onnx import numpy_helper

    path = clip / "onnx/text_model.onnx"
    graph = onnx.load(path)
    (weight,) = (each for each in graph.graph.initializer if each.name == "P")
    weight.CopyFrom(numpy_helper.from_array(np.full((HIDDEN, 5), np.inf, np.float32), "P"))
    onnx.save(graph, path)
    with pytest.raises(FeatureError, match="its graph gives numbers that are not finite; take another precision"):
        load_text_backbone(str(clip))


@pytest.mark.parametrize(("axes", "shape"), [([0, 1], r"\(\)"), ([0], r"\(5,\)")])
def test_a_graph_that_gives_no_row(axes, shape, clip):
    import onnx
    from onnx import helper, numpy_helper

    path = clip / "onnx/text_model.onnx"
    graph = onnx.load(path)
    graph.graph.node[-1].output[0] = "before"
    graph.graph.node.append(helper.make_node("ReduceSum", ["before", "axes"], ["text_embeds"], keepdims=0))
    graph.graph.initializer.append(numpy_helper.from_array(np.array(axes), "axes"))
    graph.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(graph, path)
    with pytest.raises(FeatureError, match=f"its graph gives an array of the shape {shape} for one input"):
        load_text_backbone(str(clip))


def test_a_prefix_without_end_is_refused(sentences):
    prompts = {"prompts": {"query": "a" * 1001}, "default_prompt_name": "query"}
    (sentences / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    with pytest.raises(FeatureError, match="puts 1,001 characters before each text"):
        load_text_backbone(str(sentences))


def test_weights_beside_a_graph_stay_in_its_folder(clip):
    import onnx

    path = clip / "onnx/text_model.onnx"
    (wanted,) = load_text_backbone(str(clip)).encode(["a cat"])
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="text_model.onnx_data", size_threshold=64)
    np.testing.assert_array_equal(load_text_backbone(str(clip)).encode(["a cat"])[0], wanted)
    elsewhere("onnx/text_model.onnx_data")(clip)
    with pytest.raises(FeatureError, match=r"onnx_data: is a link to a file outside of the model's folder"):
        load_text_backbone(str(clip))
    (clip / "onnx/text_model.onnx_data").unlink()
    with pytest.raises(FeatureError, match=r"text_model\.onnx: cannot be opened"):
        load_text_backbone(str(clip))


# As a model, and beside transformers.


def test_a_model_may_compare_captions_with_another_encoder(clip, sentences):
    alone = load_encoder(str(clip), cache=False)
    assert alone.text_backbone is alone.reader
    encoder = load_encoder(str(clip), text=str(sentences), cache=False)
    assert encoder.text_backbone.dim == HIDDEN
    assert encoder.reader.dim == encoder.dim == 5
    np.testing.assert_array_equal(encoder.encode_sentences(["a cat"]), alone.encode_sentences(["a cat"]))


def test_a_sentence_encoder_is_no_model_and_no_image_encoder(sentences):
    with pytest.raises(FeatureError, match="has no text side and image side"):
        load_dual_encoder(str(sentences))
    with pytest.raises(FeatureError, match="its graph takes no pixel_values"):
        load_image_backbone(str(sentences))


def test_an_english_model_of_the_table_knows_that_it_is(clip):
    assert load_text_backbone(str(clip)).languages is None
    change(clip / "config.json", _name_or_path="openai/clip-vit-base-patch32")
    assert load_text_backbone(str(clip)).languages == frozenset(("en",))


def test_names_of_the_table_state_a_precision():
    assert all(name_and_precision(row.name)[1] in ("fp32", "fp16", "quantized") for row in HUB_MODELS)
    assert {row.megabytes > 0 for row in HUB_MODELS} == {True}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["CLIP", "Siglip"])
def test_an_export_gives_what_transformers_gives(tmp_path, kind):
    import torch
    import transformers

    model = export_dual(tmp_path / "dual", kind)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "dual", local_files_only=True)
    texts = ["a cat", "dog on the mat", "the photo of a dog on the mat of the cat on the dog", "unknown"]
    graphs, length = load_dual_encoder(str(tmp_path / "dual")), {"max_length": LONGEST, "truncation": True}
    for text, own in zip(texts, graphs.text.encode(texts), strict=True):
        # SigLIP learned from texts of full length, without a mask.
        given = tokenizer([text], return_tensors="pt", padding=kind == "Siglip" and "max_length", **length)
        names = ("input_ids",) if kind == "Siglip" else ("input_ids", "attention_mask")
        with torch.inference_mode():
            wanted = embedding_of(model.get_text_features(**{name: given[name] for name in names}))[0].numpy()
        np.testing.assert_allclose(own, wanted / np.linalg.norm(wanted), atol=1e-5)
    processor = transformers.AutoImageProcessor.from_pretrained(tmp_path / "dual", local_files_only=True)
    for picture in (noise(0), noise(1, (200, 90)), noise(2, (33, 60))):
        pixels = processor(images=Pillow.open(BytesIO(picture)).convert("RGB"), return_tensors="pt")
        with torch.inference_mode():
            wanted = embedding_of(model.get_image_features(**pixels))[0].numpy()
        own = graphs.image.encode([picture]).pooled[0]
        np.testing.assert_allclose(own, wanted / np.linalg.norm(wanted), atol=1e-4)


@pytest.mark.slow
def test_an_export_of_a_sentence_encoder_gives_what_sentence_transformers_gives(tmp_path):
    import torch
    import transformers

    write_sentence_graphs(tmp_path / "graphs")
    config = transformers.BertConfig(
        vocab_size=16,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=LONGEST,
    )
    torch.manual_seed(0)
    bert = transformers.BertModel(config, add_pooling_layer=False).eval()
    bert.config._attn_implementation = "eager"

    class Tokens(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = bert

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state

    names = ("input_ids", "attention_mask", "token_type_ids")
    given = {name: torch.ones((1, 4), dtype=torch.long) for name in names}
    ids = [A_CAT, DOG]
    wanted = np.stack([bert(torch.tensor([each])).last_hidden_state[0].mean(0).detach().numpy() for each in ids])
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    export(Tokens(), tmp_path / "graphs/onnx/model.onnx", given, "last_hidden_state")
    own = load_text_backbone(str(tmp_path / "graphs")).encode(["a cat", "dog on the mat"])
    np.testing.assert_allclose(own, wanted, atol=1e-5)
