"""Backbones made by others, loaded from their folder: models of transformers and of sentence-transformers.

``load_vision_model`` and ``load_clip`` (dual encoders) load models of Hugging Face transformers;
``load_sentence_transformer`` and ``load_clip_like`` those of sentence-transformers. ``load_resnet``, ``dual_model`` and
``Tokens`` serve training, which needs the networks themselves. ``hub_checks`` looks at the files first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image as Pillow

from iconotext.errors import FeatureError
from iconotext.extras import require
from iconotext.features.backbone import DualEncoder, ImageBackbone, TextBackbone
from iconotext.features.decoding import network_backbone
from iconotext.features.hub_checks import (
    SIDE,
    Foreign,
    check_finite,
    check_settings,
    check_size,
    check_weights,
    is_of_transformers,
    loading,
    pretrained,
    pretrained_model,
)
from iconotext.features.model_folder import revised_name
from iconotext.features.runtime import best_device, full_precision

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer

    from iconotext.types import FloatMatrix

TEXTS = 64
"""Texts in a batch; for models of sentence-transformers also pictures."""

_FIXED_LENGTH = frozenset({"siglip", "siglip2"})
"""Model types whose text side was trained on texts padded to full length, without masking the padding."""

Network = Callable[["torch.Tensor", bool], dict[str, "torch.Tensor"]]
"""A function from pixels to tensors named like the attributes of ``ImageFeatures``; its second argument tells whether
regions are requested."""


def load_vision_model(name: str, folder: Path) -> ImageBackbone:
    """Load a vision model by name and folder, or the image side of a dual encoder.

    A classifier gives the input of its last layer, probabilities and class names. Other models give their pooled
    output, or the class token if their pooling weights were never trained.
    """
    with loading(name):
        is_timm = _is_timm(name, folder)
        config = pretrained("AutoConfig", folder)
        if hasattr(config, "vision_config"):
            return load_clip(name, folder).image
        kinds = tuple(config.architectures or ())
        if any(kind.endswith("ForObjectDetection") for kind in kinds):  # its queries would pass for cells of a grid
            raise FeatureError(f"{name}: an object detector; let its own program write the regions to a .tsv or .npz")
        classifies = any(kind.endswith("ForImageClassification") for kind in kinds)
        if is_timm and not kinds:  # models saved by timm itself
            classifies = config.num_labels > 0
        model, missing = pretrained_model("AutoModelForImageClassification" if classifies else "AutoModel", folder)
        check_weights(name, [key for key in missing if classifies or "pooler" not in key])
        processor = pretrained("AutoImageProcessor", folder)
        classes = tuple(config.id2label[i] for i in range(config.num_labels)) if classifies else None
        network = _classifier(model) if classifies else _encoder(model, pooler=not missing)
        return _image_backbone(network, processor, revised_name(name, folder), classes)


def _is_timm(name: str, folder: Path) -> bool:
    """Tell whether a folder has a model of timm; raises ``FeatureError`` if timm cannot be used here."""
    settings, _ = import_module("transformers").PreTrainedConfig.get_config_dict(folder, local_files_only=True)
    if settings.get("model_type") != "timm_wrapper":
        return False
    require("timm", purpose=f"{name}: a model of timm")
    try:
        import_module("timm")
    except Exception as error:  # RuntimeError: operator torchvision::nms does not exist
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise FeatureError(
            f"{name}: timm cannot be imported ({reason}); install torchvision for this build and version of torch"
        ) from error
    return True


def load_resnet(name: str, folder: Path) -> tuple[torch.nn.Module, int]:
    """Load a ResNet for training, on the CPU, and the number of channels of its last feature map."""
    with loading(name):
        config = pretrained("AutoConfig", folder)
        if config.model_type != "resnet":
            raise FeatureError(f"{name}: is a {config.model_type}; image.network is a ResNet, microsoft/resnet-50 say")
        model, missing = pretrained_model("AutoModel", folder)
        check_weights(name, missing)
        resnet: torch.nn.Module = model.to("cpu").train().requires_grad_(True)
        return resnet, config.hidden_sizes[-1]


def load_clip(name: str, folder: Path) -> DualEncoder:
    """Load both sides of a dual encoder by name and folder."""
    with loading(name):
        model = dual_model(name, folder)
        processor, tokens = pretrained("AutoImageProcessor", folder), Tokens(name, folder)

        def network(pixels: torch.Tensor, regions: bool) -> dict[str, torch.Tensor]:
            import torch

            with full_precision(best_device()):
                embedding = embedding_of(model.get_image_features(pixel_values=pixels))
                return {"pooled": torch.nn.functional.normalize(embedding, dim=1)}

        image = _image_backbone(network, processor, revised_name(name, folder), None)
        vectors = partial(_text_vectors, model, tokens, image.dim)
        check_finite(name, {"the vector of a word": vectors(["a"])})
        return DualEncoder(TextBackbone(image.name, image.dim, vectors), image)


def dual_model(name: str, folder: Path) -> Foreign:
    """Load a two-sided model of transformers."""
    model, _ = pretrained_model("AutoModel", folder)
    if not (hasattr(model, "get_text_features") and hasattr(model, "get_image_features")):
        raise FeatureError(f"{name}: has no text side and image side in one space: use a CLIP or SigLIP model")
    return model


def prepared(processor: Foreign, picture: Pillow.Image) -> NDArray[Any]:
    """Apply a model's own image processor to an RGB picture: (3, h, w) float32."""
    return np.asarray(processor(images=picture, return_tensors="pt")["pixel_values"][0], np.float32)


