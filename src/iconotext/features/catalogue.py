"""Encoders of others that are worth fetching: ``HUB_MODELS``, a table that is kept by hand.

It holds what the files of a model do not say: what it is good for, its languages and licence, and the words that its
makers put before a text. The models were not measured here; sizes follow from the number of weights that the makers
state. Revisions and digests are not in the table: ``hub_files`` notes them when a model is fetched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_BYTES = {"fp32": 4, "fp16": 2, "quantized": 1}


@dataclass(frozen=True, slots=True)
class HubModel:
    """A row of the table.

    Attributes:
        name: Name on the Hugging Face hub, with the precision of its graphs after a colon.
        compares: What its vectors compare.
        made_from: The model that was exported, as the ``_name_or_path`` of its settings calls it.
        weights: Number of weights, in millions.
        languages: Its languages, in words.
        need: What it is a good choice for.
        licence: The terms of its makers.
        language: Code of its only language; None if there are several.
        prefix: Words that its makers put before each of two texts that are compared with each other.
        pooling: How the vectors of a text's tokens become one; empty if the graph does that.
    """

    name: str
    compares: str
    made_from: str
    weights: float
    languages: str
    need: str
    licence: str
    language: str | None = None
    prefix: str = ""
    pooling: str = ""

    @property
    def megabytes(self) -> int:
        """About how many megabytes are fetched, without tokenizer and settings."""
        return round(self.weights * _BYTES[self.name.rpartition(":")[2]])


_BOTH, _TEXTS = "pictures with sentences", "sentences with captions"

HUB_MODELS = (
    HubModel(
        "onnx-community/TinyCLIP-ViT-8M-16-Text-3M-YFCC15M-ONNX:fp32",
        _BOTH,
        "wkcn/TinyCLIP-ViT-8M-16-Text-3M-YFCC15M",
        23.9,
        "English",
        "photographs, where little room is left",
        "MIT",
        "en",
    ),
    HubModel(
        "Xenova/mobileclip_s0:fp16",
        _BOTH,
        "apple/mobileclip_s0",
        53.8,
        "English",
        "photographs, quickly",
        "Apple's own terms",
        "en",
    ),
    HubModel(
        "Xenova/mobileclip_s2:fp16",
        _BOTH,
        "apple/mobileclip_s2",
        99.1,
        "English",
        "photographs",
        "Apple's own terms",
        "en",
    ),
    HubModel(
        "Xenova/clip-vit-base-patch32:quantized",
        _BOTH,
        "openai/clip-vit-base-patch32",
        151.3,
        "English",
        "photographs; the model that others are compared with",
        "MIT; its card advises research only",
        "en",
    ),
    HubModel(
        "Xenova/siglip-base-patch16-224:quantized",
        _BOTH,
        "google/siglip-base-patch16-224",
        203.2,
        "English",
        "photographs, drawings, pictures with words",
        "Apache-2.0",
        "en",
    ),
    HubModel(
        "onnx-community/siglip2-base-patch16-224-ONNX:quantized",
        _BOTH,
        "google/siglip2-base-patch16-224",
        375.2,
        "over a hundred",
        "photographs and drawings, in other languages than English",
        "Apache-2.0",
    ),
    HubModel(
        "Xenova/paraphrase-multilingual-MiniLM-L12-v2:quantized",
        _TEXTS,
        "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
        117.7,
        "over fifty",
        "captions in another language than English, or in another than the text",
        "Apache-2.0",
        pooling="mean",
    ),
    HubModel(
        "Xenova/multilingual-e5-small:quantized",
        _TEXTS,
        "intfloat/multilingual-e5-small",
        117.7,
        "some hundred",
        "longer captions and sentences, in any of its languages",
        "MIT",
        prefix="query: ",
        pooling="mean",
    ),
    HubModel(
        "Xenova/multilingual-e5-base:quantized",
        _TEXTS,
        "intfloat/multilingual-e5-base",
        278.0,
        "some hundred",
        "the same, larger",
        "MIT",
        prefix="query: ",
        pooling="mean",
    ),
)
"""Encoders of others that run without PyTorch, the smallest first."""


def catalogue_entry(name: str, settings: dict[str, Any]) -> HubModel | None:
    """Return the row of a model: by its name on the hub, or by the name in its settings (``_name_or_path``).

    Args:
        name: Without the precision.
        settings: Those of its ``config.json``.
    """
    names = {name, str(settings.get("_name_or_path"))}
    return next((row for row in HUB_MODELS if names & {row.name.rpartition(":")[0], row.made_from}), None)
