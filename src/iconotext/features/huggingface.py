"""Vision models and dual encoders for Hugging Face transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import FeatureError
from iconotext.features.backbone import DualEncoder, ImageBackbone, ImageFeatures, Picture, blank_features
from iconotext.features.decoding import encode_ahead, pixel_batches
from iconotext.features.device import best_device, image_batch, looking
from iconotext.features.hub import Foreign, loading
from iconotext.features.model_folder import revised_name

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from PIL import Image as Pillow

    from iconotext.types import FloatMatrix

SIDE = 512
"""Shorter side in pixels that a picture keeps when it is decoded; the model's own processing goes on from there."""

TEXTS = 64
"""Texts in a batch."""

_FIXED_LENGTH = frozenset({"siglip", "siglip2"})
"""Model types whose text side was trained on texts padded to full length, and gives other vectors for shorter ones."""

Forward = Callable[["torch.Tensor", bool], dict[str, "torch.Tensor"]]
"""From pixels and whether regions are wanted to tensors named as the attributes of ``ImageFeatures``."""


class HuggingFaceImage:
    """A vision model, or the image side of a dual encoder.

    Args:
        forward: What the network does with a batch.
        processor: The model's own image processor.
        name: Identifies its weights.
        dim: Length of its vectors.
        classes: Names of its classes.
        has_regions: Whether it can tell regions apart.
    """

    def __init__(
        self,
        forward: Forward,
        processor: Foreign,
        *,
        name: str,
        dim: int,
        classes: tuple[str, ...] | None,
        has_regions: bool,
    ) -> None:
        self._forward = forward
        self._processor = processor
        self.name = self.space = name
        self.dim = dim
        self.classes = classes
        self._has_regions = has_regions

    def encode(self, files: Sequence[Picture], *, regions: bool = False) -> ImageFeatures:
        """Look at pictures; see ``ImageBackbone``."""
        if regions and not self._has_regions:
            raise FeatureError(f"{self.name}: this model knows no regions: use another backbone")
        blank = blank_features(len(files), self.dim, classes=len(self.classes or ()), regions=regions)

        def prepare(picture: Pillow.Image) -> NDArray[Any]:
            return _pixels(self._processor, picture)

        def forward(pixels: list[NDArray[Any]]) -> dict[str, NDArray[Any]]:
            return {name: _numpy(tensor) for name, tensor in self._forward(_tensor(pixels), regions).items()}

        batches = pixel_batches(files, prepare, at_least=SIDE, batch_size=image_batch(best_device()))
        return encode_ahead(blank, batches, forward)


class HuggingFaceText:
    """The text side of a dual encoder.

    Args:
        model: The dual encoder.
        tokenizer: Its tokenizer.
        name: Identifies its weights.
        dim: Length of its vectors.
    """

    def __init__(self, model: Foreign, tokenizer: Foreign, *, name: str, dim: int) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self.name = self.space = name
        self.dim = dim

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """(n, dim) float32, rows of length 1; texts are cut after the model's number of tokens."""
        import torch

        vectors = np.zeros((len(texts), self.dim), np.float32)
        config = self._model.config
        padding = "max_length" if config.model_type in _FIXED_LENGTH else True
        longest = config.text_config.max_position_embeddings
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for start in range(0, len(order), TEXTS):
            rows = order[start : start + TEXTS]
            tokens = self._tokenizer(
                [texts[row] for row in rows], padding=padding, truncation=True, max_length=longest, return_tensors="pt"
            )
            with looking(best_device()):
                found = _embedding(self._model.get_text_features(**tokens.to(self._model.device)))
                vectors[rows] = _numpy(torch.nn.functional.normalize(found, dim=1))
        return vectors


def load_vision_model(name: str, folder: Path) -> ImageBackbone:
    """A vision model by name and folder; of a dual encoder, the image side.

    A classifier gives what its last layer sees, probabilities and class names. Other models give their pooled output,
    or the class token where they pool with weights that were never trained.

    Raises:
        FeatureError: It cannot be loaded, or is no vision model.
    """
    with loading(name):
        transformers: Foreign = import_module("transformers")

        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        if hasattr(config, "vision_config"):
            return load_clip(name, folder).image
        classifies = any(kind.endswith("ForImageClassification") for kind in config.architectures or ())
        maker = transformers.AutoModelForImageClassification if classifies else transformers.AutoModel
        model, info = maker.from_pretrained(
            folder,
            output_loading_info=True,
            dtype="float32",
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
        )
        missing = [key for key in info["missing_keys"] if classifies or "pooler" not in key]
        if missing:
            raise FeatureError(f"{name}: weights are missing ({', '.join(sorted(missing)[:3])}): fetch the model again")
        model = model.to(best_device()).eval()
        processor = transformers.AutoImageProcessor.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
        classes = tuple(config.id2label[i] for i in range(config.num_labels)) if classifies else None
        forward = _classifier(model) if classifies else _encoder(model, pooler=not info["missing_keys"])
        probe = forward(_tensor([_pixels(processor, _grey())]), True)
        return HuggingFaceImage(
            forward,
            processor,
            name=revised_name(name, folder),
            dim=probe["pooled"].shape[1],
            classes=classes,
            has_regions="regions" in probe,
        )


