"""Word's XML by local names, since the "strict" variant of the format has other namespaces."""

from __future__ import annotations

from iconotext.read.archive import Element

OFF = frozenset(("0", "false", "off", "none"))
WRAPPERS = frozenset(
    ["ins", "moveTo", "smartTag", "customXml", "sdt", "sdtContent", "dir", "bdo", "hyperlink", "fldSimple"]
)
"""Elements around paragraphs or runs that are ignored, but not their content."""


def local(element: Element) -> str:
    """Name of an element without its namespace; "" if it is no element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Element, name: str) -> str | None:
    """Attribute by its name without namespace, the first one of that name."""
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), None)


def child(element: Element | None, *names: str) -> Element | None:
    """The element at a path of local names; None if there is none."""
    for name in names:
        element = next((e for e in element if local(e) == name), None) if element is not None else None
    return element


def is_on(properties: Element | None, name: str) -> bool | None:
    """Whether a switch such as ``<w:i/>`` is on, off, or (None) missing."""
    switch = child(properties, name)
    return None if switch is None else (attribute(switch, "val") or "1").lower() not in OFF


def children(element: Element, name: str) -> list[Element]:
    """Rows of a table or cells of a row, including those in content controls or revisions."""
    found = []
    for part in element:
        if local(part) == name:
            found.append(part)
        elif local(part) in WRAPPERS:
            found += children(part, name)
    return found


def alternative(element: Element) -> list[Element]:
    """The content of ``mc:AlternateContent`` to read: its first choice, else the fallback."""
    return next((list(part) for part in element if local(part) in ("Choice", "Fallback") and len(part)), [])
