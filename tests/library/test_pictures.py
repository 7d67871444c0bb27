"""The pictures of a library for a text."""

from __future__ import annotations

import pytest

from iconotext import Document, Linker, LinkSettings
from iconotext.library import add_paths, pictures_for

pytest.importorskip("lancedb", reason="lancedb is not installed")


@pytest.mark.slow
def test_pictures_of_a_library_come_with_what_their_documents_say(picture, tmp_path):
    picture("docs/tram.png", seed=1)
    picture("docs/bread.png", seed=2)
    (tmp_path / "docs" / "a.md").write_text(
        "A red tram runs along the harbour.\n\n![Tram](tram.png)\n\nBread rests on a table.\n\n![](bread.png)\n"
    )
    add_paths(tmp_path / "library", [tmp_path / "docs"])
    text = Document("answer", ["It rains.", "Along the harbour runs a tram."])
    images = pictures_for(text, tmp_path / "library")
    (tram,) = [image for image in images if image.alt == "Tram"]
    assert tram.context[0].text == "A red tram runs along the harbour."
    placed = Linker.load(settings=LinkSettings(cache=False)).place(text, images)
    assert [(placed.document.images[e.image].alt, e.sentence) for e in placed.links if e.confidence > 0.5] == [
        ("Tram", 1)
    ]
