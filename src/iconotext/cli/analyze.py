"""``iconotext analyze``: a closer look at models, as in Hessel 2019 (section 4.1, figures 3 and 4) and later papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import BaseModel, ConfigDict, Field

from iconotext.cli.analyze_attention import attention
from iconotext.cli.analyze_bias import bias
from iconotext.cli.analyze_refinement import refinement
from iconotext.cli.analyze_study import study, votes
from iconotext.cli.common import known_errors, make_settings, parse_settings, progress
from iconotext.cli.evaluate import EvaluateSettings, Split, check_names, evaluate_model, score, select
from iconotext.cli.options import Download, Evidence
from iconotext.cli.output import complain, output_console, say, say_json
from iconotext.errors import CorpusError, SettingError
from iconotext.plain_text import counted, percent

if TYPE_CHECKING:
    from iconotext.evaluate import Evaluation, Scored
    from iconotext.papers.analyses.difficulty import Difficulty, Regression

analyze = typer.Typer(
    help="Look closer: do models fail on the same documents, what makes a document hard, what does a model link, are "
    "the negatives of training too easy, how are hard queries refined, what do people prefer.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
for command in (attention, bias, refinement, study, votes):
    analyze.command()(command)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]


class DifficultySettings(BaseModel):
    """Settings of ``analyze difficulty``; each can be given as ``--set name=value``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dimensions: int = Field(20, ge=1)
    """Principal components of each side's content."""

    text: str | None = None
    """Text backbone: a name or folder; None takes the one that comes with the program."""

    image: str | None = None
    """Image backbone: a name or folder; None takes the one that comes with the program."""

    word_vectors: Path | None = None
    """word2vec or GloVe file: sentences are then means of word vectors, as in the paper."""

    word_dim: int = Field(300, ge=1)
    """Length of the vectors in that file."""

    cache: bool = True
    """Whether features are kept on disk."""


@analyze.command()
def correlation(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS...", help="Files of `evaluate --results`, two or more.", show_default=False),
    ],
    as_json: AsJson = False,
) -> None:
    """Do models have trouble with the same documents? Spearman's ρ of the AUC per document, for every pair.

    **Example**

    - `iconotext analyze correlation dc.parquet tk.parquet ap.parquet`
    """
    with known_errors():
        from iconotext.papers.analyses.correlation import as_dict, correlations, lowest

        found = correlations(named_results(results))
        if as_json:
            say_json(as_dict(found))
            return
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        for column in ("Models", "", "Spearman's ρ", "Documents"):
            table.add_column(column, justify="left" if column in ("Models", "") else "right")
        least = lowest(found)
        for each in found:
            rho = "–" if each.rho is None else f"{each.rho:.3f}"
            style = "bold" if each is least and len(found) > 1 else ""
            table.add_row(Text(each.first), Text(each.second), Text(rho, style=style), f"{each.documents:,}")
        output_console().print(table)


