"""Studies of pictures that are no pictures."""

from __future__ import annotations

from pathlib import Path

from iconotext.papers.studies.study import Contenders, create_study


def picture(folder: Path, name: str, content: str | None = None) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content or name)
    return path


def contenders(folder: Path, count: int, relations: tuple[str, ...] = ("Story",)) -> list[Contenders]:
    return [
        Contenders(
            "cmcm",
            f"q{n}",
            f"Text {n}.",
            picture(folder, f"first{n}.png"),
            picture(folder, f"second{n}.png"),
            relations,
        )
        for n in range(count)
    ]


def study(folder: Path, count: int = 4, *, raters: int = 3, seed: int = 0) -> Path:
    path = folder / "study.sqlite"
    create_study(path, contenders(folder, count), second="cmca", raters=raters, seed=seed)
    return path
