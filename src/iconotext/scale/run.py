"""A run over many shards: what is there already, what is missing, and what became of all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from iconotext import __version__
from iconotext.corpus.in_order import Watch, unwatched
from iconotext.errors import CorpusError, OutputError, SettingError
from iconotext.extras import require
from iconotext.features.cores import in_threads, usable_cores
from iconotext.features.fingerprint import content_name
from iconotext.links.settings import LinkSettings
from iconotext.pipeline import Linker
from iconotext.scale.engine import Engine, Lost, worked
from iconotext.scale.manifest import Manifest, added_up, begin, is_done, sha256_of
from iconotext.scale.on_ray import OnRay
from iconotext.scale.processes import Processes
from iconotext.scale.settings import EngineSettings, ShardSettings
from iconotext.scale.shards import Shard, find_shards
from iconotext.scale.stage import Stage
from iconotext.scale.store import is_remote

LOCK = ".iconotext.lock"

AT_ONCE = 32
"""Manifests of a store that are asked for at the same time."""


def link_shards(
    addresses: Sequence[str],
    output: str,
    *,
    model: str = "default",
    linking: LinkSettings | None = None,
    settings: ShardSettings | None = None,
    engine: EngineSettings | None = None,
    watch: Watch = unwatched,
) -> dict[str, Any]:
    """Link the documents of shards: each gives a shard of results, which is there whole or not at all.

    The same call again does only what is missing, or what was made of a shard that has changed.

    Args:
        addresses: Shards, and folders of them: paths, or URIs of a store.
        output: Folder of the results; it may be of a store.
        model: As for ``Linker.load``.
        linking: How documents are linked; promises are not made of shards.
        settings: What becomes of documents.
        engine: Who does the work.
        watch: Shows progress, by shards.

    Returns:
        Sums of the manifests (``shards``, ``documents``, ``images``, ``links``, ``reasons``, and ``damaged``, by shard
        why it could not be read to its end); ``made``, how many shards were made now; ``lost``, by shard why it was
        not made.

    Raises:
        CorpusError: There are no shards.
        OutputError: The folder has shards of other settings, another run writes there, or it cannot be written.
        StoreError: A store does not answer.
        FeatureError: The model cannot be loaded.
    """
    linking, settings, engine = linking or LinkSettings(), settings or ShardSettings(), engine or EngineSettings()
    if linking.max_false is not None or linking.explain:
        raise SettingError("max_false and explain are not for shards: link such documents by themselves")
    if settings.to == "parquet" or settings.without is not None:
        require("parquet", purpose="a table of Parquet")
    if settings.without is not None and not settings.without.is_file():
        raise CorpusError(f"{settings.without}: no such table of duplicates")
    manifests, done = run_shards(
        addresses,
        output,
        setup_of(model, linking, settings),
        lambda setup: Stage(output, setup, model, linking, settings),
        engine=engine,
        watch=watch,
        label="Linking shards",
    )
    return added_up(manifests) | done


def run_shards(
    addresses: Sequence[str],
    output: str,
    setup: dict[str, Any],
    stage_of: Callable[[str], Stage],
    *,
    engine: EngineSettings,
    watch: Watch,
    label: str,
) -> tuple[list[Manifest], dict[str, Any]]:
    """Make a result of each shard that has none.

    Args:
        addresses: See ``link_shards``.
        output: Folder of the results.
        setup: What holds for all shards.
        stage_of: What makes them, from the digest of the setup.
        engine: Who does the work.
        watch: Shows progress.
        label: What is done.

    Returns:
        The manifests of all shards that are done, by name; and ``made`` and ``lost``.
    """
    if engine.address is not None and engine.engine != "ray":
        raise SettingError("address names a cluster of Ray: choose that as the engine")
    shards = find_shards(addresses)
    with _alone(output):
        stage = stage_of(begin(output, setup))
        if stage.settings.images is not None and not stage.settings.images.is_dir():
            raise CorpusError(f"{stage.settings.images}: not a folder; name the one that has the pictures")
        known = list(_known(stage, shards))
        missing = [shard for shard, manifest in zip(shards, known, strict=True) if manifest is None]
        manifests = [manifest for manifest in known if manifest is not None]
        lost: dict[str, str] = {}
        with _workers(stage, engine, len(missing)) as workers:
            results = worked(missing, workers, tries=engine.tries)
            for shard, result in watch(results, total=len(missing), label=label):
                if isinstance(result, Lost):
                    lost[shard.name] = result.reason
                else:
                    manifests.append(result)
    made = {"made": len(missing) - len(lost), "lost": dict(sorted(lost.items()))}
    return sorted(manifests, key=lambda each: each.shard), made


def _workers(stage: Stage, settings: EngineSettings, shards: int) -> AbstractContextManager[Engine[Shard]]:
    memory = int(settings.memory * 1e9)
    if settings.engine == "ray" and shards:
        return closing(OnRay(stage, address=settings.address, workers=settings.workers, memory=memory))
    return closing(Processes(stage, workers=min(settings.workers or usable_cores(), max(1, shards)), memory=memory))


def setup_of(model: str, linking: LinkSettings, settings: ShardSettings) -> dict[str, Any]:
    """All that shapes a result but its shard: version, models with their weights, and settings."""
    encoder = Linker.load(model, linking).encoder
    return {
        "iconotext": __version__,
        "model": {"name": encoder.name, "fingerprint": encoder.fingerprint, "captions": encoder.text_backbone.name},
        "relations": content_name(linking.relations),
        "linking": linking.model_dump(mode="json", exclude={"cache", "max_false", "promise", "explain"}),
        "shards": settings.model_dump(mode="json"),
        "without": None if settings.without is None else sha256_of(settings.without),
    }


def _known(stage: Stage, shards: Iterable[Shard]) -> Iterator[Manifest | None]:
    """The manifest of each shard that is done."""

    def known(shard: Shard) -> Manifest | None:
        return is_done(stage.output, shard, stage.setup)

    if not is_remote(stage.output):
        return map(known, shards)
    return in_threads(known, shards, threads=AT_ONCE)


@contextmanager
def _alone(output: str) -> Iterator[None]:
    """Let nobody else write into a folder of this machine; in a store two runs would write the same bytes twice."""
    if is_remote(output):
        yield
        return
    try:
        Path(output).mkdir(parents=True, exist_ok=True)
        lock = FileLock(Path(output) / LOCK)
        lock.acquire(timeout=0)
    except Timeout as error:
        raise OutputError(f"{output}: another run writes there; wait for it, or stop it") from error
    except OSError as error:
        raise OutputError(f"cannot write {output}: {error.strerror or error}") from error
    try:
        yield
    finally:
        lock.release()
