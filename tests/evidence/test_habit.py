"""Habits: where authors put their images, learned from their own documents."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.decide.combine import weigh_evidence
from iconotext.errors import SettingError
from iconotext.evidence.habit import (
    NAMED_HABITS,
    STRENGTH,
    Habit,
    PlaceEvidence,
    collection_of,
    common_shares,
    habit_probability,
    infer_habit,
    infer_shares,
    judged_evidence,
    place_evidence,
)
from iconotext.evidence.layout import OPENING, PLACES, headings, place_numbers, places
from iconotext.types import Document, Image, Sentence
from tests.support.linking import READING


def guide(name: str, *, above: bool, steps: int = 6) -> Document:
    """Steps of one paragraph each, a picture above or below every one; the two sides look the same but for the ends."""
    sentences = tuple(Sentence(f"Do this {n}.", block=n) for n in range(steps))
    images = tuple(Image(f"{n}.jpg", position=n if above else n + 1) for n in range(steps))
    return Document(name, sentences, images)


def told(document: Document, sure: float, sentence_of: Callable[[int], int] = lambda image: image) -> PlaceEvidence:
    """Other evidence that finds the sentence of each image by ``sure`` log-odds."""
    log_odds = np.zeros((len(document.images), len(document.sentences)), np.float32)
    for image in range(len(document.images)):
        log_odds[image, sentence_of(image)] = sure
    return place_evidence(places([document]), log_odds.ravel())


def probability_of(document: Document, found: PlaceEvidence, habit: Habit) -> Any:
    place = places([document])
    return place.cells.matrices(habit_probability([document], place, found, [habit]))[0]


def test_places_of_a_picture_between_two_paragraphs_and_inside_one():
    sentences = tuple(Sentence("x", block=b) for b in (0, 0, 1, 1, 2, 3, 4, 5))
    document = Document("d", sentences, (Image("a.jpg", position=2), Image("b.jpg", position=3)))
    names = [[PLACES[k] for k in row] for row in place_numbers(document)]
    assert [row[0] for row in names] == [
        "below the paragraph",
        "right below the sentence",
        "right above the sentence",
        "above the paragraph",
        "2 paragraphs above",
        "3 paragraphs above",
        "4 to 5 paragraphs above",
        "4 to 5 paragraphs above",
    ]
    assert [row[1] for row in names][2:4] == [
        "inside its paragraph, after the sentence next to it",
        "inside its paragraph, before the sentence next to it",
    ]


@pytest.mark.parametrize("above", [True, False])
def test_a_habit_is_learned_without_labels_and_moves_the_links(above: bool):
    clear = [guide(f"clear{n}", above=above) for n in range(4)]
    habit = infer_habit((d.id, told(d, 3.0)) for d in clear)
    silent = guide("silent", above=above)
    probability = probability_of(silent, told(silent, 0.0), habit)
    inner = range(1, 5)  # at the ends one side has no sentence
    assert [int(probability[:, j].argmax()) for j in inner] == list(inner)
    side = "above" if above else "below"
    assert habit.summary is not None
    assert f"pictures stand {side} their text" in str(habit.summary)


def test_a_document_alone_learns_from_its_own_images():
    document = guide("alone", above=True, steps=30)
    found = told(document, 6.0)
    odd = 15  # nothing is known of this one but what the others show
    found.likelihood[odd] = (found.sentences[odd] > 0).astype(float)
    probability = probability_of(document, found, Habit())
    assert int(probability[:, odd].argmax()) == odd


def test_an_image_is_not_judged_by_its_own_evidence():
    found = told(guide("d", above=True), 9.0)
    alone = PlaceEvidence(found.likelihood[:1], found.sentences[:1])
    habit, _ = infer_shares(alone, STRENGTH * common_shares()[None], [len(alone.sentences)])
    there = alone.sentences[0] > 0
    np.testing.assert_allclose(habit[0], there * common_shares() / common_shares()[there].sum())


def test_large_collections_are_bounded():
    habit = Habit({"b": np.full(len(PLACES), 1000.0)}, common=np.full(len(PLACES), 0.05))
    np.testing.assert_allclose(habit.pseudo_counts("a"), STRENGTH * 0.05 + 150 / len(PLACES))


def test_the_counts_of_the_others_are_their_sum_however_many_there_are():
    chance = np.random.default_rng(0)
    counts = {str(n): chance.random(len(PLACES)) / 100 for n in range(400)}
    habit = Habit(counts, common=np.full(len(PLACES), 0.05))
    for name in ("0", "17", "399", "a document that taught nothing"):
        others = [count for other, count in counts.items() if other != name]
        np.testing.assert_allclose(habit.pseudo_counts(name), STRENGTH * 0.05 + np.sum(others, axis=0), rtol=1e-12)


def test_ten_images_tell_a_habit_whatever_is_lost_in_rounding():
    thirds = np.zeros(len(PLACES))
    thirds[[0, 2, 4]] = 1 / 3
    assert Habit({str(n): thirds for n in range(10)}).summary is not None
    assert Habit({str(n): thirds for n in range(9)}).summary is None


@given(st.integers(1, 4), st.integers(2, 4), st.integers(0, 10**6))
def test_shares_are_a_fixed_point_written_out_in_loops(images: int, places: int, seed: int):
    rng = np.random.default_rng(seed)
    count = np.zeros((images, len(PLACES)))
    count[:, :places] = rng.integers(1, 4, (images, places))
    likelihood = np.where(count > 0, rng.random(count.shape) + 0.1, 0.0)
    pseudo = rng.random(len(PLACES)) + 5.0
    habit, shares = infer_shares(PlaceEvidence(likelihood, count), pseudo[None], [len(count)])
    for j in range(images):
        others = [pseudo[k] + sum(shares[i, k] for i in range(images) if i != j) for k in range(places)]
        weight = [likelihood[j, k] * others[k] for k in range(places)]
        for k in range(places):
            assert shares[j, k] == pytest.approx(weight[k] / sum(weight), abs=1e-4)
            assert habit[j, k] == pytest.approx(others[k] / sum(others), abs=1e-4)


def test_probabilities_of_a_column_sum_to_one_whatever_the_order_of_documents():
    documents = [guide(f"d{n}", above=n % 2 == 0, steps=3 + n) for n in range(4)]
    one = infer_habit((d.id, told(d, 2.0)) for d in documents)
    other = infer_habit((d.id, told(d, 2.0)) for d in reversed(documents))
    for d in documents:
        probability = probability_of(d, told(d, 2.0), one)
        np.testing.assert_allclose(probability.sum(axis=0), 1.0, rtol=1e-5)
        np.testing.assert_allclose(probability, probability_of(d, told(d, 2.0), other), atol=1e-4)
    assert one.digest != Habit().digest


@pytest.mark.parametrize("name", sorted(NAMED_HABITS))
def test_a_given_habit_stands_for_all_inference(name: str):
    document = guide("d", above=name != "above")  # the evidence says something else
    probability = probability_of(document, told(document, 1.0), Habit(name=name))
    other = np.isin(np.arange(OPENING), NAMED_HABITS[name], invert=True)
    assert Habit(name=name).pseudo_counts("d")[:OPENING][other] == pytest.approx(1e-3)
    numbers = place_numbers(document)
    if name != "inside":  # there is no such place here
        for i, j in itertools.product(range(1, 5), range(1, 5)):
            assert (probability[i, j] > 0.01) <= (numbers[i, j] in NAMED_HABITS[name])


def test_named_habits_are_the_places_on_their_side():
    for name, words in {"above": ("above", "before"), "below": ("below", "after", "of the heading")}.items():
        assert NAMED_HABITS[name] == tuple(n for n, place in enumerate(PLACES) if any(word in place for word in words))


def test_a_short_text_alone_in_its_block_is_a_heading():
    texts = ("Bread", "We bake it.", "Slowly", "With care", "it rises.", "Step 3", "Eat")
    document = Document("d", tuple(map(Sentence, texts, (0, 1, 1, 2, 2, 3, 4))), ())
    assert headings([document]).tolist() == [True, False, False, False, False, True, True]


def test_an_unknown_habit_is_an_error():
    with pytest.raises(SettingError, match="no habit 'beside'; there are above, below, inside"):
        Habit(name="beside")


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (Document("a/b", (), (), meta={"repository": "who/what"}), "who/what"),
        (Document("a/b", (), ()), "a"),
        (Document("b", (), ()), ""),
        (Document("a/b", (), (), source=Path("docs/y.md")), ""),
    ],
)
def test_collections(document: Document, name: str):
    assert collection_of(document) == name


STEPS = [
    ("Cut the plywood for the case.", "Sand its edges until they are smooth."),
    ("Solder the wires to the speaker.", "Keep the cables short."),
    ("Glue the magnets into the lid.", "Wait for an hour before you go on."),
    ("Drill two holes for the knobs.", "Clean them with a file."),
    ("Screw the battery holder to the bottom.", "Leave room for the switch."),
    ("Print the grille in two halves.", "Join them with tape."),
    ("Paint the box with varnish.", "Let it dry over night."),
    ("Mount the display behind the window.", "Fix the frame with four bolts."),
    ("Flash the firmware onto the board.", "The lamp blinks when it is done."),
    ("Close the lid and turn it on.", "You should hear a hum."),
]
TOLD = {
    0: "plywood for the case",
    1: "wires of the speaker",
    3: "holes for the knobs",
    5: "grille",
    8: "board, firmware",
}


def build_guide(side: str) -> Document:
    """Steps of two sentences; a picture above or below each, of which half have an alt text."""
    sentences = tuple(Sentence(text, block=2 * k + 1) for k, step in enumerate(STEPS) for text in step)
    images = tuple(
        Image(f"IMG_{k}.jpg", alt=TOLD.get(k), position=2 * k if side == "above" else 2 * k + 2)
        for k in range(len(STEPS))
    )
    return Document("guide", sentences, images)


@pytest.mark.parametrize("side", ["above", "below"])
def test_a_guide_whose_pictures_stand_on_one_side_of_their_steps_is_linked_right(side: str):
    guide = build_guide(side)
    confidence = weigh_evidence(guide, None, READING, evidence=["caption", "layout"]).confidence
    assert (confidence.argmax(axis=0) // 2).tolist() == list(range(len(STEPS)))
    given = weigh_evidence(guide, None, READING, evidence=["layout"], habit=Habit(name=side)).confidence
    assert (given.argmax(axis=0) // 2).tolist() == list(range(len(STEPS)))


def test_what_people_said_of_some_images_says_where_the_others_stand():
    silent = guide("silent", above=True, steps=12)
    found = told(silent, 0.0)
    before = probability_of(silent, found, Habit())
    judged = {image: (image,) for image in range(1, 7)}
    after = probability_of(silent, judged_evidence(silent, found, judged), Habit())
    others = range(7, 11)
    assert all(after[j, j] > before[j, j] for j in others)
    assert [int(after[:, j].argmax()) for j in others] == list(others)
    elsewhere = guide("elsewhere", above=True)
    habit = infer_habit([("silent", judged_evidence(silent, found, judged))])
    plain = infer_habit([("silent", found)])
    assert (
        probability_of(elsewhere, told(elsewhere, 0.0), habit)[2, 2]
        > (probability_of(elsewhere, told(elsewhere, 0.0), plain)[2, 2])
    )


def test_an_image_that_belongs_to_no_sentence_teaches_nothing_and_unknown_ones_are_as_they_were():
    document = guide("d", above=True)
    found = told(document, 1.0)
    none = judged_evidence(document, found, {2: ()})
    assert not none.likelihood[2].any()
    np.testing.assert_array_equal(np.delete(none.likelihood, 2, 0), np.delete(found.likelihood, 2, 0))
    assert judged_evidence(document, found, {}) is found
    shifted = judged_evidence(document, found, {7: (0,)}, [5, 6, 7, 8, 9, 10])  # images known by other numbers
    assert shifted.likelihood[2].sum() == 1
    assert shifted.likelihood[2, place_numbers(document)[0, 2]] == 1


def test_judged_images_are_found_by_their_numbers_beside_broken_ones():
    document = guide("d", above=True)
    broken = replace(document.images[0], problem="not found")
    document = replace(document, images=(broken, *document.images[1:]))
    usual = Habit(judged={"d": {j: (j,) for j in (1, 2, 3)}})
    plain = weigh_evidence(document, None, READING, evidence=["layout", "caption"], habit=Habit())
    told_so = weigh_evidence(document, None, READING, evidence=["layout", "caption"], habit=usual)
    assert told_so.confidence[4, 4] > plain.confidence[4, 4]
    assert not told_so.confidence[:, 0].any()


def page(*lines: str) -> Document:
    """A page from its lines: ``# Heading``, ``- list item``, ``!`` or ``! alternative text`` for a picture, text."""
    sentences: list[Sentence] = []
    images: list[Image] = []
    for block, line in enumerate(lines):
        if line[0] == "!":
            images.append(Image(f"{block}.jpg", alt=line[2:] or None, block=block, position=len(sentences)))
        else:
            kind, text = {"#": ("heading", line[2:]), "-": ("item", line[2:])}.get(line[0], ("paragraph", line))
            sentences.append(Sentence(text, block, cast(Any, kind)))
    return Document("page", tuple(sentences), tuple(images))