def _image_backbone(network: Network, processor: Foreign, name: str, classes: tuple[str, ...] | None) -> ImageBackbone:
    def forward(pixels: list[NDArray[Any]], regions: bool) -> dict[str, NDArray[Any]]:
        import torch

        tensors = network(torch.from_numpy(np.stack(pixels)).to(best_device()), regions)
        return {name: tensor.cpu().numpy() for name, tensor in tensors.items()}

    prepare = partial(prepared, processor)
    probe = forward([prepare(Pillow.new("RGB", (SIDE, SIDE), "grey"))], True)
    check_finite(name, {f"{part} of a grey picture": array for part, array in probe.items()})
    dim, has_regions = probe["pooled"].shape[1], "regions" in probe
    return network_backbone(name, dim, prepare, forward, at_least=SIDE, classes=classes, has_regions=has_regions)


class Tokens:
    """The tokenizer of a dual encoder's text side."""

    def __init__(self, name: str, folder: Path) -> None:
        with loading(name):
            config = pretrained("AutoConfig", folder)
            self._tokenizer = pretrained("AutoTokenizer", folder)
        self._longest = config.text_config.max_position_embeddings
        self._fixed = config.model_type in _FIXED_LENGTH

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, cut to the model's maximum length."""
        ids: list[list[int]] = self._tokenizer(list(texts), truncation=True, max_length=self._longest)["input_ids"]
        return ids

    def padded(self, ids: Sequence[torch.Tensor]) -> dict[str, torch.Tensor]:
        """Make one batch of the token ids of several texts, padded as in the model's training."""
        import torch

        length = self._longest if self._fixed else max(map(len, ids))
        batch = ids[0].new_full((len(ids), length), self._tokenizer.pad_token_id)
        for row, token_ids in zip(batch, ids, strict=True):
            row[: len(token_ids)] = token_ids
        if self._fixed:
            return {"input_ids": batch}
        lengths = torch.tensor([[len(row_ids)] for row_ids in ids], device=batch.device)
        mask = torch.arange(length, device=batch.device) < lengths
        return {"input_ids": batch, "attention_mask": mask.long()}


def _text_vectors(model: Foreign, tokens: Tokens, dim: int, texts: Sequence[str]) -> FloatMatrix:
    """Compute (n, dim) float32 unit vectors with the text side of a dual encoder."""
    import torch

    vectors = np.zeros((len(texts), dim), np.float32)
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    for start in range(0, len(order), TEXTS):
        rows = order[start : start + TEXTS]
        ids = [torch.tensor(token_ids, device=model.device) for token_ids in tokens.ids([texts[row] for row in rows])]
        with full_precision(best_device()):
            embedding = embedding_of(model.get_text_features(**tokens.padded(ids)))
            vectors[rows] = torch.nn.functional.normalize(embedding, dim=1).cpu().numpy()
    return vectors


def _classifier(model: Foreign) -> Network:
    """Make a network that returns the input of a classifier's last layer, and its probabilities."""
    import torch

    layers = [
        m for m in model.modules() if isinstance(m, torch.nn.Linear) and m.out_features == model.config.num_labels
    ]
    if not layers:
        raise FeatureError(f"{model.config.name_or_path}: has no linear classifier: use another backbone")
    outputs: dict[str, Any] = {}
    layers[-1].register_forward_pre_hook(lambda _, inputs: outputs.__setitem__("pooled", inputs[0]))
    timm = getattr(model, "timm_model", None)
    if timm is None:
        model.base_model.register_forward_hook(
            lambda _, __, output: outputs.__setitem__("map", output.last_hidden_state)
        )

    def logits_of(pixels: torch.Tensor) -> torch.Tensor:
        if timm is None:
            logits: torch.Tensor = model(pixel_values=pixels).logits
        else:
            outputs["map"] = timm.forward_features(pixels)
            logits = timm.forward_head(outputs["map"])
        return logits

    def forward(pixels: torch.Tensor, regions: bool) -> dict[str, torch.Tensor]:
        with full_precision(best_device()):
            logits = logits_of(pixels)
            tensors = {"pooled": outputs["pooled"].flatten(1), "probabilities": logits.softmax(-1)}
            cells = _cells(outputs["map"]) if regions else None
            # Only if the classifier's input is the mean of the feature map can it classify single cells.
            if cells is not None and cells.shape[2] == layers[-1].in_features:
                scores, classes = layers[-1](cells).softmax(-1).max(-1)
                tensors |= {
                    "regions": cells.half(),
                    "region_classes": classes.to(torch.int16),
                    "region_scores": scores.half(),
                }
            return tensors

    return forward


