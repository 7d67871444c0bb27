"""``iconotext analyze refinement``: λ and T of the selective similarity refinement (Alikhani 2021, Fig. 3)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import BaseModel, ConfigDict, Field, field_validator

from iconotext.cli.common import known_errors, make_settings, parse_settings
from iconotext.cli.evaluate import Split, select
from iconotext.cli.options import Download, Force, Json
from iconotext.cli.output import complain, output_console, say, say_json
from iconotext.errors import SettingError

if TYPE_CHECKING:
    from rich.text import Text

    from iconotext.cli.evaluate import Selection
    from iconotext.evaluate.refinement_tuning import Setting, Tuning


class RefinementSettings(BaseModel):
    """Settings of ``analyze refinement``; each can be given as ``--set name=value``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    strengths: tuple[float, ...] | None = None
    """λ that are tried, with commas between; None takes those of the program."""

    thresholds: tuple[float, ...] | None = None
    """T that are tried."""

    draws: int = Field(10, ge=1)
    """How many pools are drawn."""

    seed: int = Field(0, ge=0)
    """Of the pools."""

    cache: bool = True
    """Whether features are kept on disk."""

    @field_validator("strengths", "thresholds", mode="before")
    @classmethod
    def _numbers(cls, value: object) -> object:
        return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


def refinement(
    model: Annotated[str, typer.Argument(help="Folder of a coherence-aware model.", show_default=False)],
    corpus: Annotated[Path, typer.Argument(help="Corpus file of texts and their pictures.", show_default=False)],
    split: Annotated[
        Split | None,
        typer.Option(help="Part of the corpus (default: validation; all where there is none).", show_default=False),
    ] = None,
    pool: Annotated[int, typer.Option(min=2, metavar="N", help="Pictures in a pool.")] = 500,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for refinement.json and refinement.svg (default: refinement, with --json none). In the "
            "model's folder, `evaluate` finds the settings by itself.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
    force: Force = False,
    download: Download = False,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="strengths=0.05,0.1,0.2, thresholds=0.05,0.1, draws=10, seed=1, cache=false.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Choose how much the relations refine the ranking of hard queries: λ and T, by the median rank on validation.

    Hard are queries whose two best pictures differ by less than T. Every λ is tried with every T on the same random
    pools; no refinement is among what can win. The drawing shows, as Fig. 3b, the rank of the right picture against
    the difference of the two best ones.

    **Examples**

    - `iconotext analyze refinement models/cmcm clue.jsonl --output models/cmcm`
    - `iconotext analyze refinement models/cmcm clue.jsonl --pool 300 --set strengths=0.1,0.2 --json | jq .strength`
    """
    with known_errors(download=download):
        from iconotext.cli.evaluate_retrieval import encoded_pairs, retrieval_encoder
        from iconotext.evaluate.refinement_tuning import (
            FIGURE_FILE,
            SETTINGS_FILE,
            STRENGTHS,
            THRESHOLDS,
            tune_refinement,
            write_tuning,
        )
        from iconotext.evaluate.retrieval_scores import pair_probabilities, similarities
        from iconotext.write import check_overwrite

        settings = make_settings(RefinementSettings, parse_settings(set_ or [], RefinementSettings)[0])
        folder = output or (None if as_json else Path("refinement"))
        if folder is not None:
            for name in (FIGURE_FILE, SETTINGS_FILE):
                check_overwrite(folder / name, force)
        chosen = _validation(corpus, split)
        encoder = retrieval_encoder(model, cache=settings.cache)
        if encoder.coherence is None:
            raise SettingError(f"the model {model} tells no relations to refine by: train one with objective.coherence")
        pairs = encoded_pairs(encoder, chosen)
        if pairs.left_out:
            first = pairs.left_out[0]
            complain(f"{len(pairs.left_out)} left out, such as {first.id!r}, because {first.reason}")
        tuning = tune_refinement(
            similarities(pairs),
            pair_probabilities(pairs, encoder.coherence),
            pairs.image_of,
            strengths=settings.strengths if settings.strengths is not None else STRENGTHS,
            thresholds=settings.thresholds if settings.thresholds is not None else THRESHOLDS,
            pool=pool,
            draws=settings.draws,
            seed=settings.seed,
        )
        about = {
            "model": model,
            "corpus": str(chosen.path),
            "split": chosen.split,
            "pairs": len(pairs.ids),
            "images": len(pairs.pictures),
            "seed": settings.seed,
        }
        if as_json:
            say_json(about | tuning.as_dict())
        else:
            show_tuning(tuning)
        if folder is not None:
            write_tuning(tuning, folder, about, force=force)
            say(f"Open {folder / FIGURE_FILE}", err=True)


def _validation(corpus: Path, split: Split | None) -> Selection:
    """The split that is asked for, else the validation split, else all documents."""
    chosen = select(corpus, split)
    if split is None:
        if chosen.splits["validation"]:
            return select(corpus, Split.VALIDATION)
        complain(
            f"{corpus}: has no validation split; λ and T are chosen on all of it, where they look better than they are"
        )
    return chosen


def show_tuning(tuning: Tuning) -> None:
    """Tables for people, on stdout: the median rank for each λ and T, and the best beside no refinement."""
    from rich.table import Table
    from rich.text import Text

    console = output_console()
    plain, tried = tuning.settings[0], tuning.settings[1:]
    thresholds = list(dict.fromkeys(setting.threshold for setting in tried))
    by_both = {(setting.strength, setting.threshold): setting for setting in tried}
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0), title="Median rank")
    table.add_column("λ \\ T", justify="right", no_wrap=True)
    for threshold in thresholds:
        table.add_column(f"{threshold:g}", justify="right", no_wrap=True)
    for strength in dict.fromkeys(setting.strength for setting in tried):
        cells = [by_both[strength, threshold] for threshold in thresholds]
        table.add_row(f"{strength:g}", *(_rank(each, bold=each is tuning.best) for each in cells))
    shares = [by_both[tried[0].strength, threshold].hard for threshold in thresholds]
    table.add_row("hard, %", *(f"{100 * share:.0f}" for share in shares), style="dim")
    console.print(table)
    say("")
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("")
    for column in ("Median rank", "Mean rank", "R@1", "R@5", "R@10"):
        table.add_column(column, justify="right", no_wrap=True)
    rows = [("not refined", plain)]
    if tuning.best is not plain:
        rows.append((f"λ = {tuning.best.strength:g}, T = {tuning.best.threshold:g}", tuning.best))
    for name, setting in rows:
        metrics = setting.metrics
        figures = [(metrics.median_rank, 1), (metrics.mean_rank, 1), *((metrics.recall[k], 100) for k in (1, 5, 10))]
        table.add_row(
            Text(name),
            *(
                f"{times * figure.mean:.1f}"
                + ("" if figure.deviation is None else f" ± {times * figure.deviation:.1f}")
                for figure, times in figures
            ),
        )
    console.print(table)
    if tuning.best is plain:
        say("\nNo λ and T are better than none: refinement stays off (T = 0).")


def _rank(setting: Setting, *, bold: bool) -> Text:
    from rich.text import Text

    return Text(f"{setting.metrics.median_rank.mean:.1f}", "bold" if bold else "")
