"""``iconotext analyze``: a closer look at models, as in Hessel 2019 (section 4.1, figures 3 and 4) and later papers."""

from __future__ import annotations

import typer

from iconotext.cli.lazy_group import LazyCommand, lazy_group

COMMANDS = {
    "attention": LazyCommand("analyze_models:attention", "Show how much each word of a sentence counts for a model."),
    "bias": LazyCommand("analyze_corpus:bias", "Are negatives easier in training than in evaluation?"),
    "refinement": LazyCommand("analyze_models:refinement", "Choose how much relations refine the ranking of pictures."),
    "study": LazyCommand("analyze_study:study", "Make a study: the best pictures of two models, for people to judge."),
    "top": LazyCommand("analyze_study:top", "Write a page with the best pictures of several models, side by side."),
    "votes": LazyCommand("analyze_study:votes", "Count the votes of a study."),
    "correlation": LazyCommand("analyze_corpus:correlation", "Do models have trouble with the same documents?"),
    "difficulty": LazyCommand("analyze_corpus:difficulty", "What makes a document hard?"),
    "examples": LazyCommand("analyze_models:examples", "Write a page with what a model links in some documents."),
    "sampling": LazyCommand("analyze_models:sampling", "How many of the links that training chooses are gold links?"),
    "spread": LazyCommand("analyze_models:spread", "Write a page with links in documents of high and low spread."),
    "curves": LazyCommand("analyze_models:curves", "Draw how objective and AUC rise during training."),
}

analyze = typer.Typer(
    cls=lazy_group(COMMANDS),
    help="Look closer at models: examples, hard documents, training curves, and what people prefer.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
