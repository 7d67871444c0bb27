"""Small encoders as ONNX graphs, in the layout of the Hugging Face hub; their weights are random.

``write_dual_graphs`` and ``write_sentence_graphs`` make networks that are computed by hand in a line of numpy.
``export_dual`` exports networks of transformers, ``write_models`` makes small ones for all tests.
"""

import json
import warnings

import numpy as np

RNG = np.random.default_rng(0)
WORDS, HIDDEN, DIM, SIDE = 16, 6, 5, 8
EMBEDDINGS = RNG.normal(size=(WORDS, HIDDEN)).astype(np.float32)
TYPES = RNG.normal(size=(2, HIDDEN)).astype(np.float32)
TEXT = RNG.normal(size=(HIDDEN, DIM)).astype(np.float32)
IMAGE = RNG.normal(size=(3 * SIDE * SIDE, DIM)).astype(np.float32)
LONGEST = 12
VOCABULARY = ["a", "cat", "dog", "the", "on", "mat", "of", "photo"]


def text_vector(ids):
    """What the text side of ``write_dual_graphs`` gives for the ids that its mask leaves, with length 1."""
    vector = EMBEDDINGS[ids].sum(0) @ TEXT
    return vector / np.linalg.norm(vector)


def image_vector(pixels):
    """What its image side gives for (3, 8, 8) pixels, with length 1."""
    vector = pixels.reshape(-1) @ IMAGE
    return vector / np.linalg.norm(vector)


