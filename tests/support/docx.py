"""Word files for tests, of raw XML."""

from __future__ import annotations

import io

import docx
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

SPACES = nsdecls("w", "wp", "a", "r", "pic") + (
    ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:v="urn:schemas-microsoft-com:vml"'
    ' xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
    ' xmlns:o="urn:schemas-microsoft-com:office:office"'
)


def paragraph(content: str):
    """A paragraph of raw WordprocessingML."""
    return parse_xml(f"<w:p {SPACES}>{content}</w:p>")


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def blip(relation: str, alt: str = "", kind: str = "embed") -> str:
    return (
        f'<w:drawing><wp:inline><wp:extent cx="9" cy="9"/><wp:docPr id="1" name="Picture 1" descr="{alt}"/><a:graphic>'
        '<a:graphicData uri="u"><pic:pic><pic:nvPicPr><pic:cNvPr id="0" name="a.png" descr="a.png"/></pic:nvPicPr>'
        f'<pic:blipFill><a:blip r:{kind}="{relation}"/></pic:blipFill><pic:spPr/></pic:pic></a:graphicData>'
        "</a:graphic></wp:inline></w:drawing>"
    )


class Making:
    """A Word file in the making, with short ways to put raw XML into it."""

    def __init__(self) -> None:
        self.file = docx.Document()

    def add(self, *contents: str) -> None:
        for content in contents:
            self.file.element.body.insert(len(self.file.element.body) - 1, paragraph(content))

    def embed(self, data: bytes) -> str:
        relation, _ = self.file.part.get_or_add_image(io.BytesIO(data))
        return str(relation)

    def bytes(self) -> bytes:
        buffer = io.BytesIO()
        self.file.save(buffer)
        return buffer.getvalue()
