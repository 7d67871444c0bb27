"""How often links of a confidence are right: the table in the package, in words, and where it is shown."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pytest
from fitting import confidence

from iconotext import Document, Image, Link, LinkedDocument, Sentence
from iconotext.decide.measured import MEASURED, measured_at
from iconotext.evidence.kinds import DEFAULT_EVIDENCE
from iconotext.report.reading_page import reading_page


def page_and_data(*kinds: str) -> tuple[str, dict[str, object]]:
    document = Document("d", (Sentence("A.", 0), Sentence("B.", 1)), (Image("a.png", position=1, block=2),))
    links = (Link(0, 0, 0.8, 0.8, 0.8, dict.fromkeys(kinds, 1.0)),)
    page = reading_page(LinkedDocument(document, links, np.zeros((2, 1), np.float32), "m"))
    return page, json.loads(page.split('<script type="application/json" id="data">')[1].split("</script>")[0])


def test_the_table_is_about_shares_of_fewer_and_fewer_figures():
    assert [row.at_least for row in MEASURED] == pytest.approx([0.1 * n for n in range(1, len(MEASURED) + 1)])
    kept = [row.coverage for row in MEASURED]
    assert kept == sorted(kept, reverse=True)
    for row in MEASURED:
        assert 0 < row.sentence < row.paragraph < 1  # who finds the sentence finds its paragraph
        for low, high in (row.sentence_range, row.paragraph_range):
            assert 0 <= low <= high <= 1


@pytest.mark.slow
def test_the_step_writes_what_the_package_has():
    figures = confidence.Figures("", np.arange(300), *2 * [np.linspace(0, 0.79, 300)], *2 * [np.ones(300)])
    made = [
        line for t in confidence.THRESHOLDS if (line := confidence.row([figures, figures], [[figures, figures]], t))
    ]
    shipped = json.loads((files("iconotext.decide") / "confidence.json").read_text())["rows"]
    assert [list(row) for row in made] == [list(row) for row in shipped]
    assert [row["at_least"] for row in made] == [row["at_least"] for row in shipped]


@pytest.mark.parametrize("of", ["sentence", "paragraph"])
def test_the_numbers_of_the_corrections_are_fitted_again(of):
    """Figures that are right exactly as often as the corrected probabilities say."""
    stated = confidence.CORRECTIONS[of].apply(np.repeat(np.linspace(0.05, 1, 20), 1000), 0.1)
    right = (np.tile(np.arange(1000), 20) + 0.5) / 1000 < stated
    figures = confidence.Figures("", np.arange(20_000), stated, stated, right.astype(float), right.astype(float))
    # What is stated was corrected with the number that ships: the fit undoes this first.
    ships = confidence.CORRECTIONS[of]._replace(number=0.1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(confidence.CORRECTIONS, of, ships)
        assert confidence.fitted([figures], of) == pytest.approx(0.1, abs=0.011)
        assert confidence.calibration_error(figures.claim(of)) < 0.01
        raw = confidence.before(figures.claim(of), of)
        np.testing.assert_allclose(raw.stated, np.repeat(np.linspace(0.05, 1, 20), 1000), atol=1e-3)


def test_in_words():
    row = MEASURED[4]._replace(
        source="90 cited figures of 3 publishers", coverage=0.55, sentence=0.618, sentence_range=(0.592, 0.717),
        paragraph=0.832, paragraph_range=(0.73, 0.99),
    )  # fmt: skip
    assert row.words.replace("\u00a0", " ") == (
        "Of sentences that were 50 % sure or more, 62 % (59–72 by publisher) were right and 83 % (73–99) in the right "
        "paragraph, measured on 90 cited figures of 3 publishers that were left out of the fit; 55 % of the figures had "
        "such a link."
    )


@pytest.mark.parametrize(("confidence", "row"), [(0.0, 0.1), (0.1, 0.1), (0.3, 0.3), (0.59, 0.5), (1.0, 0.7)])
def test_a_confidence_between_two_has_the_row_below(confidence, row):
    found = measured_at(confidence, DEFAULT_EVIDENCE)
    assert found is not None
    assert found.at_least == pytest.approx(row)


def test_other_evidence_was_not_measured():
    assert measured_at(0.5, ("picture", "layout")) is None
    page, data = page_and_data("picture")
    assert data["measured"] == []
    assert 'id="measured"' not in page


def test_the_reading_view_has_a_sentence_for_each_confidence():
    page, data = page_and_data("caption", "layout")
    assert data["measured"] == [[round(100 * row.at_least), row.words] for row in MEASURED]
    assert f'<p id="measured">{MEASURED[0].words}</p>' in page
    assert 'aria-describedby="measured"' in page