@analyze.command()
def difficulty(
    results: Annotated[Path, typer.Argument(help="File of `evaluate --results`.", show_default=False)],
    corpus: Annotated[Path, typer.Argument(help="The corpus it was made from.", show_default=False)],
    as_json: AsJson = False,
    download: Download = False,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="dimensions=10, text=FOLDER, image=FOLDER, word_vectors=FILE, word_dim=300, cache=false.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """What makes a document hard: how much alike its parts are (spread), or what it is about (content)?

    Two regressions of the AUC of the documents: on image and text spread, and on those with content (principal
    components of the mean vectors).

    **Examples**

    - `iconotext analyze difficulty ap.parquet corpus.jsonl`
    - `iconotext analyze difficulty ap.parquet corpus.jsonl --set word_vectors=GoogleNews.bin.gz --json`
    """
    with known_errors(download=download):
        from iconotext.corpus.store import read_corpus
        from iconotext.encoder import load_bridge
        from iconotext.evaluate import read_results
        from iconotext.papers.analyses.difficulty import explain
        from iconotext.papers.analyses.document_vectors import document_vectors

        settings = make_settings(DifficultySettings, parse_settings(set_ or [], DifficultySettings)[0])
        evaluation = read_results(results).evaluation
        encoder = load_bridge(
            image=settings.image,
            text=settings.text,
            cache=settings.cache,
            word_vectors=settings.word_vectors,
            word_dim=settings.word_dim,
            texts=(sentence.text for document in read_corpus(corpus) for sentence in document.sentences),
        )
        scored = {each.id for each in evaluation.defined}
        documents = (each for each in read_corpus(corpus) if each.id in scored)
        vectors = document_vectors(evaluation, progress(documents, total=len(scored), label="Encoding"), encoder)
        if vectors.left_out:
            names = ", ".join(vectors.left_out[:5])
            complain(f"{counted(len(vectors.left_out), 'document')} left out, because no picture can be read: {names}")
        found = explain(vectors.aucs, vectors.images, vectors.sentences, dimensions=settings.dimensions)
        if as_json:
            say_json(found.as_dict())
        else:
            show_difficulty(found)


@analyze.command()
def examples(
    model: Annotated[str, typer.Argument(help="As for `evaluate`.", show_default=False)],
    corpus: Annotated[Path, typer.Argument(help="Corpus file with gold links.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("examples.html"),
    split: Annotated[Split | None, typer.Option(help="Part of the corpus (default: all).", show_default=False)] = None,
    count: Annotated[int, typer.Option(min=1, max=100, help="Number of documents.")] = 4,
    document: Annotated[
        list[str] | None,
        typer.Option(help="Show this document (its id) instead of representative ones.", show_default=False),
    ] = None,
    evidence: Evidence = "picture",
    force: Force = False,
    download: Download = False,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="As for `evaluate`.", show_default=False),
    ] = None,
) -> None:
    """Write a page with what a model links in representative documents: those whose AUC is nearest to the mean.

    It shows the five strongest edges of the best one-to-one assignment of each, which of them the author drew too,
    and the whole matrix of scores.

    **Examples**

    - `iconotext analyze examples default corpus.jsonl --split test --output examples.html`
    - `iconotext analyze examples models/wiki wiki.jsonl --document Mauritius`
    """
    with known_errors(download=download):
        from iconotext.papers.analyses.examples import Example, examples_page, representative
        from iconotext.pipeline import LinkSettings
        from iconotext.write import check_overwrite, write_text

        check_overwrite(output, force)
        mine, link_values = parse_settings(set_ or [], EvaluateSettings, LinkSettings)
        settings = make_settings(EvaluateSettings, mine)
        kinds = [kind.strip() for kind in evidence.split(",")]
        linking = make_settings(LinkSettings, {"evidence": kinds} | link_values)
        if model == "object-detection":
            raise SettingError("examples of object-detection cannot be drawn, because its K is chosen afterwards")
        check_names(linking, model)
        chosen = select(corpus, split)
        mean = None
        if document:
            wanted = list(dict.fromkeys(document))
        else:
            evaluation = evaluate_model(model, chosen, linking, settings).evaluation
            wanted, mean = [each.id for each in representative(evaluation, count)], evaluation.means["auc"]
        kept = {each.id: each for each in chosen.documents() if each.id in set(wanted)}
        missing = [identifier for identifier in wanted if identifier not in kept]
        if missing:
            raise CorpusError(f"{corpus}: there is no document {missing[0]!r}{' in this split' if split else ''}")
        documents = [kept[identifier] for identifier in wanted]
        shown = [
            Example(each, scored.scores, _auc(scored))
            for each, scored in zip(documents, score(model, documents, linking, settings), strict=True)
        ]
        write_text(output, examples_page(shown, model=model, corpus=corpus.name, mean_auc=mean), force=force)
        say(f"Open {output}", err=True)


@analyze.command()
def curves(
    folders: Annotated[
        list[Path], typer.Argument(metavar="MODEL_FOLDER...", help="Folders of trained models.", show_default=False)
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="SVG, PNG or PDF file to write.")] = Path("curves.svg"),
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Draw how objective and AUC on the validation documents rise together during training, a panel for each model.

    With `--json` the numbers are printed, and nothing is drawn.

    **Example**

    - `iconotext analyze curves models/dc models/ap --output curves.svg`
    """
    with known_errors():
        from iconotext.papers.analyses.curves import read_curve, write_curves

        found = [read_curve(folder) for folder in folders]
        if as_json:
            say_json([curve.as_dict() for curve in found])
            return
        write_curves(found, output, force=force)
        say(f"Open {output}", err=True)


def named_results(paths: list[Path]) -> dict[str, Evaluation]:
    """Results by name of their model, or of their file where models have the same name or none.

    Raises:
        CorpusError: A file cannot be read, or is named twice.
    """
    from iconotext.evaluate import read_results

    read = {path: read_results(path) for path in paths}
    if len(read) < len(paths):
        raise CorpusError("a results file is named twice")
    models = [results.model for results in read.values()]
    stems = [path.stem for path in read]
    unique = all(models) and len(set(models)) == len(models)
    names = models if unique else stems if len(set(stems)) == len(stems) else [str(path) for path in read]
    return {name: results.evaluation for name, results in zip(names, read.values(), strict=True)}


def show_difficulty(found: Difficulty) -> None:
    """A table for people, on stdout."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("AUC explained by")
    for column in ("R²", "adjusted", "F", "p", "features"):
        table.add_column(column, justify="right", no_wrap=True)
    rows: list[tuple[str, Regression]] = [
        ("image spread", found.image_spread),
        ("text spread", found.text_spread),
        ("image + text spread", found.spread),
        ("spread + content", found.content),
    ]
    for name, fitted in rows:
        numbers = (
            percent(fitted.r2, 1),
            percent(fitted.adjusted_r2, 1),
            f"{fitted.f:.2f}",
            f"{fitted.p:.2g}",
        )
        table.add_row(name, *numbers, f"{fitted.features}")
    output_console().print(table)
    say(
        f"\n{counted(found.documents, 'document')}. Content, added to spread: F = {_number(found.added_f, '.2f')}, "
        f"p = {_number(found.added_p, '.2g')}. "
        f"One unit of spread changes the AUC by {100 * found.coefficients['image']:+.1f} points (images) and "
        f"{100 * found.coefficients['text']:+.1f} points (text)."
    )


def _auc(scored: Scored) -> float | None:
    from iconotext.evaluate.results import score_document

    return score_document(*scored).auc


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
