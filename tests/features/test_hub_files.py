"""Fetching from a stand-in of the Hugging Face hub: what is fetched, pinned and checked."""

import json
import shutil

import pytest

from iconotext.errors import FeatureError
from iconotext.features import downloads, load_dual_encoder, load_image_backbone, load_text_backbone
from iconotext.features.hub_files import LOCK, cached_folder, cached_models, fetch, place_of, read_lock
from iconotext.features.model_folder import find_model
from tests.support.graph_models import change, write_dual_graphs, write_sentence_graphs


@pytest.fixture
def hub(small_hub, tmp_path):
    """A hub with a dual encoder in two precisions, which brings code and pickles, and an empty cache."""
    folder = tmp_path / "clip"
    for precision in ("fp32", "quantized"):
        write_dual_graphs(folder, precision=precision)
    for name in ("model.py", "pytorch_model.bin", "onnx/model.pkl", "onnx/custom_ops.so", "README.md"):
        (folder / name).write_bytes(b"no model")
    small_hub.add("org/clip", folder)
    return small_hub


SETTINGS = {"config.json", "preprocessor_config.json", "tokenizer.json", "tokenizer_config.json"}


def files_below(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_only_settings_and_the_graphs_that_were_named_come(hub):
    with downloads():
        folder = find_model("org/clip:quantized")
    assert files_below(folder) == SETTINGS | {"onnx/text_model_quantized.onnx", "onnx/vision_model_quantized.onnx"}
    assert load_dual_encoder("org/clip:quantized").text.dim == 5
    assert load_dual_encoder("org/clip").text.name == f"org/clip@{folder.name}/onnx-quantized"  # the only one
    with pytest.raises(FeatureError, match=r"^org/clip: has no graph with the precision fp16; .* org/clip:quantized$"):
        load_dual_encoder("org/clip:fp16")


def test_without_permission_nothing_is_asked(hub):
    with pytest.raises(FeatureError, match=r"^org/clip:quantized: no such model.* download=True looks on"):
        find_model("org/clip:quantized")
    assert hub.requests == []


def test_what_was_fetched_is_pinned(hub, tmp_path):
    first = fetch("org/clip")
    shutil.copytree(tmp_path / "clip", tmp_path / "newer")
    change(tmp_path / "newer/config.json", newer=True)
    newest = hub.add("org/clip", tmp_path / "newer")
    before = len(hub.requests)
    assert fetch("org/clip") == cached_folder("org/clip") == first
    assert len(hub.requests) == before  # nothing was missing
    again = fetch("org/clip", "quantized")  # the other graphs of the same commit
    assert again == first
    assert {"onnx/text_model.onnx", "onnx/text_model_quantized.onnx"} <= read_lock(place_of("org/clip")).files.keys()
    moved = fetch("org/clip", revision="main")
    assert moved != first
    assert moved.name == newest
    assert cached_folder("org/clip") == moved
    assert json.loads((moved / "config.json").read_text())["newer"] is True
    back = fetch("org/clip", revision=first.name)
    assert cached_folder("org/clip") == back == first


@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize("file", ["onnx/text_model.onnx", "config.json"])
def test_a_file_that_changed_later_or_is_gone_is_refused(hub, file, gone):
    path = fetch("org/clip") / file
    content = path.read_bytes()
    path.unlink()
    if not gone:
        path.write_bytes(content + b" ")
    said = f"{file}: is missing or has changed since it was fetched: remove .*org--clip"
    with pytest.raises(FeatureError, match=said):
        load_dual_encoder("org/clip")
    with pytest.raises(FeatureError, match=said), downloads():
        load_dual_encoder("org/clip")


def test_a_link_out_of_the_model_is_refused_though_its_content_is_right(hub, tmp_path):
    folder = fetch("org/clip")
    content = (folder / "onnx/text_model.onnx").read_bytes()
    (tmp_path / "outside").write_bytes(content)
    (folder / "onnx/text_model.onnx").unlink()
    (folder / "onnx/text_model.onnx").symlink_to(tmp_path / "outside")
    with pytest.raises(FeatureError, match=r"text_model\.onnx: is a link to a file outside of the model's folder"):
        load_dual_encoder("org/clip")


def test_a_file_that_is_not_what_the_hub_states_is_refused(hub):
    hub.lies.add("onnx/vision_model.onnx")
    with pytest.raises(FeatureError, match=r"vision_model\.onnx: is not what the hub states: remove .*org--clip"):
        fetch("org/clip")
    assert not (place_of("org/clip") / LOCK).exists()


@pytest.mark.parametrize(
    "noted", ["{", "[]", '{"revision": "../x", "files": {}}', '{"revision": "x", "files": {"../../y": "0"}}']
)
def test_a_damaged_note_is_one_line(hub, noted):
    fetch("org/clip")
    (place_of("org/clip") / LOCK).write_text(noted)
    with pytest.raises(FeatureError, match=rf"{LOCK}: damaged .*: remove .* and fetch the model again"):
        cached_folder("org/clip")


def test_what_another_program_fetched_is_taken_and_pinned_by_the_next_download(hub):
    folder = fetch("org/clip")
    (place_of("org/clip") / LOCK).unlink()
    assert cached_folder("org/clip") is None  # without a branch
    (place_of("org/clip") / "refs").mkdir()
    (place_of("org/clip") / "refs/main").write_text(folder.name)
    assert cached_folder("org/clip") == folder
    assert [(each.name, each.pinned) for each in cached_models()] == [("org/clip", False)]
    assert fetch("org/clip") == folder
    assert [(each.name, each.precisions, each.pinned) for each in cached_models()] == [("org/clip", ("fp32",), True)]


def test_weights_for_pytorch_are_no_model_and_the_graphs_are_fetched(hub):
    folder, lock = fetch("org/clip"), place_of("org/clip") / LOCK
    noted = json.loads(lock.read_text())
    lock.write_text(json.dumps(noted | {"files": {"config.json": noted["files"]["config.json"]}}))
    shutil.rmtree(folder / "onnx")
    (folder / "model.safetensors").write_bytes(b"weights")
    assert cached_models() == []
    assert fetch("org/clip") == folder
    assert load_dual_encoder("org/clip").text.dim == 5


def test_a_model_that_is_not_there(hub):
    assert fetch("org/none") is None
    with pytest.raises(FeatureError, match="org/none: no such model, nor is it on the Hugging Face hub"), downloads():
        find_model("org/none")
    with pytest.raises(FeatureError, match="org/clip: cannot be fetched"):
        fetch("org/clip", revision="f" * 40)


def test_a_model_without_safe_weights_is_not_fetched(hub, tmp_path):
    write_sentence_graphs(tmp_path / "pickled")
    shutil.rmtree(tmp_path / "pickled/onnx")
    (tmp_path / "pickled/pytorch_model.bin").write_bytes(b"pickle")
    hub.add("org/pickled", tmp_path / "pickled")
    with pytest.raises(FeatureError, match="org/pickled: has no ONNX graph of an encoder"):
        fetch("org/pickled")
    fetched = {path.rpartition("/")[2] for method, path in hub.requests if method == "GET" and "/resolve/" in path}
    assert fetched <= {"config.json"}


def test_weights_beside_a_graph_come_along_and_are_read_through_links(hub, tmp_path):
    import onnx

    write_sentence_graphs(tmp_path / "sentences")
    path = tmp_path / "sentences/onnx/model.onnx"
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="model.onnx_data", size_threshold=64)
    hub.add("org/sentences", tmp_path / "sentences")
    folder = fetch("org/sentences")
    assert {"onnx/model.onnx", "onnx/model.onnx_data", "1_Pooling/config.json"} <= files_below(folder)
    assert (folder / "onnx/model.onnx_data").is_symlink()
    assert load_text_backbone("org/sentences").encode(["a cat"]).shape == (1, 6)


def test_of_models_without_graphs_only_a_resnet_comes(hub, models, tmp_path):
    (tmp_path / "vit").mkdir()
    (tmp_path / "vit/config.json").write_text('{"model_type": "vit"}')
    (tmp_path / "vit/model.safetensors").write_bytes(b"weights")
    hub.add("org/vit", tmp_path / "vit")
    with pytest.raises(FeatureError, match=r"^org/vit: has no ONNX graph of an encoder .* export it"):
        fetch("org/vit")
    assert not any(method == "GET" and path.endswith("model.safetensors") for method, path in hub.requests)
    hub.add("org/resnet", models / "resnet")
    folder = fetch("org/resnet")
    assert files_below(folder) == {"config.json", "preprocessor_config.json", "model.safetensors"}
    before = len(hub.requests)
    assert fetch("org/resnet") == folder
    assert len(hub.requests) == before
    assert [(each.name, each.precisions) for each in cached_models()] == [("org/resnet", ())]
    assert load_image_backbone("org/resnet").dim == 12
