"""Models of strangers: a folder that tries to run code, and that no call of ours lets it."""

from __future__ import annotations

import ast
import json
import os
import pickle
import shutil
import socket
import sys
from pathlib import Path

import numpy as np
import pytest

import iconotext
from iconotext.encoders.relation_model import load_relation_model, relations_folder
from iconotext.encoders.stored_model import WEIGHTS, load_model
from iconotext.errors import CorpusError, FeatureError, TrainingError
from iconotext.features import load_dual_encoder, load_image_backbone, load_regions, load_text_backbone
from iconotext.features.feature_table import load_feature_table
from iconotext.features.model_folder import shipped_folder
from iconotext.features.runtime import open_graph
from iconotext.features.tokenizer_files import may_try_every_way
from iconotext.train.checkpoint import CHECKPOINT, load_checkpoint
from tests.support.graph_models import write_sentence_graphs

SOURCE = Path(iconotext.__file__).parent

WANTED = {
    "torch.load": {"weights_only": True},
    "np.load": {"allow_pickle": False},
}
"""What calls must say, whatever the default of the library."""

LOADERS_OF_OTHERS = {"from_pretrained", "SentenceTransformer"}
FORBIDDEN = {
    "eval",
    "exec",
    "pickle.load",
    "pickle.loads",
    "yaml.load",
    "joblib.load",
    "np.lib.format.open_memmap",
    "torch.hub.load",
}
OURS = {
    "system/worker.py": {"pickle.load"},  # what our own process that reads documents says
    "system/spool.py": {"pickle.load"},  # a file without a name that this process wrote itself
    "scale/on_ray.py": {"pickle.loads"},  # what the program that began the tasks sends; Ray pickles them all
}


