"""``iconotext analyze study`` and ``votes``: what people prefer of two models (Alikhani 2021, Table 6)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iconotext.cli.common import known_errors
from iconotext.cli.evaluate_settings import Split
from iconotext.cli.grids import show
from iconotext.cli.options import Download, Force, Json, SettingsPanel, settings_options
from iconotext.cli.output import say, say_json
from iconotext.errors import OutputError
from iconotext.papers.analyses.settings import StudySettings, VotesSettings

SMALL_EFFECT = 0.2
"""Cohen's word for it."""


@settings_options
def study(
    first: Annotated[
        str, typer.Argument(help="The model that is asked about, as for `evaluate --pool`.", show_default=False)
    ],
    second: Annotated[str, typer.Argument(help="The model it is compared with.", show_default=False)],
    corpus: Annotated[Path, typer.Argument(help="Corpus file of texts and their pictures.", show_default=False)],
    settings: Annotated[StudySettings, SettingsPanel("How it is drawn")],
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
) -> None:
    """Make a study: for each text, the best picture of two models side by side, for people to choose from.

    Both models search all pictures of the corpus, refined as their folders say. Order and sides are random; the same
    picture twice stays in the study, marked as such.

    **Example**

    - `iconotext analyze study models/cmcm models/cmca clue.jsonl --split test --relation story --count 100`
    """
    with known_errors(download=download):
        from iconotext.cli.evaluate_retrieval import encoded_pairs
        from iconotext.evaluate.corpus_part import corpus_part
        from iconotext.evaluate.retrieval_report import chosen_refinement, retrieval_encoder, retrieval_score
        from iconotext.papers.studies import create_study
        from iconotext.papers.studies.contenders import check_same_pairs, chosen_queries, contenders
        from iconotext.papers.studies.preference import pairs_needed, smallest_effect

        if output.exists():
            raise OutputError(f"{output} exists already, and a study may hold votes; give another name (--output)")
        chosen = corpus_part(corpus, split and split.value)
        scores, encoded = [], []
        for model in (first, second):
            encoder = retrieval_encoder(model, corpus, cache=settings.cache)
            pairs = encoded_pairs(encoder, chosen)
            encoded.append(pairs)
            scores.append(retrieval_score(encoder, pairs, chosen_refinement(model, encoder)))
        check_same_pairs(encoded[0], encoded[1])
        queries = chosen_queries(encoded[0], relations=relation or (), count=count, seed=settings.seed)
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


@settings_options
def votes(
    file: Annotated[Path, typer.Argument(metavar="STUDY", help="The study's file.", show_default=False)],
    settings: Annotated[VotesSettings, SettingsPanel("Sensitivity analysis")],
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the raw votes to it.", show_default=False)
    ] = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Count the votes of a study: better, worse, both good, both bad, for each relation, by majority.

    With a t-test and a sign test of the preference, and the smallest effect that so many pairs could have shown.

    **Examples**

    - `iconotext analyze votes study.sqlite`
    - `iconotext analyze votes study.sqlite --csv votes.csv --json`
    """
    with known_errors():
        from iconotext.papers.studies import export_votes, progress, study_results
        from iconotext.papers.studies.results import study_grids

        found = study_results(file, power=settings.power, significance=settings.significance)
        far = progress(file)
        if csv is not None:
            export_votes(file, csv, force=force)
        if as_json:
            done = {"votes": far.votes, "wanted": far.wanted, "of_rater": dict(far.of_rater)}
            say_json(found.as_dict() | done)
        else:
            show(study_grids(found))
            say(
                f"\n{far.votes:,} of {far.wanted:,} votes by {len(far.of_rater):,} raters; {far.complete:,} of "
                f"{far.pairs:,} pairs have all of theirs, and only those are counted."
            )
