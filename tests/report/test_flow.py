from __future__ import annotations

from iconotext.report.flow import blocks, images_after
from iconotext.types import Image, Sentence
from tests.support.linked import link, make_linked


def after(images, links, sentences=12):
    """Block to images of a document with a sentence in each block."""
    made = make_linked([Sentence(f"Sentence {n}.", n) for n in range(sentences)], images, links)
    strongest = {each.image: each for each in links}
    return images_after(made.document, blocks(made.document.sentences), strongest)


def test_a_guess_stays_where_its_author_put_it():
    images = [Image(f"{n}.jpg", position=8) for n in range(3)]
    links = [link(1, 0, 0.12), link(2, 1, 0.299), link(3, 2, 0.3)]
    assert after(images, links) == {3: [2], 7: [0, 1]}


def test_a_picture_within_a_paragraph_follows_that_paragraph():
    sentences = [Sentence("One.", 0), Sentence("Two.", 1), Sentence("Three.", 1), Sentence("Four.", 2)]
    made = make_linked(sentences, [Image("a.jpg", block=1, position=2)], [link(0, 0, 0.1)])
    assert images_after(made.document, blocks(made.document.sentences), {0: made.links[0]}) == {1: [0]}


def test_a_guess_before_all_text_stays_before_it():
    images = [Image("a.jpg", position=0), Image("b.jpg", block=0, position=0)]
    assert after(images, [link(5, n, 0.1) for n in range(2)]) == {-1: [0], 0: [1]}


def test_a_guess_without_a_place_stands_by_its_sentence():
    assert after([Image("a.jpg")], [link(5, 0, 0.1)]) == {5: [0]}


def test_pictures_of_one_place_keep_the_order_of_the_author():
    images = [Image(f"{n}.jpg", position=8) for n in range(10)]
    sentences = {0: 2, 8: 0, 9: 1, 1: 2}
    made = make_linked(
        [Sentence(f"Sentence {n}.", n // 3) for n in range(9)],
        images,
        [link(sentence, image, 0.5) for image, sentence in sentences.items()],
    )
    strongest = {each.image: each for each in made.links}
    assert images_after(made.document, blocks(made.document.sentences), strongest) == {0: [0, 1, 8, 9]}
