"""Texts of LibreOffice for tests, of raw XML."""

from __future__ import annotations

from tests.fuzz.seeds import packed

NAMES = "office text draw table style"
SPACES = (
    " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in NAMES.split())
    + ' xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"'
    + ' xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"'
)
STYLES = (
    '<style:style style:name="P1" style:parent-style-name="Title"/>'
    '<style:style style:name="P2" style:parent-style-name="Standard"><style:text-properties fo:font-style="italic"/></style:style>'
)


def write_odt(text: str, media: dict[str, bytes] | None = None, **parts: str) -> bytes:
    head = f"<office:document-content {SPACES}><office:automatic-styles>{STYLES}</office:automatic-styles>"
    body = f"<office:body><office:text>{text}</office:text></office:body></office:document-content>"
    kind = "application/vnd.oasis.opendocument.text"
    return packed({"mimetype": kind, "content.xml": head + body, **parts, **(media or {})})