def calls(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


@pytest.mark.slow
def test_every_call_that_loads_says_that_it_runs_nothing():
    wrong, seen = [], set()
    for path in sorted(SOURCE.rglob("*.py")):
        for name, node in calls(path):
            where = f"{path.relative_to(SOURCE).as_posix()}:{node.lineno}: {name}"
            last = name.rsplit(".", 1)[-1]
            if name in FORBIDDEN - OURS.get(path.relative_to(SOURCE).as_posix(), set()) or last in LOADERS_OF_OTHERS:
                wrong.append(where)
            if (wanted := WANTED.get(name, WANTED.get(last))) is None:
                continue
            seen.add(name if name in WANTED else last)
            said = {word.arg: getattr(word.value, "value", None) for word in node.keywords}
            wrong += [
                f"{where} without {key}={value}" for key, value in wanted.items() if said.get(key, "") is not value
            ]
    assert wrong == []
    assert seen == set(WANTED)


class Trap:
    """Code in a folder that leaves a mark when it runs, a module that an attacker may name, and weights to pickle."""

    def __init__(self, folder):
        self.mark = folder / "ran"
        self.code = f"open({str(self.mark)!r}, 'w').close()\nclass Payload:\n    pass\n"
        mark = str(self.mark)

        class Bomb:
            def __reduce__(self):
                return open, (mark, "w")

        self.weights = {"weight": Bomb()}

    def pickled(self):
        return pickle.dumps(self.weights)


def change(path, **values):
    path.write_text(json.dumps((json.loads(path.read_text()) if path.is_file() else {}) | values))


def settings(name, files, *, code=False):
    """An attack by files of settings: by the values that a file gets, or by its text; ``code``: with code beside them."""

    def write(folder, trap):
        if code:
            (folder / "evil.py").write_text(trap.code)
        for file, content in files.items():
            if isinstance(content, dict):
                change(folder / file, **content)
            else:
                (folder / file).write_text(content)

    write.__name__ = name
    return write


def nested(*names):
    return settings(f"nested {names[0]}", dict.fromkeys(names, '{"a":' * 50_000 + "1" + "}" * 50_000))


def no_settings(text):
    names = ("config.json", "modules.json", "tokenizer.json", "sentence_bert_config.json")
    return settings(f"settings {text[:20]}", dict.fromkeys(names, text))


def number(**values):
    """An attack by one setting of ``config.json``."""
    return settings(" ".join(f"{name}={value}" for name, value in values.items()), {"config.json": values})


def tokens(**values):
    """An attack by parts of ``tokenizer.json``."""
    return settings(f"tokenizer {next(iter(values))} {str(values)[:40]}", {"tokenizer.json": values})


def split_by(expression):
    return tokens(
        pre_tokenizer={"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}
    )


def modules(*kinds):
    named = [{"idx": i, "name": str(i), "path": "", "type": kind} for i, kind in enumerate(kinds)]
    files = {"modules.json": json.dumps(named), "sentence_bert_config.json": "{}"}
    return settings(f"modules {' '.join(kinds)}", files, code=True)


def pickled_as_safetensors(folder, trap):
    (folder / "model.safetensors").write_bytes(trap.pickled())


def weights_of_another_shape(folder, trap):
    from safetensors.torch import load_file, save_file

    if not (folder / "model.safetensors").exists():
        return  # graphs have theirs inside
    weights = {name: tensor.flatten()[:1].clone() for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def links_out(folder, trap):
    secret = folder.parent / "secret"
    secret.write_text("topsecret")
    for name in ("config.json", "tokenizer.json", "vocab.txt", "special_tokens_map.json", "model.safetensors"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(secret)


def a_link_to_itself(folder, trap):
    for name in ("tokenizer.json", "model.safetensors"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(folder / name)


def pickles_of_all_names(folder, trap):
    (folder / "model.safetensors").unlink(missing_ok=True)
    for name in ("pytorch_model.bin", "model.pt", "model.pth", "weights.pkl", "model.ckpt", "training_args.bin"):
        (folder / name).write_bytes(trap.pickled())


AUTO = dict.fromkeys(("AutoConfig", "AutoModel", "AutoModelForImageClassification"), "evil.Payload")
PROCESSOR = {
    "image_processor_type": "Payload",
    "auto_map": {"AutoImageProcessor": "evil.Payload", "AutoProcessor": "evil.Payload"},
}
TOKENIZER = {
    "tokenizer_class": "Payload",
    "auto_map": {"AutoTokenizer": ["evil.Payload", "evil.Payload"]},
    "tokenizer_file": "../../../../etc/passwd",
    "vocab_file": "/etc/passwd",
}
HOSTILE = [
    links_out,
    a_link_to_itself,
    nested("config.json"),
    nested("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    nested("preprocessor_config.json", "processor_config.json", "generation_config.json"),
    nested("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"),
    pickles_of_all_names,
    settings(
        "own code",
        {"config.json": {"auto_map": AUTO, "model_type": "evil-model", "architectures": ["Payload"]}},
        code=True,
    ),
    settings("own code for a known type", {"config.json": {"auto_map": AUTO, "hidden_act": "evil.Payload"}}, code=True),
    settings("own processor", {"preprocessor_config.json": PROCESSOR}, code=True),
    settings("own tokenizer", {"tokenizer_config.json": TOKENIZER}, code=True),
    pickled_as_safetensors,
    modules("evil.Payload"),
    modules("sentence_transformers.models.Transformer", "this.Payload"),
    modules(""),
    settings("damaged tokenizer", {"tokenizer.json": '{"version": "1.0", "model": {"type": "Evil"}}'}),
    weights_of_another_shape,
    no_settings(""),
    no_settings("[]"),
    no_settings("{}"),
    no_settings('"a"'),
    no_settings("[1]"),
    no_settings("[[[["),
    no_settings('[{"type": 3}]'),
    no_settings('{"model_type": ["bert"]}'),
]
LOADERS = [load_text_backbone, load_image_backbone, load_dual_encoder, load_regions]


@pytest.fixture
def watched(monkeypatch):
    """Nothing goes to the network, no question is asked, and no module is imported that only an attacker names."""
    tried = []

    def refuse(*given, **named):
        tried.append(given)
        raise OSError("no network in this test")

    for owner, name in ((socket, "getaddrinfo"), (socket, "create_connection"), (socket.socket, "connect")):
        monkeypatch.setattr(owner, name, refuse)
    monkeypatch.setattr("builtins.input", refuse)
    monkeypatch.delitem(sys.modules, "this", raising=False)
    yield tried
    assert tried == []
    assert not {"this", "evil"} & set(sys.modules)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["resnet", "clip", "sentences"])
@pytest.mark.parametrize("attack", HOSTILE, ids=lambda attack: attack.__name__)
@pytest.mark.filterwarnings("ignore")  # of libraries, about what they find
def test_a_hostile_model_is_refused_or_harmless(models, tmp_path, monkeypatch, watched, attack, kind):
    folder, trap = tmp_path / "model", Trap(tmp_path)
    if kind == "sentences":
        write_sentence_graphs(folder)
    else:
        shutil.copytree(models / kind, folder)
    attack(folder, trap)
    monkeypatch.chdir(folder)  # a module of this name could be found here, too
    for load in LOADERS:
        try:
            backbone = load(str(folder))
            if load is load_text_backbone:
                backbone.encode(["a cat"])
        except FeatureError as error:
            assert "\n" not in str(error)
            assert "topsecret" not in str(error)
    assert not trap.mark.exists()


def test_the_unharmed_models_load(models, tmp_path, watched):
    write_sentence_graphs(tmp_path / "sentences")
    assert load_text_backbone(str(tmp_path / "sentences")).encode(["a cat"]).shape == (1, 6)
    load_image_backbone(str(models / "resnet"))
    load_dual_encoder(str(models / "clip"))


def test_the_trap_goes_off_where_a_pickle_is_loaded(tmp_path):
    """Else the tests here would prove nothing."""
    trap = Trap(tmp_path)
    pickle.loads(trap.pickled())["weight"].close()
    assert trap.mark.exists()


def test_objects_in_arrays_are_not_read(tmp_path):
    trap = Trap(tmp_path)
    bomb = np.empty(1, object)
    bomb[0] = pickle.loads  # any object will do: it is refused before anything is read
    np.save(tmp_path / "features.npy", bomb, allow_pickle=True)
    (tmp_path / "id2row.json").write_text('{"a": 0}')
    with pytest.raises(CorpusError, match="not an array of numbers"):
        load_feature_table(tmp_path / "features.npy")
    (tmp_path / "features.npy").write_bytes(trap.pickled())
    with pytest.raises(CorpusError, match="not an array of numbers"):
        load_feature_table(tmp_path / "features.npy")
    assert not trap.mark.exists()


def test_a_checkpoint_of_a_stranger_is_damaged(tmp_path):
    import torch

    trap = Trap(tmp_path)
    torch.save(trap.weights, tmp_path / CHECKPOINT)
    with pytest.raises(TrainingError, match="damaged"):
        load_checkpoint(tmp_path)
    (tmp_path / CHECKPOINT).write_bytes(trap.pickled())
    with pytest.raises(TrainingError, match="damaged"):
        load_checkpoint(tmp_path)
    assert not trap.mark.exists()
    assert os.listdir(tmp_path) == [CHECKPOINT]


def header(change):
    """An attack by the header of the weights."""

    def write(folder, trap):
        data = (folder / "model.safetensors").read_bytes()
        size = int.from_bytes(data[:8], "little")
        entries = json.loads(data[8 : 8 + size])
        change([entry for name, entry in entries.items() if name != "__metadata__"])
        text = json.dumps(entries).encode()
        (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])

    return write


def overlapping(entries):
    for entry in entries:
        entry["data_offsets"] = entries[0]["data_offsets"]


def longer_than_the_file(folder, trap):
    (folder / "model.safetensors").write_bytes((2**62).to_bytes(8, "little") + b"{}")


def weights_that_are_none(value):
    def write(folder, trap):
        from safetensors.torch import load_file, save_file

        weights = load_file(folder / "model.safetensors")
        next(each for each in weights.values() if each.is_floating_point()).view(-1)[-1] = value
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

    write.__name__ = f"a weight of {value}"
    return write


def endless_settings(name):
    def write(folder, trap):
        with (folder / name).open("wb") as file:
            file.truncate(2**30)  # takes no room on the disk

    write.__name__ = f"endless {name}"
    return write


EXPENSIVE = [
    (endless_settings("tokenizer.json"), "larger than any tokenizer"),
    (endless_settings("config.json"), "larger than any file of settings"),
    (endless_settings("tokenizer_config.json"), "larger than any file of settings"),
    (number(layer_norm_eps=float("nan")), "NaN is not a number"),
    (split_by("(a|aa)+$"), "may take endless time"),
    (split_by(r"(?:[ab]*\d)*c"), "may take endless time"),
    (
        tokens(
            normalizer={
                "type": "Sequence",
                "normalizers": [{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}] * 40,
            }
        ),
        "short texts endless",
    ),
    (tokens(normalizer={"type": "Prepend", "prepend": "a" * 10_000}), "short texts endless"),
    (
        tokens(
            post_processor={
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}] * 100,
                "pair": [],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}},
            }
        ),
        "short texts endless",
    ),
]