def write_settings(folder, **config):
    """Settings, a tokenizer of eight words and a processor that makes pictures of 8 x 8 pixels."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "clip"} | config))
    write_tokenizer(folder)
    change(folder / "tokenizer_config.json", model_max_length=LONGEST)
    save_processor(
        folder, "CLIPImageProcessor", size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE}
    )


def save_processor(folder, kind, **fields):
    fields |= {"image_processor_type": kind, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    fields |= {"do_resize": True, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True}
    fields = {"do_center_crop": "crop_size" in fields} | fields
    (folder / "preprocessor_config.json").write_text(json.dumps(fields))


def write_tokenizer(folder):
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    special = {"<s>": 0, "</s>": 1, "<pad>": 2, "<unk>": 3}
    vocabulary = special | {word: i + 4 for i, word in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    ).save_pretrained(folder)


def change(path, **values):
    """Change settings in a file; None removes one."""
    settings = json.loads(path.read_text()) | values
    path.write_text(json.dumps({name: value for name, value in settings.items() if value is not None}))


def write_dual_graphs(folder, *, kind="clip", precision="fp32", one=False, mask=True, half_inputs=False, batch="b"):
    """A dual encoder.

    Args:
        kind: ``clip`` has ``text_embeds`` and ``image_embeds``, ``siglip`` twice ``pooler_output``.
        precision: fp32, fp16, or quantized by onnxruntime's own tool.
        one: One graph for both sides.
        mask: Whether the text side takes an attention mask.
        half_inputs: Whether pixels and vectors are float16.
    """
    write_settings(folder, model_type=kind)
    names = ("text_embeds", "image_embeds") if kind == "clip" or one else ("pooler_output", "pooler_output")
    text, image = _text(mask, precision, names[0]), _image(half_inputs, precision, names[1], batch)
    suffix = "" if precision == "fp32" else f"_{precision}"
    if one:
        return _save(folder / f"onnx/model{suffix}.onnx", precision, text, image)
    _save(folder / f"onnx/text_model{suffix}.onnx", precision, text)
    return _save(folder / f"onnx/vision_model{suffix}.onnx", precision, image)


def write_sentence_graphs(
    folder, *, output="last_hidden_state", precision="fp32", types=True, pooling="mean", **config
):
    """A sentence encoder whose tokens are rows of ``EMBEDDINGS``, plus the first row of ``TYPES``."""
    write_settings(folder, **{"model_type": "bert"} | config)
    if pooling:
        (folder / "1_Pooling").mkdir(exist_ok=True)
        (folder / "1_Pooling/config.json").write_text(json.dumps({"pooling_mode": pooling}))
    suffix = "" if precision == "fp32" else f"_{precision}"
    _save(folder / f"onnx/model{suffix}.onnx", precision, _tokens(types, output))


def _node(kind, inputs, output, **attributes):
    from onnx import helper

    return helper.make_node(kind, inputs, [output], **attributes)


def _text(mask, precision, output):
    dtype = _dtype(precision)
    nodes = [_node("Gather", ["E", "input_ids"], "rows")]
    if mask:
        nodes += [
            _node("Cast", ["attention_mask"], "seen", to=dtype),
            _node("Unsqueeze", ["seen", "two"], "column"),
            _node("Mul", ["rows", "column"], "kept"),
        ]
    nodes += [
        _node("ReduceSum", ["kept" if mask else "rows", "one"], "summed", keepdims=0),
        _node("MatMul", ["summed", "P"], "projected"),
        _node("Cast", ["projected"], output, to=1),
    ]
    inputs = [("input_ids", 7, ["n", "t"]), *([("attention_mask", 7, ["n", "t"])] if mask else [])]
    constants = {"E": EMBEDDINGS, "P": TEXT, "one": np.array([1]), "two": np.array([2])}
    return nodes, inputs, [(output, 1, ["n", DIM])], constants


def _image(half_inputs, precision, output, batch):
    nodes = [
        _node("Cast", ["pixel_values"], "values", to=_dtype(precision)),
        _node("Reshape", ["values", "flat"], "row"),
        _node("MatMul", ["row", "W"], "features"),
        _node("Cast", ["features"], output, to=10 if half_inputs else 1),
    ]
    kind = 10 if half_inputs else 1
    inputs = [("pixel_values", kind, [batch, 3, SIDE, SIDE])]
    return nodes, inputs, [(output, kind, [batch, DIM])], {"W": IMAGE, "flat": np.array([-1, 3 * SIDE * SIDE])}


def _tokens(types, output):
    nodes = [_node("Gather", ["E", "input_ids"], "rows")]
    if types:
        nodes += [_node("Gather", ["T", "token_type_ids"], "kinds"), _node("Add", ["rows", "kinds"], "tokens")]
    last = "tokens" if types else "rows"
    shape = ["n", "t", HIDDEN]
    if output == "sentence_embedding":
        nodes += [_node("ReduceMax", [last, "one"], "highest", keepdims=0)]
        last, shape = "highest", ["n", HIDDEN]
    nodes += [
        _node("Cast", ["attention_mask"], "seen", to=1),
        _node("ReduceSum", ["seen"], "count", keepdims=0),
        _node("Sub", ["count", "count"], "nothing"),
        _node("Add", [last, "nothing"], output),
    ]
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if types else [])]
    constants = {"E": EMBEDDINGS, "T": TYPES, "one": np.array([1])}
    return nodes, [(name, 7, ["n", "t"]) for name in names], [(output, 1, shape)], constants


def _dtype(precision):
    return 10 if precision == "fp16" else 1


def _save(path, precision, *parts):
    """Write a graph of parts: nodes, inputs, outputs, constants; quantized by onnxruntime's tool."""
    import onnx
    from onnx import helper, numpy_helper

    half = precision == "fp16"
    constants = {name: array for *_, own in parts for name, array in own.items()}
    weights = [
        numpy_helper.from_array(array.astype(np.float16) if half and array.dtype == np.float32 else array, name)
        for name, array in constants.items()
    ]
    inputs = [helper.make_tensor_value_info(*each) for _, given, _, _ in parts for each in given]
    outputs = [helper.make_tensor_value_info(*each) for _, _, given, _ in parts for each in given]
    graph = helper.make_graph([node for own, *_ in parts for node in own], "g", inputs, outputs, weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(made)
    path.parent.mkdir(parents=True, exist_ok=True)
    if precision == "quantized":
        from onnxruntime.quantization import quantize_dynamic

        whole = path.with_name("whole.onnx")
        onnx.save(made, whole)
        quantize_dynamic(whole, path)
        whole.unlink()
    else:
        onnx.save(made, path)
    return path


def export_dual(folder, kind):
    """Export a dual encoder of transformers of random weights, with its settings, and return it."""
    import torch
    import transformers

    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    special = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
    text = sizes | special | {"vocab_size": 16, "max_position_embeddings": LONGEST}
    parts = {"text_config": text, "vision_config": sizes | {"image_size": 32, "patch_size": 4}}
    config = getattr(transformers, f"{kind}Config")(**parts, **({"projection_dim": 12} if kind == "CLIP" else {}))
    config._attn_implementation = "eager"
    model = getattr(transformers, f"{kind}Model")(config).eval()

    class Text(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *given):
            return embedding_of(self.model.get_text_features(*given))

    class Image(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, pixel_values):
            return embedding_of(self.model.get_image_features(pixel_values))

    write_settings(folder)
    model.config.save_pretrained(folder)
    save_processor(folder, "CLIPImageProcessor", size={"shortest_edge": 32}, crop_size=32)
    ids = torch.ones((1, LONGEST), dtype=torch.long)
    outputs = ["text_embeds", "image_embeds"] if kind == "CLIP" else ["pooler_output"] * 2
    given = {"input_ids": ids, "attention_mask": ids} if kind == "CLIP" else {"input_ids": ids}
    export(Text(), folder / "onnx/text_model.onnx", given, outputs[0])
    export(Image(), folder / "onnx/vision_model.onnx", {"pixel_values": torch.zeros(1, 3, 32, 32)}, outputs[1])
    return model


def embedding_of(output):
    """The tensor of get_..._features, which from transformers 5 on is an attribute of an object."""
    return output.pooler_output if hasattr(output, "pooler_output") else output


def export(network, path, given, output):
    """Export a network with a batch, and texts, of any size."""
    import torch

    path.parent.mkdir(parents=True, exist_ok=True)
    axes = {name: {0: "batch"} if name == "pixel_values" else {0: "batch", 1: "tokens"} for name in given}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the exporter is an old one, and that sizes become constants
        torch.onnx.export(
            network,
            tuple(given.values()),
            path,
            input_names=list(given),
            output_names=[output],
            dynamic_axes=axes,
            dynamo=False,
        )


def write_models(folder):
    """Write dual encoders, ``clip`` and ``siglip``, and ResNets."""
    write_dual_graphs(folder / "clip")
    write_dual_graphs(folder / "siglip", kind="siglip")
    write_resnets(folder)


def write_resnets(folder):
    """Write ResNets of random weights, ``resnet`` with a classifier and ``resnet-without-head``."""
    import torch
    import transformers

    torch.manual_seed(0)
    labels = {i: f"class {i}" for i in range(5)}
    config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 12], depths=[1, 1], id2label=labels)
    transformers.ResNetForImageClassification(config).save_pretrained(folder / "resnet")
    transformers.ResNetModel(config).save_pretrained(folder / "resnet-without-head")
    for name in ("resnet", "resnet-without-head"):
        save_processor(
            folder / name,
            "ConvNextImageProcessor",
            size={"shortest_edge": 32},
            crop_pct=0.875,
            resample=3,
            do_center_crop=None,
        )
