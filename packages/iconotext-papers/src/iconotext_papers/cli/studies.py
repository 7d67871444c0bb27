"""``iconotext papers study``: people choose between the pictures that two models find for a text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import known_errors
from iconotext.cli.options import Download, Force, Json, Split, argument, option, settings_options
from iconotext.cli.output import complain, say, say_json, show
from iconotext.errors import SettingError
from iconotext.system.files import check_overwrite
from iconotext_papers.analyses.settings import StudySettings, VotesSettings

if TYPE_CHECKING:
    from iconotext_papers.analyses.top_images import Search

SMALL_EFFECT = 0.2
"""Cohen's term for an effect of this size."""

OWN = "own"
"""Stands for a relation: for each model the relations that it predicts."""

Corpus = Annotated[Path, argument(help="Corpus file of texts and their pictures.")]
PartOfCorpus = Annotated[Split | None, option(help="Split to take (default: test, else all).")]


@settings_options
def write(
    models: Annotated[
        list[str],
        argument(
            metavar="MODEL... OTHER",
            help="The models, and last what they are compared with. As for `evaluate --pool`.",
        ),
    ],
    corpus: Corpus,
    settings: StudySettings,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to make.")] = Path("study.html"),
    split: PartOfCorpus = None,
    relation: Annotated[
        list[str] | None,
        option(
            help="Only texts with this relation to their picture. May be repeated. `own`: for each model "
            "those that it predicts."
        ),
    ] = None,
    count: Annotated[int | None, option(min=1, help="Texts to draw, for each relation (default: all).")] = None,
    download: Download = False,
    force: Force = False,
) -> None:
    """Write a study, one HTML file: the best pictures of two models for each text, for people to choose from.

    All models search all pictures of the split, refined as their folders say. Each is compared with the last one. The
    same picture twice stays in the study, marked as such. Send the page to the judges: it opens from disk, in an order
    and on sides that are random for each of them, and saves their answers as files. Keep the key beside it
    (study.key.json), which says whose pictures they are.

    **Examples**

    - `iconotext papers study write models/cmcm models/cmca c.jsonl --relation story`
    - `iconotext papers study write models/cmcm models/cmca c.jsonl --relation own`
    """
    with known_errors(download=download):
        from iconotext_papers.analyses.top_images import chosen_queries
        from iconotext_papers.studies.results import pairs_needed, smallest_effect
        from iconotext_papers.studies.study import contenders, key_path, write_study

        for path in (output, key_path(output)):
            check_overwrite(path, force)
        if len(models) < 2:
            raise SettingError("a study compares models: name at least two, and behind them the corpus")
        *searches, other = searches_of(models, corpus, split, cache=settings.cache)
        study_pairs = []
        for search in searches:
            relations = _relations(search, relation or [])
            queries = chosen_queries(search.pairs, relations=relations, count=count, seed=settings.seed)
            study_pairs += contenders(search, other, queries)
        same = write_study(
            output, study_pairs, second=other.model, raters=settings.raters, seed=settings.seed, force=force
        )
        say(
            f"{output}: {len(study_pairs):,} pairs, {same:,} of them the same picture twice; "
            f"{settings.raters * len(study_pairs):,} votes are wanted; {key_path(output)} is the key, for you alone",
            err=True,
        )
        for search in searches:
            pairs = sum(pair.model == search.model for pair in study_pairs)
            if pairs > 1:
                say(
                    f"{search.model}: {pairs:,} pairs can show an effect of {smallest_effect(pairs):.2f}; one of "
                    f"{SMALL_EFFECT:g}, usually called small, takes {pairs_needed(SMALL_EFFECT):,} pairs (--count)",
                    err=True,
                )


@settings_options
def count_votes(
    key: Annotated[Path, argument(metavar="KEY", help="The key of the study, or its page with the key beside it.")],
    answers: Annotated[list[Path], argument(metavar="ANSWERS...", help="Files that raters saved, one of each.")],
    settings: VotesSettings,
    as_json: Json = False,
) -> None:
    """Count the votes of a study: better, worse, both good, both bad, for each relation, by majority.

    The table adds a t-test and a sign test of the preference, the smallest effect that so many pairs could have shown,
    and the agreement of the raters.

    **Example**

    - `iconotext papers study count study.key.json answers-*.json`
    """
    with known_errors():
        from iconotext_papers.studies.results import study_grids, study_results
        from iconotext_papers.studies.study import read_answers, read_study

        found = read_study(key)
        votes = read_answers(found, answers)
        results = study_results(found, votes, power=settings.power, significance=settings.significance)
        if as_json:
            say_json(results.as_dict())
        else:
            show(study_grids(results))


def searches_of(models: Sequence[str], corpus: Path, split: Split | None, *, cache: bool) -> list[Search]:
    """Return the search of each model over the pairs of a corpus."""
    from iconotext.cli.evaluate import default_part, encoded_pairs
    from iconotext.evaluate.retrieval import chosen_refinement, retrieval_encoder, retrieval_score
    from iconotext_papers.analyses.top_images import Search, check_same_pairs

    if len(set(models)) < len(models):
        raise SettingError("the models are named twice; each would be compared with itself")
    chosen = default_part(corpus, split, Split.TEST, "a model finds again what it was trained on")
    searches = []
    for model in models:
        encoder = retrieval_encoder(model, corpus, cache=cache)
        pairs = encoded_pairs(encoder, chosen)
        refinement = chosen_refinement(model, encoder)
        score = retrieval_score(encoder, pairs, refinement)
        searches.append(Search(model, encoder, pairs, score, refinement if refinement.threshold else None))
    check_same_pairs(searches)
    if left_out := searches[0].pairs.left_out:
        complain(f"{len(left_out)} left out, such as {left_out[0].id!r}, because {left_out[0].reason}")
    return searches


def _relations(search: Search, names: Sequence[str]) -> list[str]:
    """The relations for which texts of a model are selected."""
    if OWN not in names:
        return list(names)
    if search.encoder.coherence is None:
        raise SettingError(f"--relation {OWN}: {search.model} predicts no relations; name some")
    return [*(name for name in names if name != OWN), *search.encoder.coherence.relations]
