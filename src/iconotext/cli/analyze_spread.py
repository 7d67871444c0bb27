"""``iconotext analyze spread``: what a model links in documents of high, middle and low spread."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from iconotext.cli.common import known_errors
from iconotext.cli.evaluate import check_names, looking_beside
from iconotext.cli.evaluate_settings import Split
from iconotext.cli.options import Download, Force, SettingsPanel, settings_options
from iconotext.cli.output import complain, say
from iconotext.errors import FeatureError
from iconotext.papers.analyses.settings import DifficultySettings
from iconotext.pipeline import LinkSettings


@settings_options
def spread(
    model: Annotated[str, typer.Argument(help="As for `evaluate`.", show_default=False)],
    corpus: Annotated[Path, typer.Argument(help="Corpus file; nobody need know its links.", show_default=False)],
    seen: Annotated[
        DifficultySettings,
        SettingsPanel(
            "What spread and object detection see", only=("text", "image", "word_vectors", "word_dim", "cache")
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("spread.html"),
    split: Annotated[Split | None, typer.Option(help="Part of the corpus (default: all).", show_default=False)] = None,
    count: Annotated[int, typer.Option(min=1, max=100, help="Number of documents of each level.")] = 1,
    k: Annotated[int, typer.Option("-k", min=1, max=20, help="Class names for a picture in object detection.")] = 10,
    force: Force = False,
    download: Download = False,
) -> None:
    """Write a page with what a model, and beside it object detection, link in documents of high, middle and low spread.

    Spread is how far the pictures, and the sentences, of a document lie apart. No gold links are needed (Fig. 5 of
    Hessel 2019, an article of WIKI).

    **Example**

    - `iconotext analyze spread models/wiki wiki.jsonl --split train --word-vectors GoogleNews.bin.gz`
    """
    with known_errors(download=download):
        from iconotext.corpus.store import read_corpus
        from iconotext.encoder import load_bridge
        from iconotext.evaluate.corpus_part import corpus_part
        from iconotext.evaluate.scores import score_documents
        from iconotext.papers.analyses.examples import examples_of, examples_page, shown_documents
        from iconotext.papers.analyses.spread import by_level, detected, spreads
        from iconotext.write import check_overwrite, write_text

        check_overwrite(output, force)
        linking = LinkSettings(evidence=("picture",))
        check_names(linking, model)
        chosen = corpus_part(corpus, split and split.value)
        encoder = load_bridge(
            **seen.model_dump(exclude={"dimensions"}),
            texts=(sentence.text for document in read_corpus(corpus) for sentence in document.sentences),
        )
        levels = by_level(list(spreads(chosen.documents(), encoder)), count)
        documents = shown_documents([each.id for _, each in levels], chosen.documents())
        scored = score_documents(model, documents, looking_beside(linking, model, corpus), say=complain)
        sides = {model: examples_of(documents, scored)}
        try:
            sides[f"object detection, K = {k}"] = examples_of(documents, detected(documents, encoder, k))
        except FeatureError as error:
            complain(f"without object detection: {error}")
        shown = []
        for number, (level, each) in enumerate(levels):
            for side, examples in sides.items():
                own = examples[number]
                found = f"{level.capitalize()} spread (images {each.image:.2f}, text {each.text:.2f}), {side}"
                called = f"{found}: {own.document.title}" if own.document.title else found
                shown.append(replace(own, document=replace(own.document, title=called)))
        heading = "Links where spread is high, middle and low"
        page = examples_page(shown, model=model, corpus=corpus.name, mean_auc=None, heading=heading)
        write_text(output, page, force=force)
        say(f"Open {output}", err=True)
