import subprocess
import sys

import pytest


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600).stdout


HEAVY = "[name for name in ('torch', 'transformers', 'sentence_transformers', 'tokenizers') if name in sys.modules]"


def test_importing_loads_nothing_heavy():
    assert run(f"import sys, iconotext.features; print({HEAVY})") == "[]\n"


@pytest.mark.slow
def test_default_backbones_load_nothing_heavy_before_they_are_used():
    code = "import sys; from iconotext.features import *; load_text_backbone(); load_image_backbone()"
    assert run(f"{code}; print({HEAVY})") == "[]\n"


@pytest.mark.slow
def test_encoding_sentences_needs_no_torch():
    code = "import sys; from iconotext.features import *; load_text_backbone().encode(['a'])"
    assert run(f"{code}; print({HEAVY})") == "['tokenizers']\n"


def test_the_names_are_there():
    import iconotext.features

    assert iconotext.features.__all__ == sorted(iconotext.features.__all__)
    assert all(hasattr(iconotext.features, name) for name in iconotext.features.__all__)
