"""The inputs of encoders of others: pixels by ``preprocessor_config.json``, token ids by ``tokenizer.json``.

Both follow what transformers does with the same files, without importing it. ``Pixels`` and ``Tokens`` are made from a
folder; a setting that they do not know is an error, since features would be wrong without a sign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL.Image import Resampling

from iconotext.errors import FeatureError, ImageError
from iconotext.features.graph_files import checked_path, settings_of
from iconotext.features.tokenizer_files import open_tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image as Pillow
    from tokenizers import Encoding

MAX_SIDE = 2048
"""Longest side in pixels that a model's settings may ask for."""

MAX_PIXELS = 16_000_000
"""Largest number of pixels to which a picture is resized before its middle is cut out."""

UNCROPPED = 384
"""Side in pixels from which on ``crop_pct`` counts for nothing."""

MAX_TOKENS = 8192
"""Largest number of tokens of a text that a model's settings may ask for."""

_PIXELS = "preprocessor_config.json"
_DONE = ("do_resize", "do_center_crop", "do_rescale", "do_normalize", "do_convert_rgb")
"""The steps that ``Pixels`` does; another one that is switched on is refused."""

_POSITIONS = {"clip": 77, "siglip": 64, "siglip2": 64}
"""Positions of the text side of a dual encoder by model type, where its settings do not state them."""

_OFFSET = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet"})
"""Model types whose positions begin behind that of the padding, two later than their count says."""