def _encoder(model: Foreign, *, pooler: bool) -> Network:
    """Make a network that returns the pooled output; without a ``pooler``, the mean of the map or the class token."""

    def forward(pixels: torch.Tensor, regions: bool) -> dict[str, torch.Tensor]:
        with full_precision(best_device()):
            output = model(pixel_values=pixels)
            last = output.last_hidden_state
            pooled = getattr(output, "pooler_output", None) if pooler else None
            if pooled is None:
                pooled = last.mean((2, 3)) if last.ndim == 4 else last[:, 0]
            tensors = {"pooled": pooled.flatten(1)}
            cells = _cells(last) if regions else None
            if cells is not None and cells.shape[2] == tensors["pooled"].shape[1]:
                tensors["regions"] = cells.half()
            return tensors

    return forward


def _cells(last: torch.Tensor) -> torch.Tensor | None:
    """Average a feature map (b, d, h, w), or tokens (b, extra + side², d), to (b, 36, d); None for other tokens."""
    from torch.nn import functional

    if last.ndim == 3:
        side = int(last.shape[1] ** 0.5)
        if last.shape[1] - side * side > _EXTRA_TOKENS:
            return None
        last = last[:, -side * side :].transpose(1, 2).reshape(len(last), -1, side, side)
    return functional.adaptive_avg_pool2d(last, 6).flatten(2).transpose(1, 2)


_EXTRA_TOKENS = 5  # class token and up to four registers before the patch tokens


def embedding_of(output: Foreign) -> torch.Tensor:
    """Return the tensor of get_..._features, which from transformers 5 on is an attribute of an object."""
    embedding: torch.Tensor = output.pooler_output if hasattr(output, "pooler_output") else output
    return embedding


def load_sentence_transformer(name: str, folder: Path) -> TextBackbone:
    """Load a text encoder by name and folder."""
    model, revised, dim = _load(name, folder)
    return TextBackbone(revised, dim, partial(_vectors, model, dim))


def load_clip_like(name: str, folder: Path) -> DualEncoder:
    """Load both sides of a dual encoder by name and folder."""
    model, revised, dim = _load(name, folder)
    try:
        probe = _vectors(model, dim, [Pillow.new("RGB", (SIDE, SIDE))])
    except Exception as error:  # text models fail on a picture in different ways
        raise FeatureError(f"{name}: takes texts but no pictures: load it as a text backbone") from error
    if probe.shape != (1, dim):
        raise FeatureError(f"{name}: {probe.shape[1]} numbers for a picture, {dim} for a text: not one space")

    def forward(images: list[Pillow.Image], regions: bool) -> dict[str, NDArray[Any]]:
        return {"pooled": _vectors(model, dim, images)}

    vectors = partial(_vectors, model, dim)
    image = network_backbone(revised, dim, _reduced, forward, at_least=SIDE)
    return DualEncoder(TextBackbone(revised, dim, vectors), image)


def _load(name: str, folder: Path) -> tuple[SentenceTransformer, str, int]:
    with loading(name):
        from sentence_transformers import SentenceTransformer
        from transformers import AutoModel

        for place in (folder, *(child for child in folder.iterdir() if child.is_dir())):
            check_settings(place)
            if is_of_transformers(place):  # other folders are layers of sentence-transformers itself
                check_size(AutoModel, place)
        model = SentenceTransformer(
            str(folder),
            device=str(best_device()),
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        ).eval()
        check_finite(name, model.state_dict())
        probe = model.encode(["probe"], show_progress_bar=False)  # not every model knows its dimension
        check_finite(name, {"the vector of a word": probe})
        return model, revised_name(name, folder), int(probe.shape[1])


def _vectors(model: SentenceTransformer, dim: int, inputs: Sequence[Any]) -> FloatMatrix:
    """Compute (n, dim) float32 unit vectors of texts or pictures."""
    if not inputs:
        return np.zeros((0, dim), np.float32)
    vectors = model.encode(
        list(inputs), batch_size=TEXTS, show_progress_bar=False, convert_to_numpy=True, normalize_embeddings=True
    )
    return np.asarray(vectors, np.float32)


def _reduced(image: Pillow.Image) -> Pillow.Image:
    """Reduce a large picture, since the usual models need no more pixels."""
    shorter = min(image.size)
    if shorter <= SIDE:
        return image
    width, height = (max(1, round(side * SIDE / shorter)) for side in image.size)
    return image.resize((width, height), Pillow.Resampling.BICUBIC, reducing_gap=2.0)
