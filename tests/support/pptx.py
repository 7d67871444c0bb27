"""Presentations for tests, with just the parts that a reader looks at."""

from __future__ import annotations

import io
import zipfile

SPACES = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
PACKAGE = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'


def text(*paragraphs: str, holds: str | None = "body") -> str:
    """A shape with text; ``holds``: the kind of its placeholder, None for a free text box."""
    place = f'<p:ph type="{holds}"/>' if holds else ""
    runs = "".join(f"<a:p><a:r><a:t>{paragraph}</a:t></a:r></a:p>" for paragraph in paragraphs)
    return f'<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"/><p:nvPr>{place}</p:nvPr></p:nvSpPr><p:txBody>{runs}</p:txBody></p:sp>'


def picture(relation: str, alt: str = "") -> str:
    """A picture by the id of its relation."""
    return (
        f'<p:pic><p:nvPicPr><p:cNvPr id="3" name="x" descr="{alt}"/><p:nvPr/></p:nvPicPr>'
        f'<p:blipFill><a:blip r:embed="{relation}"/></p:blipFill></p:pic>'
    )


def table(*rows: tuple[str, ...]) -> str:
    cells = "".join(
        "<a:tr>"
        + "".join(f"<a:tc><a:txBody><a:p><a:r><a:t>{c}</a:t></a:r></a:p></a:txBody></a:tc>" for c in row)
        + "</a:tr>"
        for row in rows
    )
    return (
        f"<p:graphicFrame><a:graphic><a:graphicData><a:tbl>{cells}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    )


def write_pptx(
    slides: list[str], media: dict[str, bytes], notes: dict[int, str] | None = None, hidden: tuple[int, ...] = ()
) -> bytes:
    """A presentation.

    Args:
        slides: The shapes of each.
        media: By name, such as ``a.png``, whose relation is ``a``.
        notes: The shapes of the notes, by the number of the slide from 0.
    """
    notes = notes or {}
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    numbers = range(1, len(slides) + 1)
    parts: dict[str, str | bytes] = {
        "ppt/presentation.xml": f"<p:presentation {SPACES}><p:sldIdLst>"
        + "".join(f'<p:sldId id="{255 + n}" r:id="s{n}"/>' for n in numbers)
        + "</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": f"<Relationships {PACKAGE}>"
        + "".join(f'<Relationship Id="s{n}" Type="{kinds}/slide" Target="slides/slide{n}.xml"/>' for n in numbers)
        + "</Relationships>",
        **{f"ppt/media/{name}": data for name, data in media.items()},
    }
    for n, shapes in zip(numbers, slides, strict=True):
        show = ' show="0"' if n - 1 in hidden else ""
        relations = "".join(
            f'<Relationship Id="{name.partition(".")[0]}" Type="{kinds}/image" Target="../media/{name}"/>'
            for name in media
        )
        if n - 1 in notes:
            relations += f'<Relationship Id="n" Type="{kinds}/notesSlide" Target="../notesSlides/n{n}.xml"/>'
            parts[f"ppt/notesSlides/n{n}.xml"] = (
                f"<p:notes {SPACES}><p:cSld><p:spTree>{notes[n - 1]}</p:spTree></p:cSld></p:notes>"
            )
        parts[f"ppt/slides/_rels/slide{n}.xml.rels"] = f"<Relationships {PACKAGE}>{relations}</Relationships>"
        parts[f"ppt/slides/slide{n}.xml"] = (
            f"<p:sld {SPACES}{show}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return packed.getvalue()
