"""What a sentence says that a picture shows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.alt_text.drafts import LONGEST, depicted


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Figure 3 shows a red barn beside a river.", "A red barn beside a river"),
        ("@fig-barn shows a red barn beside a river.", "A red barn beside a river"),
        ("For example, Fig. 2.4 depicts two old barns, which stood there until 1950.", "Two old barns"),
        ("The photo below shows a red barn (see Figure 4) beside a river [12].", "A red barn beside a river"),
        ("This 1910 map by the surveyor illustrates the course of the river (Miller 1998).", "The course of the river"),
        ("In the picture above you can see a red barn because the light was good.", "A red barn"),
        ("Here is a photo of a red barn at dawn.", "A red barn at dawn"),
        ("This is a diagram showing the gears of a clock:", "The gears of a clock"),
        ("A red barn beside a river is shown in Figure 3.", "A red barn beside a river"),
        ("The gears of a clock are pictured below, and they are made of brass.", "The gears of a clock"),
        ("Figure 1 illustrates the principle of phase detection.", "Phase detection"),
        ("The drawing shows the pump, the tank; the valve is missing.", "The pump, the tank"),
    ],
)
def test_what_is_said(sentence, said):
    assert depicted(sentence) == said


@pytest.mark.parametrize(
    "sentence",
    [
        "A red barn stands beside a river.",  # says nothing of a picture
        "Figure 3 shows that barns are red.",  # a claim, no thing
        "The photo below shows how we built the barn.",
        "Figure 3 shows it from behind.",
        "The photo below shows the result.",
        "This shows the same barn a year later.",  # leans on what came before
        "The image below shows our barn.",
        "The left panel of the figure shows a red barn.",  # a part of the picture
        "Figure 3a shows a red barn.",
        "A red barn is shown on the left in the first photo.",
        "The table shows red barns and their owners.",
        "As shown in Figure 3, barns are red.",
        "It shows red barns at dawn.",  # nobody knows what
        "Figure 3 shows barns.",  # too little
        "Figure 3 shows https://example.org/red barns at dawn.",
        "-time graphs of two barns are shown in Figure 3.",  # cut off before it came here
        "Figure 3 shows a red barn as seen in, because it burned.",  # cut off in the middle
        "Figure 3 shows the farmers and their red barn.",
        "Das Bild zeigt eine rote Scheune.",
        "",
    ],
)
def test_nothing_is_better_than_wrong(sentence):
    assert depicted(sentence) is None


def test_what_is_too_long_ends_at_a_clause_or_is_nothing():
    long = "a barn with walls of red boards and a roof of grey slate"
    assert depicted(f"Figure 3 shows {long} that {'leans to the left ' * 6}.") == f"A{long[1:]}"
    assert depicted(f"Figure 3 shows {'a barn of red boards beside ' * 6}a river.") is None


@given(
    st.lists(
        st.sampled_from("Figure 3 shows the a barn red of , which ( ) in below photo is shown that and [4] .".split()),
        max_size=40,
    )
)
def test_a_draft_is_a_short_part_of_its_sentence(parts):
    sentence = " ".join(parts)
    said = depicted(sentence)
    if said is not None:
        assert 0 < len(said) <= LONGEST
        assert said[0].isupper()
        left = iter(sentence.lower().split())  # its words come in the same order, and some are missing
        assert all(any(word.strip(".,()") == other.strip(".,()") for other in left) for word in said.lower().split())
        assert len(said.split()) < len(sentence.split())
