"""Drafts of alternative texts: which pictures need one, and how drafts come back from JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from iconotext.alt_text.drafts import Draft, is_without_alt, read_drafts, row
from iconotext.errors import SettingError
from iconotext.excerpts import Quote
from iconotext.types import Image

DRAFT = Draft(
    "a:0", "a.md", "digest", 0, "a.png", "A barn", True, 0.91238, (Quote(0, "A barn.", 0, 7, 0, 7),), None, "seer"
)


@pytest.mark.parametrize(
    ("image", "without"),
    [
        (Image("a.png"), True),
        (Image("a.png", alt=" "), True),
        (Image("a.png", alt="A barn"), False),
        (Image("a.png", problem="not found"), False),
        (Image("a.png", decorative=True), False),
    ],
)
def test_which_pictures_need_a_draft(image, without):
    assert is_without_alt(image) is without


def test_there_and_back(tmp_path):
    rows = [row(DRAFT)]
    assert rows[0]["confidence"] == 0.9124
    rows[0]["text"] = "  A barn,\nred "
    path = tmp_path / "drafts.json"
    path.write_text(json.dumps(rows))
    (again,) = read_drafts(path)
    assert again == replace(DRAFT, text="A barn, red", draft=False, confidence=0.0, sentences=(), model=None)


@pytest.mark.parametrize(
    "content",
    ["{", "{}", "[3]", "[{}]", '[{"id": "a", "path": "a", "sha256": "x", "image": true, "source": "", "text": "x"}]',
     '[{"id": "a", "path": "a", "sha256": "x", "image": 1, "source": "", "text": " "}]'],
)  # fmt: skip
def test_other_json_is_refused(tmp_path, content):
    path = tmp_path / "drafts.json"
    path.write_text(content)
    with pytest.raises(SettingError, match=r"drafts\.json"):
        read_drafts(path)
