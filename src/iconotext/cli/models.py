"""What is on this machine: ``iconotext models`` lists and fetches models, ``iconotext cache`` shows the cache."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from iconotext.cli.common import known_errors
from iconotext.cli.options import Download, Json, argument, option
from iconotext.cli.output import say, say_json
from iconotext.cli.output import show as show_report
from iconotext.errors import SettingError
from iconotext.plain_text import counted, data_size
from iconotext.report.tables import Grid

if TYPE_CHECKING:
    from iconotext.features.cache import Usage


def models(
    names: Annotated[
        list[str] | None,
        argument("Models to check, or with --download to fetch. Names on the Hugging Face hub, or folders."),
    ] = None,
    download: Download = False,
    revision: Annotated[
        str | None,
        option(
            "--revision",
            metavar="COMMIT",
            help="Commit, branch or tag to fetch, with --download. It is taken from now on; main is the newest.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the models that are here and encoders of others that are worth fetching; check or fetch those you name.

    What is fetched stays as it is: its commit and the SHA-256 of each file are noted, and checked when it is loaded.

    **Examples**

    - `iconotext models`
    - `iconotext models Xenova/multilingual-e5-small:quantized --download`
    - `iconotext link article.md --model Xenova/mobileclip_s2:fp16 --download`
    """
    with known_errors():
        if revision is not None and not (names and download):
            raise SettingError("--revision needs the name of a model and --download")
        if names:
            _check_or_fetch(names, download=download, revision=revision, json=json)
        else:
            _list(json=json)


def _check_or_fetch(names: list[str], *, download: bool, revision: str | None, json: bool) -> None:
    from iconotext.features import downloads
    from iconotext.features.hub_files import place_of, read_lock
    from iconotext.features.model_folder import MODELS, folder_of_model, name_and_precision

    reports = []
    for name in names:
        with downloads() if download else nullcontext():
            folder = folder_of_model(name, MODELS, revision=revision)
        base, _ = name_and_precision(name)
        lock = None if Path(base).is_dir() else read_lock(place_of(base))
        files = 0 if lock is None else len(lock.files)
        reports.append({"name": name, "folder": str(folder), "revision": lock and lock.revision, "checked": files})
        if not json:
            noted = f" (commit {lock.revision}, {counted(files, 'file')} as fetched)" if lock else ""
            say(f"{name}: {folder}{noted}")
    if json:
        say_json(reports)


def _list(*, json: bool) -> None:
    from iconotext.encoders.load import MODEL_KINDS
    from iconotext.features.catalogue import HUB_MODELS
    from iconotext.features.hub_files import cached_models
    from iconotext.features.model_folder import BACKBONES, models_in

    shipped = [(kind.models.strip("`"), kind.summary) for kind in MODEL_KINDS if kind.models.startswith("`")]
    shipped += [(backbone.name, backbone.summary) for backbone in BACKBONES]
    fetched, trained = cached_models(), models_in(Path())
    if json:
        catalogue = [asdict(row) | {"megabytes": row.megabytes} for row in HUB_MODELS]
        say_json(
            {
                "shipped": [name for name, _ in shipped],
                "fetched": [asdict(model) for model in fetched],
                "folders": trained,
                "catalogue": catalogue,
            }
        )
        return
    present = {f"{model.name}:{precision}" for model in fetched for precision in model.precisions}
    say("In the package:")
    for name, summary in shipped:
        say(f"  {name}: {summary}")
    if fetched:
        say("\nFetched from the Hugging Face hub:")
        for model in fetched:
            precisions = ", ".join(model.precisions) or "PyTorch"
            pinned = "" if model.pinned else ", not pinned"
            say(f"  {model.name}: {precisions}, {data_size(model.size)}, commit {model.revision[:12]}{pinned}")
    if trained:
        say("\nFolders with a model here:")
        for name in trained:
            say(f"  {name}")
    say("\nWorth fetching with --download; what they can do is what their makers say, and was not measured here:")
    for row in HUB_MODELS:
        note = ", is here" if row.name in present else ""
        say(f"  {row.name}: {row.megabytes} MB, {row.licence}{note}")
        say(f"    {row.compares}, languages: {row.languages}; for {row.need}")


def cache(json: Json = False) -> None:
    """Show the place, size and contents of the cache.

    It holds what encoders made of pictures and sentences, so that no picture and no sentence is encoded twice. It grows
    to 2 GB, then what was used longest ago makes room; `ICONOTEXT_CACHE_SIZE=10GB` says another size, and
    `ICONOTEXT_CACHE` another folder. To begin anew, delete the file.

    **Examples**

    - `iconotext cache`
    """
    with known_errors():
        from iconotext.features.cache import cache_usage

        usage = cache_usage()
        if json:
            say_json(asdict(usage) | {"path": str(usage.path)})
        else:
            _show_cache(usage)


def _show_cache(usage: Usage) -> None:
    say(f"{usage.path}: {_size(usage.bytes)} of {_size(usage.limit)}")
    rows = [[kind.kind, kind.backbone, f"{kind.entries:,}", _size(kind.bytes)] for kind in usage.kinds]
    if rows:
        show_report([Grid("", ["features", "encoder", "entries", "size"], rows)])


def _size(number: int) -> str:
    """Return a size in decimal units, as ``ICONOTEXT_CACHE_SIZE`` is given."""
    return f"{number / 10**9:,.2f} GB" if number >= 10**9 else f"{number / 10**6:,.1f} MB"
