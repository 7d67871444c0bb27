"""``iconotext analyze study`` and ``votes``: what people prefer of two models (Alikhani 2021, Table 6)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import BaseModel, ConfigDict, Field

from iconotext.cli.common import known_errors, make_settings, parse_settings
from iconotext.cli.evaluate import Split, select
from iconotext.cli.options import Download, Force, Json
from iconotext.cli.output import output_console, say, say_json
from iconotext.errors import CorpusError, OutputError
from iconotext.plain_text import percent

if TYPE_CHECKING:
    from iconotext.evaluate.pair_vectors import PairVectors
    from iconotext.papers.studies import StudyResults
    from iconotext.papers.studies.preference import Preference


SMALL_EFFECT = 0.2
"""Cohen's word for it."""


class StudySettings(BaseModel):
    """Settings of ``analyze study``; each can be given as ``--set name=value``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    raters: int = Field(3, ge=1)
    """People who judge each pair."""

    seed: int = Field(0, ge=0)
    """Of the texts, of their order and of the two sides."""

    cache: bool = True
    """Whether features are kept on disk."""


class VotesSettings(BaseModel):
    """Settings of ``analyze votes``; each can be given as ``--set name=value``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    power: float = Field(0.95, gt=0, lt=1)
    """Of the sensitivity analysis."""

    significance: float = Field(0.05, gt=0, lt=1)
    """Of the sensitivity analysis."""


def study(
    first: Annotated[
        str, typer.Argument(help="The model that is asked about, as for `evaluate --pool`.", show_default=False)
    ],
    second: Annotated[str, typer.Argument(help="The model it is compared with.", show_default=False)],
    corpus: Annotated[Path, typer.Argument(help="Corpus file of texts and their pictures.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="The study to make.")] = Path("study.sqlite"),
    split: Annotated[Split | None, typer.Option(help="Part of the corpus (default: all).", show_default=False)] = None,
    relation: Annotated[
        list[str] | None,
        typer.Option(
            help="Only texts with this relation to their picture; may be given several times.", show_default=False
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(min=1, help="Texts to draw, for each relation (default: all).", show_default=False),
    ] = None,
    download: Download = False,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="raters=3, seed=1, cache=false.", show_default=False),
    ] = None,
) -> None:
    """Make a study: for each text, the best picture of two models side by side, for people to choose from.

    Both models search all pictures of the corpus, refined as their folders say. Order and sides are random; the same
    picture twice stays in the study, marked as such.

    **Example**

    - `iconotext analyze study models/cmcm models/cmca clue.jsonl --split test --relation story --count 100`
    """
    with known_errors(download=download):
        from iconotext.cli.evaluate_retrieval import encoded_pairs, refinement_of, retrieval_encoder, score_of
        from iconotext.papers.studies import create_study
        from iconotext.papers.studies.contenders import chosen_queries, contenders
        from iconotext.papers.studies.preference import pairs_needed, smallest_effect
        from iconotext.relations import relation_name

        settings = make_settings(StudySettings, parse_settings(set_ or [], StudySettings)[0])
        if output.exists():
            raise OutputError(f"{output} exists already, and a study may hold votes; give another name (--output)")
        chosen = select(corpus, split)
        scores, encoded = [], []
        for model in (first, second):
            encoder = retrieval_encoder(model, cache=settings.cache)
            pairs = encoded_pairs(encoder, chosen)
            encoded.append(pairs)
            scores.append(score_of(encoder, pairs, refinement_of(model, encoder, None, None)))
        _same(first, second, encoded)
        relations = list(dict.fromkeys(relation_name(name, encoded[0].relations) for name in relation or ()))
        queries = chosen_queries(encoded[0], relations=relations, count=count, seed=settings.seed)
        found = contenders(scores[0], scores[1], encoded[0], queries)
        same = create_study(output, found, first=first, second=second, raters=settings.raters, seed=settings.seed)
        say(
            f"{output}: {len(found):,} pairs, {same:,} of them the same picture twice; "
            f"{settings.raters * len(found):,} votes are wanted",
            err=True,
        )
        if len(found) > 1:
            say(
                f"so many pairs can show an effect of {smallest_effect(len(found)):.2f}; one of {SMALL_EFFECT:g}, "
                f"usually called small, takes {pairs_needed(SMALL_EFFECT):,} pairs (--count)",
                err=True,
            )


def _same(first: str, second: str, encoded: list[PairVectors]) -> None:
    """Both models must search the same pictures by the same texts.

    Raises:
        CorpusError: One of them could read what the other could not.
    """
    one, other = encoded
    if one.ids != other.ids or one.image_of.tolist() != other.image_of.tolist():
        raise CorpusError(
            f"{first} and {second} could not read the same pictures of the corpus: {len(one.left_out)} and "
            f"{len(other.left_out)} left out"
        )


def votes(
    file: Annotated[Path, typer.Argument(metavar="STUDY", help="The study's file.", show_default=False)],
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the raw votes to it.", show_default=False)
    ] = None,
    as_json: Json = False,
    force: Force = False,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="power=0.8, significance=0.01.", show_default=False),
    ] = None,
) -> None:
    """Count the votes of a study: better, worse, both good, both bad, for each relation, by majority.

    With a t-test and a sign test of the preference, and the smallest effect that so many pairs could have shown.

    **Examples**

    - `iconotext analyze votes study.sqlite`
    - `iconotext analyze votes study.sqlite --csv votes.csv --json`
    """
    with known_errors():
        from iconotext.papers.studies import export_votes, progress, study_results

        settings = make_settings(VotesSettings, parse_settings(set_ or [], VotesSettings)[0])
        found = study_results(file, power=settings.power, significance=settings.significance)
        far = progress(file)
        if csv is not None:
            export_votes(file, csv, force=force)
        if as_json:
            done = {"votes": far.votes, "wanted": far.wanted, "of_rater": dict(far.of_rater)}
            say_json(found.as_dict() | done)
        else:
            show_votes(found)
            say(
                f"\n{far.votes:,} of {far.wanted:,} votes by {len(far.of_rater):,} raters; {far.complete:,} of "
                f"{far.pairs:,} pairs have all of theirs, and only those are counted."
            )


