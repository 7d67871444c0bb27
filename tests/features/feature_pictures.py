"""Pictures and tiny backbones for the tests of features."""

import hashlib
import io
from pathlib import Path

import numpy as np
import skimage
from PIL import Image as Pillow

from iconotext.errors import PictureError
from iconotext.features.backbone import ImageFeatures, blank_features
from iconotext.read.images import decode

SAMPLES = Path(skimage.__file__).parent / "data"
BROKEN = b"no picture"


def noise(seed, width=96, height=80, kind="PNG"):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    stream = io.BytesIO()
    Pillow.fromarray(pixels).save(stream, kind)
    return stream.getvalue()


class CountingText:
    """Random unit vectors by text; remembers what it was asked."""

    name = space = "counting"
    dim = 5

    def __init__(self):
        self.asked = []

    def encode(self, texts):
        self.asked += texts
        vectors = np.stack([_vector(text.encode(), self.dim) for text in texts])
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class CountingImage:
    """Random features by content; remembers how many files it was asked for."""

    name = space = "counting"
    dim = 4
    classes = ("a", "b", "c")

    def __init__(self):
        self.asked = 0

    def encode(self, files, *, regions=False):
        self.asked += len(files)
        features = blank_features(len(files), self.dim, classes=3, regions=regions)
        problems = []
        for row, file in enumerate(files):
            try:
                decode(file)
            except PictureError as error:
                problems.append(str(error))
                continue
            problems.append(None)
            data = file if isinstance(file, bytes) else file.read_bytes()
            for array in features.arrays().values():
                array[row] = (100 * _vector(data, array[row].size)).reshape(array[row].shape).astype(array.dtype)
        return ImageFeatures(**features.arrays(), problems=tuple(problems))


def _vector(data, dim):
    seed = int.from_bytes(hashlib.sha256(data).digest()[:8])
    return np.random.default_rng(seed).random(dim).astype(np.float32)
