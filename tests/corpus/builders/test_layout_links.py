from __future__ import annotations

import pytest

from iconotext import ReadSettings, read
from iconotext.corpus.builders.folder import layout_links
from iconotext.types import Document, Image, Sentence


@pytest.fixture
def linked(tmp_path, picture):
    """Texts that each picture of a Markdown text is linked to, by its file's name."""

    def links(text, rule, **reading):
        for i, name in enumerate("abcd"):
            picture(f"{name}.png", seed=i)
        path = tmp_path / "page.md"
        path.write_text(text)
        document = read(path, ReadSettings(language="en", **reading))
        found: dict[str, list[str]] = {image.source[0]: [] for image in document.images}
        for sentence, image in layout_links(document, rule):
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
def test_adjacent(linked, text, wanted):
    assert linked(text, "adjacent")["a"] == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1. Far.\n2. One. Two.\n\n   ![](a.png)\n\n3. Three.", ["One.", "Two."]),
        ("1. Far.\n2. One. Two.\n\n![](a.png)\n\nThree.", ["One.", "Two."]),
        ("Far.\n\n# Title\n\nOne.\n\n![](a.png)\n\nTwo.\n\n# Next\n\nFar.", ["One.", "Two."]),
        ("# Title\n\n![](a.png)\n\n1. One.\n2. Two.\n\n# Next\n\n1. Far.", ["One."]),
        ("1. Far.\n\n# Title\n\n![](a.png)\n\nOne.", ["One."]),
        ("# Title\n\n![](a.png)\n\n# Next\n\nFar.", []),
    ],
)
def test_step(linked, text, wanted):
    assert linked(text, "step")["a"] == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('The red door opens.\n\nFar.\n\n![](a.png "A door, red")\n\nOther.', ["The red door opens."]),
        ("The red door opens.\n\n![A red door](a.png)", ["The red door opens."]),
        ("A red door.\n\nFar.\n\n![](a.png 'Red door')\n\nThe red door.", ["The red door."]),  # the nearer one
        ("A red door.\n\n![](a.png 'Figure 3')", []),
        ("A red roof.\n\n![](a.png 'Red door handle, brass')", []),  # one word of four
        ("A red door.\n\n![](a.png)", []),
    ],
)
def test_caption_among_the_sentences(linked, text, wanted):
    assert linked(text, "caption")["a"] == wanted


def test_captions_that_are_sentences_themselves(linked):
    text = "A red door.\n\n![](a.png 'The red door.') ![](b.png 'The blue roof.')\n\nA blue roof."
    assert linked(text, "caption", captions=True) == {"a": ["The red door."], "b": ["The blue roof."]}
    assert linked(text, "adjacent", captions=True) == {"a": ["A red door."], "b": ["A red door."]}
    assert linked(text, "caption") == {"a": ["A red door."], "b": ["A blue roof."]}


def test_without_layout_sentences_or_images_there_are_no_links():
    sentence, image = Sentence("A.", 0), Image("a", block=1, position=1)
    assert layout_links(Document("a", (sentence,), (image,)), "adjacent") == ((0, 0),)
    assert layout_links(Document("a", (Sentence("A."),), (image,)), "adjacent") == ()
    assert layout_links(Document("a", (sentence,), (Image("a"),)), "step") == ()
    assert layout_links(Document("a", (), (image,)), "caption") == ()
    assert layout_links(Document("a", (sentence,), ()), "caption") == ()