def show_votes(found: StudyResults) -> None:
    """A table for people, on stdout."""
    from rich.table import Table
    from rich.text import Text

    from iconotext.papers.studies.results import OUTCOMES

    tables = []
    for columns in (("Pairs", *(outcome.capitalize() for outcome in OUTCOMES)), TESTS):
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        table.add_column("Relation", no_wrap=True, min_width=max((len(row.relation) for row in found.rows), default=8))
        for column in columns:
            table.add_column(column, justify="right")
        tables.append(table)
    for row in found.rows:
        shares = ("–" if share is None else percent(share) for share in map(row.share, OUTCOMES))
        tables[0].add_row(Text(row.relation), f"{row.pairs:,}", *shares)
        tables[1].add_row(Text(row.relation), *_tests(row.preference))
    console = output_console()
    console.print(tables[0])
    console.print()
    console.print(tables[1])
    say(
        f"\n{found.about.first} against {found.about.second}, by majority of {found.about.raters}. d is the effect "
        f"size; effects as large as the last column says are detected with a power of {100 * found.power:g} % at a "
        f"significance level of {100 * found.significance:g} %."
    )


TESTS = ("t", "p", "p (sign)", "d", "d seen from")
"""Columns of the second table."""


def _tests(found: Preference | None) -> list[str]:
    if found is None:
        return ["–"] * 5
    figures = (
        (found.t, ".2f"),
        (found.p, ".2g"),
        (found.p_sign, ".2g"),
        (found.effect, ".2f"),
        (found.smallest_effect, ".2f"),
    )
    return ["–" if value is None else format(value, form) for value, form in figures]