@pytest.mark.parametrize(("attack", "said"), EXPENSIVE, ids=lambda value: getattr(value, "__name__", ""))
def test_a_small_model_cannot_cost_much(tmp_path, watched, attack, said):
    folder = tmp_path / "model"
    write_sentence_graphs(folder)
    attack(folder, Trap(tmp_path))
    with pytest.raises(FeatureError) as error:
        load_text_backbone(str(folder))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("attack", "said"),
    [
        (header(overlapping), "offset"),
        (header(lambda entries: entries[0].update(shape=[2**40, 2**40])), "overflow"),
        (longer_than_the_file, "too large"),
        (weights_that_are_none(float("nan")), "not finite"),
        (weights_that_are_none(float("inf")), "not finite"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_so_for_the_weights_of_a_resnet(models, tmp_path, attack, said):
    shutil.copytree(models / "resnet-without-head", tmp_path / "model")
    attack(tmp_path / "model", Trap(tmp_path))
    with pytest.raises(FeatureError) as error:
        load_image_backbone(str(tmp_path / "model"))
    assert said in str(error.value).lower()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("folder", "load"), [(shipped_folder, load_model), (relations_folder, load_relation_model)])
def test_a_model_with_a_weight_that_is_no_finite_number(tmp_path, folder, load, value):
    from safetensors import safe_open
    from safetensors.numpy import save_file

    shutil.copytree(folder(), tmp_path / "model")
    with safe_open(tmp_path / "model" / WEIGHTS, framework="numpy") as file:
        weights = {name: file.get_tensor(name).copy() for name in file.keys()}  # noqa: SIM118 - no mapping
        about = file.metadata()
    max(weights.values(), key=lambda array: array.size).flat[-1] = value
    save_file(weights, tmp_path / "model" / WEIGHTS, about)
    with pytest.raises(FeatureError, match=r"weights\.safetensors: .*has numbers that are not finite"):
        load(tmp_path / "model")


@pytest.mark.parametrize(
    ("expression", "dangerous"),
    [
        (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", False),  # GPT-2
        (r"(?i:'s|'t|'re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+", False),  # Llama 3
        (r" ?[^(\s|[.,!?…])]+", False),  # BLOOM
        (r"\p{N}{1,3}(?=(?:\p{N}{3})*\b)", False),
        (r"[(a+)+]+\)+", False),
        (r"(?:'s|'t)?", False),
        (r"(a+)+", True),
        (r"(?:a|aa)*b", True),
        (r"((a+))*", True),
        (r"(?:x(?:a*))+", True),
        (r"(a{2,}){3,}", True),
    ],
)
def test_expressions_that_may_try_every_way(expression, dangerous):
    assert may_try_every_way(expression) is dangerous


@pytest.mark.parametrize(
    ("place", "offset", "length"),
    [
        ("in.bin", 0, 16),
        *((place, 0, 16) for place in ("../out.bin", "/etc/passwd", "../../../../etc/passwd", "link.bin", "gone.bin")),
        *((place, 0, 16) for place in ("", ".", "in.bin/../../out.bin", "a/../../out.bin", "/dev/zero")),
        *(("in.bin", offset, 16) for offset in (1, 2**40, 2**62, 2**70, -16, "x")),
        *(("in.bin", 0, length) for length in (4, 2**40, 2**70, -1, "x")),
    ],
)
def test_a_graph_takes_weights_only_from_its_own_folder(tmp_path, place, offset, length):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    folder = tmp_path / "graph"
    folder.mkdir()
    for file in (tmp_path / "out.bin", folder / "in.bin"):
        file.write_bytes(np.ones(4, np.float32).tobytes())
    (folder / "link.bin").symlink_to(tmp_path / "out.bin")
    weight = onnx.TensorProto(name="w", data_type=1, dims=[4], data_location=onnx.TensorProto.EXTERNAL)
    for key, value in {"location": place, "offset": str(offset), "length": str(length)}.items():
        weight.external_data.add(key=key, value=value)
    x, y = (onnx.helper.make_tensor_value_info(name, 1, [4]) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "w"], ["y"])], "g", [x], [y], [weight])
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    (folder / "g.onnx").write_bytes(made.SerializeToString())
    if (place, offset, length) == ("in.bin", 0, 16):
        assert open_graph(folder / "g.onnx")(x=np.zeros(4, np.float32)).tolist() == [1, 1, 1, 1]
    else:
        with pytest.raises(FeatureError, match=r"g\.onnx: cannot be opened") as error:
            open_graph(folder / "g.onnx")
        assert "\n" not in str(error.value)


@pytest.mark.slow
def test_graphs_of_others_are_opened_in_one_place():
    opened = {
        (path.relative_to(SOURCE).as_posix(), ast.unparse(node.args[0]))
        for path in SOURCE.rglob("*.py")
        for name, node in calls(path)
        if name.endswith(("open_graph", "InferenceSession"))
    }
    assert opened == {
        ("features/runtime.py", "os.fspath(path)"),
        ("features/minilm.py", "FOLDER / 'network.onnx'"),
        ("features/token_network.py", "self.folder / 'network.onnx'"),
        ("features/efficientnet.py", "FOLDER / 'network.onnx'"),
        ("features/efficientnet.py", "FOLDER / 'classifier.onnx'"),
        ("networks/int8.py", "GRAPH"),
        ("features/graph_models.py", "self.folder / file"),  # whose files were checked
    }
