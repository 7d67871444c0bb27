"""Object detectors of Hugging Face transformers, loaded by ``load_detector``.

A region is the object that belongs to one of the model's queries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import FeatureError, ImageError
from iconotext.features.decoding import look_at
from iconotext.features.hub import Foreign, check_weights, loading, pretrained, pretrained_model
from iconotext.features.model_folder import revised_name
from iconotext.features.regions import Regions, RegionSource
from iconotext.features.runtime import best_device, looking
from iconotext.system.strict_json import parse_json
from iconotext.types import Image

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from PIL import Image as Pillow

AT_MOST = 36
"""Maximum number of regions per picture, as in Li 2021 and the fixed bottom-up features (Anderson 2018)."""

SURE = 0.2
"""Probability from which a query counts as an object, as for the adaptive bottom-up features. If none reaches it, the
best query is taken: a picture without regions could not be linked."""

IMAGES = 8
"""Pictures in a batch: detectors read up to 800 x 1333 pixels."""

UNLIMITED = 1 << 20
"""Shorter side in pixels for pictures that are not resized."""

LARGEST = 16_000_000
"""Maximum number of pixels of a picture that is not resized."""

CONFIG, PROCESSOR = "config.json", "preprocessor_config.json"


class Detector:
    """A detector of the DETR family.

    Args:
        model: Returns ``logits``, ``pred_boxes`` and ``last_hidden_state``.
        processor: Turns a picture into the network's input.
        name: The name in error messages.
        concepts: Number of classes.
    """

    def __init__(self, model: Foreign, processor: Foreign, name: str, concepts: int) -> None:
        self._model = model
        self._processor = processor
        self._name = name
        self._concepts = concepts
        sides = dict(processor.size).values() if processor.do_resize else ()
        self._at_least = max((side for side in sides if side), default=UNLIMITED)
        self.dim = int(self._look([self._pixels(_grey())])[0].features.shape[1])

    def regions(self, images: Sequence[Image]) -> list[Regions | str]:
        """Detect the regions of pictures; see ``RegionSource``."""
        files = [image.file or b"" for image in images]
        return list(look_at(files, self._pixels, self._seen, at_least=self._at_least, batch_size=IMAGES))

    def _seen(self, pictures: list[NDArray[np.float32]]) -> list[Regions]:
        """Detect the regions of pictures; pictures of equal size form a batch, so that none is padded."""
        alike: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for number, pixels in enumerate(pictures):
            alike[pixels.shape].append(number)
        found: dict[int, Regions] = {}
        for numbers in alike.values():
            found |= zip(numbers, self._look([pictures[number] for number in numbers]), strict=True)
        return [found[number] for number in range(len(pictures))]

    def _pixels(self, picture: Pillow.Image) -> NDArray[np.float32]:
        """(3, height, width), without padding, so that results do not depend on other pictures in a batch."""
        if not self._processor.do_resize and picture.width * picture.height > LARGEST:
            raise ImageError(
                f"{picture.width} × {picture.height}: too large for a detector that takes pictures as they are"
            )
        made = self._processor(images=picture, return_tensors="np", do_pad=False)
        return np.asarray(made["pixel_values"][0], np.float32)

    def _look(self, pixels: Sequence[NDArray[np.float32]]) -> list[Regions]:
        import torch

        with looking(best_device()):
            output = self._model(pixel_values=torch.from_numpy(np.stack(pixels)).to(best_device()))
            probabilities = self._probabilities(output.logits)
            scores, concepts = probabilities.max(-1)  # (b, queries)
            # YOLOS has its queries after the picture's patches; the others have only queries.
            hidden = output.last_hidden_state[:, -scores.shape[1] :]
            if hidden.shape[:2] != scores.shape:
                raise FeatureError(
                    f"{self._name}: it does not give one hidden state for each query; use another detector"
                )
            scores, best = scores.topk(min(AT_MOST, scores.shape[1]))
            x, y, width, height = _picked(output.pred_boxes, best).float().unbind(-1)
            boxes = torch.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], -1).clamp(0, 1)
            arrays = [_picked(hidden, best).half(), boxes, concepts.gather(1, best).int(), scores.float()]
            features, edges, classes, sure = (array.cpu().numpy() for array in arrays)
        if not (np.isfinite(features).all() and np.isfinite(edges).all() and np.isfinite(sure).all()):
            raise FeatureError(f"{self._name}: gives numbers that are not finite; fetch the model again")
        counts = np.maximum(1, (sure >= SURE).sum(1))
        every = zip(features, edges, classes, sure, strict=True)
        return [Regions(*arrays)[:count] for arrays, count in zip(every, counts.tolist(), strict=True)]

    def _probabilities(self, logits: torch.Tensor) -> torch.Tensor:
        """Return (b, queries, classes) probabilities.

        In DETR and YOLOS the last class is "no object"; other models score each class separately.
        """
        if logits.shape[-1] == self._concepts + 1:
            return logits.float().softmax(-1)[..., :-1]
        if not getattr(
            self._model.config, "use_focal_loss", True
        ):  # RT-DETR and related models can be trained either way
            return logits.float().softmax(-1)[..., :-1]
        return logits.float().sigmoid()


def load_detector(name: str, folder: Path) -> RegionSource:
    """Load a detector by name and folder.

    Raises:
        FeatureError: It cannot be loaded, or is not a detector of the DETR family.
    """
    with loading(name):
        config = pretrained("AutoConfig", folder)
        model, missing = pretrained_model("AutoModelForObjectDetection", folder)
        check_weights(name, missing)
        if not (folder / PROCESSOR).is_file():
            raise FeatureError(f"{name}: {PROCESSOR} is missing: fetch the model again")
        concepts = tuple(str(config.id2label[i]) for i in range(config.num_labels))
        revised = f"{revised_name(name, folder)}/{AT_MOST}-regions-from-{SURE}"
        detector = Detector(model, pretrained("AutoImageProcessor", folder), revised, len(concepts))
        return RegionSource(revised, detector.dim, concepts, detector.regions)


def is_detector(folder: Path) -> bool:
    """Tell whether a model is an object detector, by its configuration alone.

    Raises:
        FeatureError: The configuration is damaged.
    """
    path = folder / CONFIG
    try:
        settings = parse_json(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise FeatureError(f"{path}: cannot be read ({error}): fetch the model again") from error
    architectures = settings.get("architectures") if isinstance(settings, dict) else None
    return isinstance(architectures, list) and any(str(kind).endswith("ForObjectDetection") for kind in architectures)


def _picked(values: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Select (b, k, d) out of (b, queries, d), by (b, k) numbers of queries."""
    return values.gather(1, rows[..., None].expand(-1, -1, values.shape[-1]))


def _grey() -> Pillow.Image:
    from PIL import Image as Pillow

    return Pillow.new("RGB", (64, 64), "grey")
