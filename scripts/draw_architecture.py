"""Draw the parts of the program and who imports whom, from the code: docs/images/architecture.svg.

    python scripts/draw_architecture.py

A box is a folder or module of src/iconotext, with what its docstring says first. A line says that the upper one imports
the lower one; imports that follow from others (a imports b, b imports c, so a may use c) are left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/iconotext"
WALK = ("read", "features", "encoders", "evidence", "decide", "run", "linker", "report")
"""What a document passes on its way to a page; drawn in another colour."""

EVERYWHERE = ("errors", "types", "system", "plain_text", "extras")
"""What nearly everything imports: boxes without lines, below."""

WIDTH, HEIGHT, GAP_X, GAP_Y = 190, 50, 16, 40


def main() -> None:
    """Write the picture."""
    parts = {name: list(files) for name, files in _parts()}
    imports = {name: _imported(files) & parts.keys() - {name} for name, files in parts.items()}
    drawn = {name: targets - set(EVERYWHERE) for name, targets in imports.items() if name not in EVERYWHERE}
    rows = _rows(drawn)
    places = {
        name: (place - (len(row) - 1) / 2, level) for level, row in enumerate(rows) for place, name in enumerate(row)
    }
    widest = max(map(len, rows))
    width, height = (
        widest * (WIDTH + GAP_X) + GAP_X,
        (len(rows) + 1 + (len(EVERYWHERE) - 1) // widest) * (HEIGHT + GAP_Y) + GAP_Y,
    )

    def corner(name: str) -> tuple[float, float]:
        x, level = places[name]
        return width / 2 + x * (WIDTH + GAP_X) - WIDTH / 2, GAP_Y / 2 + (len(rows) - 1 - level) * (HEIGHT + GAP_Y)

    lines = [
        _line(corner(name), corner(target), name in WALK and target in WALK)
        for name, targets in drawn.items()
        for target in sorted(_reduced(name, targets, drawn))
    ]
    boxes = [_box(name, parts[name], *corner(name)) for name in drawn]
    below = [name for name in EVERYWHERE if name in parts]
    boxes += [
        _box(
            name,
            parts[name],
            GAP_X + (place % widest) * (WIDTH + GAP_X),
            GAP_Y / 2 + (len(rows) + place // widest) * (HEIGHT + GAP_Y),
        )
        for place, name in enumerate(below)
    ]
    (ROOT / "docs/images/architecture.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">\n'
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n' + "\n".join([*lines, *boxes]) + "\n</svg>\n",
        encoding="utf-8",
    )


def _parts() -> Iterator[tuple[str, list[Path]]]:
    for path in sorted(SOURCE.iterdir()):
        if path.is_dir() and (path / "__init__.py").exists():
            yield path.name, sorted(path.rglob("*.py"))
        elif path.suffix == ".py" and not path.name.startswith("__"):
            yield path.stem, [path]


def _imported(files: list[Path]) -> set[str]:
    """The parts that some modules import, inside functions too."""
    found = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{name}" for name in names]
            found |= {name.split(".")[1] for name in names if name.startswith("iconotext.")}
    return found


def _reduced(name: str, targets: set[str], imports: dict[str, set[str]]) -> set[str]:
    """The targets that are reached no other way."""
    return targets - {far for near in targets for far in _reached(near, imports)}


def _reached(name: str, imports: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    todo = [name]
    while todo:
        new = imports[todo.pop()] - found
        found |= new
        todo += new
    return found


def _rows(imports: dict[str, set[str]]) -> list[list[str]]:
    """Each part above all that it imports; in a row, each near the middle of what it imports."""
    level: dict[str, int] = {}
    while len(level) < len(imports):
        free = [name for name, targets in imports.items() if name not in level and targets <= level.keys()]
        if not free:
            circle = ", ".join(sorted(imports.keys() - level.keys()))
            raise SystemExit(f"these parts import one another in a circle: {circle}")
        for name in free:
            level[name] = 1 + max((level[target] for target in imports[name]), default=-1)
    rows = [[name for name in imports if level[name] == height] for height in range(max(level.values()) + 1)]
    place: dict[str, float] = {}
    for row in rows:
        row.sort(
            key=lambda name: sum(place[target] for target in imports[name]) / max(1, len(imports[name])),
        )
        place |= {name: number - (len(row) - 1) / 2 for number, name in enumerate(row)}
    return rows


def _line(start: tuple[float, float], end: tuple[float, float], walk: bool) -> str:
    x, y = start[0] + WIDTH / 2, start[1] + HEIGHT
    to_x, to_y = end[0] + WIDTH / 2, end[1]
    middle = (y + to_y) / 2
    colour, width = ("#1d6f64", 2.5) if walk else ("#9aa3ab", 1.2)
    path = f"M{x:.0f} {y:.0f} C{x:.0f} {middle:.0f} {to_x:.0f} {middle:.0f} {to_x:.0f} {to_y:.0f}"
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def _box(name: str, files: list[Path], x: float, y: float) -> str:
    about = (ast.get_docstring(ast.parse(files[0].read_text(encoding="utf-8"))) or "").split("\n")[0]
    about = about if len(about) < 37 else f"{about[:34].rsplit(' ', 1)[0]} …"
    number = f"{WALK.index(name) + 1}  " if name in WALK[:6] else ""
    fill = "#d9efeb" if name in WALK else "#f1efe8"
    full = "/" if files[0].name == "__init__.py" else ".py"
    return (
        f'<g><rect x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{fill}" stroke="#555"/>'
        f'<text x="{x + WIDTH / 2:.0f}" y="{y + 21:.0f}" text-anchor="middle" font-size="15" font-weight="bold">'
        f"{number}{name}{full}</text>"
        f'<text x="{x + WIDTH / 2:.0f}" y="{y + 39:.0f}" text-anchor="middle" font-size="10" fill="#444">'
        f"{escape(about)}</text></g>"
    )


if __name__ == "__main__":
    main()