def load_clip(name: str, folder: Path) -> DualEncoder:
    """Both sides of a dual encoder by name and folder.

    Raises:
        FeatureError: It cannot be loaded, or has no two sides.
    """
    with loading(name):
        transformers: Foreign = import_module("transformers")

        model = transformers.AutoModel.from_pretrained(
            folder, dtype="float32", local_files_only=True, trust_remote_code=False, use_safetensors=True
        )
        model = model.to(best_device()).eval()
        if not (hasattr(model, "get_text_features") and hasattr(model, "get_image_features")):
            raise FeatureError(f"{name}: has no text side and image side in one space: use a CLIP or SigLIP model")
        processor, tokenizer = (
            kind.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
            for kind in (transformers.AutoImageProcessor, transformers.AutoTokenizer)
        )
        revised = revised_name(name, folder)

        def forward(pixels: torch.Tensor, regions: bool) -> dict[str, torch.Tensor]:
            import torch

            with looking(best_device()):
                found = _embedding(model.get_image_features(pixel_values=pixels))
                return {"pooled": torch.nn.functional.normalize(found, dim=1)}

        dim = forward(_tensor([_pixels(processor, _grey())]), False)["pooled"].shape[1]
        return DualEncoder(
            HuggingFaceText(model, tokenizer, name=revised, dim=dim),
            HuggingFaceImage(forward, processor, name=revised, dim=dim, classes=None, has_regions=False),
        )


def _classifier(model: Foreign) -> Forward:
    """What a classifier's last layer sees, and what it says."""
    import torch

    layers = [
        m for m in model.modules() if isinstance(m, torch.nn.Linear) and m.out_features == model.config.num_labels
    ]
    if not layers:
        raise FeatureError(f"{model.config.name_or_path}: has no linear classifier: use another backbone")
    seen: dict[str, Any] = {}
    layers[-1].register_forward_pre_hook(lambda _, inputs: seen.__setitem__("pooled", inputs[0]))
    model.base_model.register_forward_hook(lambda _, __, output: seen.__setitem__("map", output.last_hidden_state))

    def forward(pixels: torch.Tensor, regions: bool) -> dict[str, torch.Tensor]:
        with looking(best_device()):
            logits = model(pixel_values=pixels).logits
            found = {"pooled": seen["pooled"].flatten(1), "probabilities": logits.softmax(-1)}
            cells = _cells(seen["map"]) if regions else None
            # Only where the classifier sees a mean of the map do cells live in the space it can judge.
            if cells is not None and cells.shape[2] == layers[-1].in_features:
                scores, classes = layers[-1](cells).softmax(-1).max(-1)
                found |= {
                    "regions": cells.half(),
                    "region_classes": classes.to(torch.int16),
                    "region_scores": scores.half(),
                }
            return found

    return forward


def _encoder(model: Foreign, *, pooler: bool) -> Forward:

    def forward(pixels: torch.Tensor, regions: bool) -> dict[str, torch.Tensor]:
        with looking(best_device()):
            output = model(pixel_values=pixels)
            last = output.last_hidden_state
            pooled = getattr(output, "pooler_output", None) if pooler else None
            if pooled is None:
                pooled = last.mean((2, 3)) if last.ndim == 4 else last[:, 0]
            found = {"pooled": pooled.flatten(1)}
            cells = _cells(last) if regions else None
            if cells is not None and cells.shape[2] == found["pooled"].shape[1]:
                found["regions"] = cells.half()
            return found

    return forward


def _cells(last: torch.Tensor) -> torch.Tensor | None:
    """A feature map (b, d, h, w), or tokens (b, extra + side², d), as (b, 36, d); None where tokens are no square."""
    from torch.nn import functional

    if last.ndim == 3:
        side = int(last.shape[1] ** 0.5)
        if last.shape[1] - side * side > _EXTRA_TOKENS:
            return None
        last = last[:, -side * side :].transpose(1, 2).reshape(len(last), -1, side, side)
    return functional.adaptive_avg_pool2d(last, 6).flatten(2).transpose(1, 2)


_EXTRA_TOKENS = 5  # the class token and up to four registers stand before those of the patches


def _pixels(processor: Foreign, picture: Pillow.Image) -> NDArray[Any]:
    return np.asarray(processor(images=picture, return_tensors="np")["pixel_values"][0], np.float32)


def _tensor(pixels: list[NDArray[Any]]) -> torch.Tensor:
    import torch

    return torch.from_numpy(np.stack(pixels)).to(best_device())


def _numpy(tensor: torch.Tensor) -> NDArray[Any]:
    return np.asarray(tensor.cpu().numpy())


def _embedding(output: Foreign) -> torch.Tensor:
    """What get_..._features gives: a tensor, and from transformers 5 on an object that holds it."""
    embedding: torch.Tensor = output.pooler_output if hasattr(output, "pooler_output") else output
    return embedding


def _grey() -> Pillow.Image:
    from PIL import Image as Pillow

    return Pillow.new("RGB", (SIDE, SIDE), "grey")