@dataclass(frozen=True, slots=True, eq=False)
class Pixels:
    """The preparation of pictures for a model.

    Attributes:
        size: The (height, width) to which a picture is resized; a single number for its shorter side.
        crop: The (height, width) that is cut out of the middle, with black around a smaller picture; None for all.
        resample: The filter of resizing.
        scale: Factor of values from 0 to 255.
        mean: (3,) is subtracted after that.
        deviation: (3,) divides what is left.
    """

    size: tuple[int, int] | int
    crop: tuple[int, int] | None
    resample: Resampling
    scale: float
    mean: NDArray[np.float32]
    deviation: NDArray[np.float32]

    @classmethod
    def of(cls, folder: Path, shape: Sequence[int | str | None]) -> Pixels:
        """Read the settings of a folder.

        Args:
            shape: Sides (batch, channels, height, width) of the graph's input. Exports for a fixed height and width
                take precedence over the settings, which then decide how a picture is brought to that size.
        """
        file, settings = folder / _PIXELS, settings_of(folder, _PIXELS)
        if settings is None:
            raise FeatureError(f"{file}: is missing: fetch the model again")
        other = [name for name, on in settings.items() if name.startswith("do_") and on and name not in _DONE]
        if other:
            raise FeatureError(f"{file}: asks for {other[0]}, which is not known here: use another model")
        try:
            return cls._parsed(settings, shape)
        except (TypeError, ValueError, KeyError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else error
            raise FeatureError(f"{file}: cannot be followed ({reason}): use another model") from error

    @classmethod
    def _parsed(cls, settings: Mapping[str, Any], shape: Sequence[int | str | None]) -> Pixels:
        is_clip = str(settings.get("image_processor_type", settings.get("feature_extractor_type", ""))).startswith(
            "CLIP"
        )
        crops = bool(settings.get("do_center_crop", "crop_size" in settings))
        if not settings.get("do_resize", True):
            raise ValueError("pictures are left at their own sizes")
        share = settings.get("crop_pct")
        size = _size(settings["size"], shortest=is_clip or crops or share is not None)
        crop: Any = _size(settings["crop_size"], shortest=False) if crops else None
        if share is not None and isinstance(size, int):  # of ConvNeXt and ResNet: a share of the middle, or all
            if not 0 < share <= 1:
                raise ValueError(f"crop_pct {share}, expected a share")
            whole = size >= UNCROPPED
            size, crop = ((size, size), None) if whole else (_size(int(size / share), shortest=True), (size, size))
        fixed = tuple(side for side in shape[2:] if isinstance(side, int))
        if len(fixed) == 2 and fixed != (crop or size):
            crop, size = (fixed, max(fixed)) if isinstance(size, int) else (None, fixed)
        if isinstance(crop, int) or (isinstance(size, int) and crop is None):
            raise ValueError("the shorter side is resized, and nothing is cut: pictures would differ in size")
        normalizes = settings.get("do_normalize", True)
        mean = _three(settings["image_mean"]) if normalizes else np.zeros(3, np.float32)
        deviation = _three(settings["image_std"]) if normalizes else np.ones(3, np.float32)
        scale = float(settings.get("rescale_factor", 1 / 255)) if settings.get("do_rescale", True) else 1.0
        if not np.isfinite([scale, *mean, *deviation]).all() or not deviation.all():
            raise ValueError("a mean, deviation or factor is not finite, or a deviation is 0")
        resample = Resampling(settings.get("resample", Resampling.BICUBIC if is_clip else Resampling.BILINEAR))
        return cls(size, crop, resample, scale, mean, deviation)

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width) of a prepared picture."""
        return self.crop or (self.size if isinstance(self.size, tuple) else (self.size, self.size))

    @property
    def shorter(self) -> int:
        """Pixels that the shorter side of a picture needs, so that it is not enlarged."""
        return self.size if isinstance(self.size, int) else max(self.size)

    def __call__(self, picture: Pillow.Image) -> NDArray[np.float32]:
        """Prepare an RGB picture: (3, height, width)."""
        if isinstance(self.size, int):
            short, long = sorted(picture.size)
            # As transformers and torchvision round it: down.
            sides = (self.size, int(self.size * long / short))
            if sides[0] * sides[1] > MAX_PIXELS:
                raise ImageError(f"{picture.width} × {picture.height}: too long and narrow for this model")
            picture = picture.resize(sides if picture.width <= picture.height else sides[::-1], self.resample)
        else:
            picture = picture.resize(self.size[::-1], self.resample)
        values = np.asarray(picture, np.float32)
        if self.crop is not None:
            values = _middle(values, self.crop)
        scaled = (values * np.float32(self.scale) - self.mean) / self.deviation
        return np.ascontiguousarray(scaled.transpose(2, 0, 1), np.float32)


def _size(value: Any, *, shortest: bool) -> tuple[int, int] | int:
    """Return a size as settings have it: a number, or an object with ``shortest_edge`` or ``height`` and ``width``.

    Args:
        shortest: Whether a number alone is the shorter side, not both sides.
    """
    if isinstance(value, Mapping):
        sides = [value["shortest_edge"]] if "shortest_edge" in value else [value["height"], value["width"]]
        if value.keys() - {"shortest_edge", "height", "width"}:
            raise ValueError(f"size {dict(value)}")
    else:
        sides = [value] if shortest else [value, value]
    if not all(type(side) is int and 0 < side <= MAX_SIDE for side in sides):
        raise ValueError(f"size {value}, expected 1 to {MAX_SIDE} pixels")
    return sides[0] if len(sides) == 1 else (sides[0], sides[1])


def _three(values: Any) -> NDArray[np.float32]:
    array = np.asarray(values, np.float32)
    if array.shape != (3,):
        raise ValueError(f"{values} is not a number for each of three colours")
    return array


def _middle(values: NDArray[np.float32], crop: tuple[int, int]) -> NDArray[np.float32]:
    """Cut (height, width) out of the middle of (h, w, 3), with zeros where there is no picture."""
    height, width = crop
    above, left = (max(0, side - size + 1) // 2 for side, size in zip(crop, values.shape, strict=False))
    padded = np.zeros((max(height, len(values)), max(width, values.shape[1]), 3), np.float32)
    padded[above : above + len(values), left : left + values.shape[1]] = values
    top, start = (len(padded) - height) // 2, (padded.shape[1] - width) // 2
    return padded[top : top + height, start : start + width]


class Tokens:
    """The tokenizer of a model.

    Args:
        folder: Has ``tokenizer.json``, and settings that say how long a text may be.
        inputs: The graph's inputs, as in ``Graph``. A graph that takes no mask was made for texts of full length, and
            so were those of SigLIP: a text is padded to it. Else a text has its own length, alone in its batch, so that
            its vector does not depend on others.
        prefix: Put before each text.
    """

    def __init__(
        self, folder: Path, inputs: Mapping[str, tuple[str, tuple[int | str | None, ...]]], prefix: str = ""
    ) -> None:
        self._tokenizer = open_tokenizer(checked_path(folder, "tokenizer.json"), "fetch the model again")
        config = settings_of(folder, "config.json") or {}
        settings = settings_of(folder, "tokenizer_config.json") or {}
        side = inputs["input_ids"][1][-1]
        self.longest = _longest(folder, config, settings, side)
        is_siglip = str(config.get("model_type")).startswith("siglip")
        self._fixed = isinstance(side, int) or is_siglip or "attention_mask" not in inputs
        # SigLIP 2 learned from texts in small letters; its tokenizer is that of Gemma, which changes none.
        is_gemma = is_siglip and str(settings.get("tokenizer_class")).startswith("Gemma")
        self._lower = bool(settings.get("do_lower_case")) or is_gemma
        self._prefix = prefix
        self._padding = self._pad_id(config, settings) if self._fixed else 0
        self._tokenizer.no_padding()  # the file may ask for a length of its own
        self._tokenizer.enable_truncation(self.longest)
        self._inputs = inputs

    def __call__(self, texts: Sequence[str]) -> list[dict[str, NDArray[Any]]]:
        """Return the graph's inputs for each text, (1, tokens) each."""
        # A tokenizer fails on half a surrogate pair.
        prefixed = [self._prefix + text.encode("utf-8", "replace").decode() for text in texts]
        return [
            self._arrays(encoding)
            for encoding in self._tokenizer.encode_batch([text.lower() if self._lower else text for text in prefixed])
        ]

    def _arrays(self, encoding: Encoding) -> dict[str, NDArray[Any]]:
        spare = self.longest - len(encoding.ids) if self._fixed else 0
        by_name = {
            "input_ids": encoding.ids + [self._padding] * spare,
            "attention_mask": [1] * len(encoding.ids) + [0] * spare,
            "token_type_ids": encoding.type_ids + [0] * spare,
        }
        return {
            name: np.array([by_name[name]], np.int32 if "int32" in self._inputs[name][0] else np.int64)
            for name in by_name.keys() & self._inputs.keys()
        }

    def _pad_id(self, config: Mapping[str, Any], settings: Mapping[str, Any]) -> int:
        token = settings.get("pad_token")
        token = token.get("content") if isinstance(token, Mapping) else token
        number = self._tokenizer.token_to_id(token) if isinstance(token, str) else None
        if number is None:
            text = config.get("text_config")
            number = (text if isinstance(text, Mapping) else config).get("pad_token_id")
        if type(number) is not int:
            raise FeatureError("the tokenizer names no padding, and the graph takes texts of one length only")
        return number


def _longest(folder: Path, config: Mapping[str, Any], settings: Mapping[str, Any], side: int | str | None) -> int:
    """Return the largest number of tokens that all settings allow."""
    text = config.get("text_config")
    text = text if isinstance(text, Mapping) else config
    kind = str(text.get("model_type", config.get("model_type")))
    positions = text.get("max_position_embeddings", _POSITIONS.get(str(config.get("model_type"))))
    if type(positions) is int and kind in _OFFSET:
        positions -= 2
    stated = (settings_of(folder, "sentence_bert_config.json") or {}).get("max_seq_length")
    limits = (positions, settings.get("model_max_length"), stated, side)
    numbers = [limit for limit in limits if type(limit) is int and limit > 0]
    longest = min([*numbers, MAX_TOKENS])
    if not numbers or longest < 3:
        raise FeatureError(f"{folder}: its settings do not say how many tokens a text may have (model_max_length)")
    return longest