BELOW = infer_habit((f"clear{n}", told(guide(f"clear{n}", above=False), 3.0)) for n in range(20))
"""The habit of an author whose pictures stand below their text."""


def linked(document: Document, habit: Habit = BELOW) -> list[str]:
    """The best sentence of each picture, by layout and alternative texts."""
    confidence = weigh_evidence(document, None, READING, evidence=["caption", "layout"], habit=habit).confidence
    return [document.sentences[row].text for row in confidence.argmax(axis=0)]


FLOOR, ROOF = "The old floor was rotten.", "The roof let in the rain."


@pytest.mark.parametrize(
    ("lines", "sentences"),
    [
        (("# Floor", FLOOR, "# Roof", "!", ROOF), [ROOF]),
        (("# Floor", FLOOR, "# Roof", "!", "!", "!", ROOF), [ROOF] * 3),
        (("# House", "# Floor", FLOOR, "# Top", "# Roof", "!", ROOF), [ROOF]),
        (("Step 1", FLOOR, "Step 2.", "!", ROOF), [ROOF]),
        (("Schritt 1", FLOOR, "Schritt 2:", "!", ROOF), [ROOF]),
        (("# Floor", FLOOR, "# The finished roof", "!", "# Garden", "It was wild."), ["The finished roof"]),
        (("# Floor", FLOOR, "# The finished roof", "!", "!"), ["The finished roof"] * 2),
        (("!", "# Floor", FLOOR, "# Roof", ROOF), [FLOOR]),
        (("# Floor", FLOOR, "# Roof", "! A rotten old floor", ROOF), [FLOOR]),  # its text says something else
        (("# Floor", FLOOR, "!", "# Roof", ROOF), [FLOOR]),
        (("# Floor", "- " + FLOOR, "!", "- " + ROOF, "!", "- It was dry."), [FLOOR, ROOF]),
        (("# Floor", FLOOR, "!", "!", "!", ROOF), [FLOOR] * 3),
    ],
)
def test_where_pictures_stand_below_their_text_one_that_opens_a_section_belongs_to_it(
    lines: tuple[str, ...], sentences: list[str]
):
    assert linked(page(*lines)) == sentences


def test_pictures_that_open_sections_do_not_show_where_the_others_stand():
    opening = page(
        "# Floor", *(line for n in range(12) for line in (f"# Part {n}", "!", f"Do this {n}.", f"Rest {n}."))
    )
    found = told(opening, 6.0, lambda image: 2 + 3 * image)
    habit = infer_habit([("opening", found)])
    (middle,) = linked(page("# Floor", FLOOR, "!", ROOF), habit)
    assert middle == FLOOR
    assert linked(opening, habit)[3] == "Do this 3."


@pytest.mark.parametrize("name", sorted(NAMED_HABITS))
def test_a_given_habit_leaves_pictures_that_open_a_section_in_it(name: str):
    assert linked(page("# Floor", FLOOR, "# Roof", "!", ROOF), Habit(name=name)) == [ROOF]
