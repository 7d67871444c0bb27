"""Word's XML by local names: the "strict" variant of the format has other namespaces than the usual one."""

from __future__ import annotations

from iconotext.read.archive import Element

OFF = frozenset(("0", "false", "off", "none"))
WRAPPERS = frozenset(
    ["ins", "moveTo", "smartTag", "customXml", "sdt", "sdtContent", "dir", "bdo", "hyperlink", "fldSimple"]
)
"""Elements around paragraphs or runs whose content counts as if they were not there."""


def local(element: Element) -> str:
    """Name of an element without its namespace; "" for what is no element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Element, name: str) -> str | None:
    """Attribute by its name without namespace, the first one of that name."""
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), None)


def child(element: Element | None, *names: str) -> Element | None:
    """The element that a path of local names leads to, None where there is none."""
    for name in names:
        element = next((e for e in element if local(e) == name), None) if element is not None else None
    return element


def is_on(properties: Element | None, name: str) -> bool | None:
    """Whether a switch such as ``<w:i/>`` is on, off, or (None) not there."""
    switch = child(properties, name)
    return None if switch is None else (attribute(switch, "val") or "1").lower() not in OFF


def children(element: Element, name: str) -> list[Element]:
    """Rows of a table or cells of a row, also those wrapped in content controls or revisions."""
    found = []
    for part in element:
        if local(part) == name:
            found.append(part)
        elif local(part) in WRAPPERS:
            found += children(part, name)
    return found


def alternative(element: Element) -> list[Element]:
    """What ``mc:AlternateContent`` holds for us: the content of its first choice, else of the fallback."""
    return next((list(part) for part in element if local(part) in ("Choice", "Fallback") and len(part)), [])
