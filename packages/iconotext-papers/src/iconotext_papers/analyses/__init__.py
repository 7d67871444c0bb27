"""Analyses and figures of the papers, beside their tables of results; ``ANALYSES`` lists them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Analysis:
    """An analysis, which ``iconotext papers analyze`` runs by its name.

    Attributes:
        name: Name of the command.
        summary: One sentence.
        paper: Paper, and section, table or figure in it.
        function: Module in ``iconotext_papers`` and name of the function that does the work.
    """

    name: str
    summary: str
    paper: str
    function: str


ANALYSES = (
    Analysis("bias", "Are negatives easier in training than in evaluation?",
             "Li 2021, Figure 2b", "analyses.bias:corpus_bias"),
    Analysis("refinement", "Choose how much relations refine the ranking of pictures.",
             "Alikhani 2021, Equations 4 to 6, Figures 3 and 5", "analyses.refinement:tune_pairs"),
    Analysis("top", "Write a page with the best pictures of several models.",
             "Alikhani 2021, Figures 1, 6, 7, 9 and 10", "analyses.top_images:top_images_page"),
    Analysis("correlation", "Do models have trouble with the same documents?",
             "Hessel 2019, sections 4.1 and 5", "analyses.difficulty:correlations"),
    Analysis("difficulty", "What makes a document hard?",
             "Hessel 2019, sections 4.1 and 5", "analyses.difficulty:corpus_difficulty"),
    Analysis("examples", "Write a page with what a model links in some documents.",
             "Hessel 2019, Figure 4; Li 2021, Figure 6", "analyses.examples:examples_page"),
    Analysis("spread", "Write a page with links in documents of high and low spread.",
             "Hessel 2019, Figure 5", "analyses.difficulty:spreads"),
    Analysis("curves", "Draw how objective and AUC rise during training.",
             "Hessel 2019, Figures 3 and S1", "analyses.curves:write_curves"),
    Analysis("sizes", "Count corpora beside the published numbers.",
             "Hessel 2019, Table 1; Alikhani 2021, Tables 1 and 2", "cli.sizes:sizes"),
)  # fmt: skip
