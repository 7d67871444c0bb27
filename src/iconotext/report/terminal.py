"""Linked documents as tables in the terminal: ``overview`` of many, ``links_table`` of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iconotext.images import is_harmless, kind_of
from iconotext.plain_text import counted, percent, readable, shortened
from iconotext.report.explanation import carrying_words
from iconotext.report.flow import links_by_image, title, unlinked_reason
from iconotext.types import Explanation, Image, LinkedDocument

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

BAR = 8
"""Width of a full bar of confidence, in characters."""

LONGEST = 90
"""Maximum number of characters of a sentence."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of a document, for the overview.

    Attributes:
        problems: Address and problem of each image with one, without icons and repeats.
    """

    name: str
    sentences: int
    pictures: int
    linked: int
    links: int
    problems: tuple[tuple[str, str], ...]


def count(linked: LinkedDocument) -> Counts:
    """Count a linked document, so that it need not be kept in memory for the overview."""
    document = linked.document
    return Counts(
        name=readable(title(document)),
        sentences=len(document.sentences),
        pictures=len(document.images),
        linked=len({link.image for link in linked.links}),
        links=len(linked.links),
        problems=tuple(
            (readable(image.source), readable(image.problem))
            for image in document.images
            if image.problem is not None and not is_harmless(image.problem)
        ),
    )


def overview(counts: Sequence[Counts]) -> Table:
    """Return a table with a line of counts for each document, and the totals."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", show_footer=True, padding=(0, 2, 0, 0))
    table.add_column("Document", overflow="fold", footer=counted(len(counts), "document"))
    for key in ("sentences", "pictures", "linked", "links"):
        total = sum(getattr(c, key) for c in counts)
        table.add_column(key.capitalize(), justify="right", no_wrap=True, footer=f"{total:,}")
    problems = sum(len(c.problems) for c in counts)
    table.add_column("Problems", justify="right", no_wrap=True, footer=Text(f"{problems or ''}", style="dim red"))
    for document in counts:
        name = Text(shortened(document.name, 60))
        numbers = (document.sentences, document.pictures, document.linked, document.links)
        table.add_row(name, *(f"{n:,}" for n in numbers), Text(f"{len(document.problems) or ''}", style="dim red"))
    return table


def links_table(linked: LinkedDocument) -> Table:
    """Return a table of every image with its strongest sentence, the number of others, confidences, and totals.

    Images that are left out for a harmless reason, such as the icons of a page, come last: a row for each reason.

    The words that carry an explained link are bold and underlined. Text of the document is in ``rich.text.Text``, so
    that markup and control sequences in it have no effect.
    """
    from rich.table import Table
    from rich.text import Text

    document, by_image = linked.document, links_by_image(linked)
    table = Table(box=None, pad_edge=False, header_style="bold", show_footer=True, padding=(0, 2, 0, 0))
    pictures, links = counted(len(document.images), "picture"), counted(len(linked.links), "link")
    sentences = f"{counted(len(document.sentences), 'sentence')} in 1 document"
    table.add_column("Picture", overflow="ellipsis", no_wrap=True, footer=Text(pictures))
    table.add_column("Belongs to", footer=Text(sentences))  # its cells are cut where a terminal is narrow
    table.add_column("More", justify="right", no_wrap=True)
    table.add_column("Confidence", no_wrap=True, footer=Text(links))
    table.add_column("Paragraph", justify="right", no_wrap=True)
    left_out: dict[str, list[Image]] = {}
    for number, image in enumerate(document.images):
        name = Text(shortened(readable(image.source), 40))
        if number in by_image:
            best, *others = by_image[number]
            belongs = _sentence(document.sentences[best.sentence].text, best.explanation)
            more = Text(f"+{len(others)}" if others else "", style="dim")
            table.add_row(name, belongs, more, bar(best.confidence), percent(best.paragraph_confidence))
        elif image.problem and is_harmless(image.problem):
            left_out.setdefault(kind_of(image.problem), []).append(image)
        else:
            name.stylize("dim")
            style = "dim red" if image.problem else "dim"
            table.add_row(name, Text(readable(unlinked_reason(image)), style=style))
    for first, *repeats in left_out.values():
        names = shortened(readable(first.source), 40) + (f" and {len(repeats):,} more" if repeats else "")
        table.add_row(Text(names, style="dim"), Text(readable(unlinked_reason(first)), style="dim"))
    return table


def _sentence(text: str, explanation: Explanation | None) -> Text:
    """Return a sentence, shortened if long, with the words that carry its link highlighted."""
    from rich.text import Text

    short = shortened(readable(text), LONGEST)
    styled = Text(short, no_wrap=True, overflow="ellipsis")
    whole = len(short) if short == readable(text) else len(short) - 1  # the last one is the ellipsis
    for word in carrying_words(text, explanation):
        begin, end = (len(readable(text[:place])) for place in word)
        styled.stylize("bold underline", begin, min(end, whole))
    return styled


def bar(confidence: float) -> Text:
    """Return a confidence, 0 to 1, as a bar and a number, coloured by how reliable it is."""
    from rich.text import Text

    length = round(max(0.0, min(1.0, confidence)) * BAR) if confidence == confidence else 0  # not a number
    colour = "green" if confidence >= 0.7 else "yellow" if confidence >= 0.4 else "red"
    return Text.assemble(("━" * length, colour), ("─" * (BAR - length), "dim"), f" {percent(confidence):>5}")
