from __future__ import annotations

import pytest

from iconotext import ReadSettings, read
from iconotext.corpus.builders.folder import layout_links
from iconotext.types import Document, Image, Sentence


@pytest.fixture
def linked(tmp_path, picture):
    """Texts that each picture of a Markdown text is linked to, by its file's name."""

    def links(text, **reading):
        for i, name in enumerate("abcd"):
            picture(f"{name}.png", seed=i)
        path = tmp_path / "page.md"
        path.write_text(text)
        document = read(path, ReadSettings(language="en", **reading))
        found: dict[str, list[str]] = {image.source[0]: [] for image in document.images}
        for sentence, image in layout_links(document):
            found[document.images[image].source[0]].append(document.sentences[sentence].text)
        return found

    return links


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Far.\n\nOne. Two.\n\n![](a.png)\n\nThree.", ["One.", "Two."]),
        ("Far.\n\nOne. ![](a.png) Two.\n\nThree.", ["One.", "Two."]),
        ("- Far.\n- One. Two.\n\n  ![](a.png)\n\n- Three.", ["One.", "Two."]),
        ("![](a.png)\n\nOne. Two.\n\nFar.", ["One.", "Two."]),
        ("Far.\n\n# Title\n\n![](a.png)\n\nOne. Two.", ["One.", "Two."]),
        ("Far.\n\n# Title\n\n![](a.png)\n\n# Next\n\nFar.", ["Title"]),
        ("# Title\n\n![](a.png)", ["Title"]),
        ("Far.\n\nOne.\n\n![](b.png)\n\n![](a.png)\n\nFar.", ["One."]),
    ],
)
def test_the_paragraph_at_the_picture(linked, text, wanted):
    assert linked(text)["a"] == wanted


def test_captions_are_not_among_the_sentences_of_a_paragraph(linked):
    text = "A red door.\n\n![](a.png 'The red door.') ![](b.png 'The blue roof.')\n\nA blue roof."
    assert linked(text, captions=True) == {"a": ["A red door."], "b": ["A red door."]}


def test_without_layout_sentences_or_images_there_are_no_links():
    sentence, image = Sentence("A.", 0), Image("a", block=1, position=1)
    assert layout_links(Document("a", (sentence,), (image,))) == ((0, 0),)
    assert layout_links(Document("a", (Sentence("A."),), (image,))) == ()
    assert layout_links(Document("a", (sentence,), (Image("a"),))) == ()
    assert layout_links(Document("a", (), (image,))) == ()
    assert layout_links(Document("a", (sentence,), ())) == ()
