"""Runs over many shards: find shards without an up-to-date result, make the results, and sum up the manifests."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any

from iconotext import __version__
from iconotext.corpus.shard_results import (
    Manifest,
    begin,
    digest_of_setup,
    is_done,
    other_results,
    sha256_of,
    sum_manifests,
)
from iconotext.corpus.shards import Shard, ShardSettings, find_shards
from iconotext.decide.settings import LinkSettings
from iconotext.errors import CorpusError, OutputError, SettingError
from iconotext.extras import require
from iconotext.features.model_folder import content_name
from iconotext.linker import Linker
from iconotext.scale.engine import Engine, EngineSettings, Lost, Processes, worked
from iconotext.scale.on_ray import OnRay
from iconotext.scale.stage import Stage
from iconotext.system.files import locked, remove_leftovers
from iconotext.system.object_store import address_of, entry, is_remote, lies_in, local_files
from iconotext.system.processes import Watch, unwatched
from iconotext.system.threads import in_threads, usable_cores

LOCK = ".iconotext.lock"

BUSY = "another run writes there; wait for it, or stop it"

MANIFESTS_AT_ONCE = 32
"""Manifests that are read from a store at the same time."""


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
    """Link the documents of shards; each result is written completely or not at all.

    A later call makes only results that are missing, or whose shard has changed.

    Args:
        output: Folder for the results, also in a store.
        model: As for ``Linker.load``.
        linking: How documents are linked.
        settings: Which documents are used, and how results are written.
        engine: Which workers link the shards, and how many.

    Returns:
        Sums of the manifests (``shards``, ``documents``, ``images``, ``links``, ``reasons``); shards that could not be
        read to their end, or not at all, with the reason (``damaged``, ``unread``); shards without any available
        picture, with their number of pictures (``pictureless``); ``made``, number of shards made now; ``lost``, the
        reason why a shard was not made, by shard; ``others``, results in the folder of other shards.

    Raises:
        SettingError: Explanations are requested, or an address for another engine than Ray.
        CorpusError: There are no shards, or no folder of pictures or table of duplicates where one is named.
        OutputError: The folder has shards of other settings, another run is writing there, or it cannot be written.
        StoreError: A store does not answer.
        FeatureError: The model cannot be loaded.
    """
    linking, settings, engine = linking or LinkSettings(), settings or ShardSettings(), engine or EngineSettings()
    if linking.explain:
        raise SettingError("explain is not for shards: link such documents by themselves")
    if settings.to == "parquet" or settings.without is not None:
        require("parquet", purpose="a table of Parquet")
    if settings.without is not None and entry(address := address_of(settings.without)) is None:
        raise CorpusError(f"{address}: no such table of duplicates")
    setup = setup_of(Linker.load(model, linking), settings)
    stage = Stage(output, digest_of_setup(setup), model, linking, settings)
    return run_shards(addresses, stage, setup, engine=engine, watch=watch, label="Linking shards")[1]


def run_shards(
    addresses: Sequence[str], stage: Stage, setup: dict[str, Any], *, engine: EngineSettings, watch: Watch, label: str
) -> tuple[list[Manifest], dict[str, Any]]:
    """Make the result of each shard that has none or whose result is out of date.

    Args:
        setup: Settings and models that all shards share.

    Returns:
        The manifests of all finished shards, by name; and the result of ``link_shards``.
    """
    output, images = stage.output, stage.settings.images
    if images is not None and not images.is_dir():
        raise CorpusError(f"{images}: not a folder on this machine; name the one that has the pictures")
    if engine.address is not None and engine.engine != "ray":
        raise SettingError("address names a cluster of Ray: choose that as the engine")
    for address in addresses:
        if lies_in(output, address):
            raise OutputError(f"{output}: lies in {address}, so results would be taken for shards: name another folder")
    shards = find_shards(addresses)
    # In a store, two runs would only write the same bytes twice.
    lock = nullcontext() if is_remote(output) else locked(Path(output) / LOCK, BUSY)
    with lock:
        begin(output, setup)
        # Manifests are read several at a time where each is a request to a store.
        threads = MANIFESTS_AT_ONCE if is_remote(output) else 1
        existing = list(in_threads(lambda shard: is_done(output, shard, stage.setup), shards, threads=threads))
        missing = [shard for shard, manifest in zip(shards, existing, strict=True) if manifest is None]
        manifests = [manifest for manifest in existing if manifest is not None]
        lost: dict[str, str] = {}
        with _workers(stage, engine, len(missing)) as workers:
            results = worked(missing, workers, tries=engine.tries)
            for shard, result in watch(results, total=len(missing), label=label):
                if isinstance(result, Lost):
                    lost[shard.name] = result.reason
                else:
                    manifests.append(result)
        if not is_remote(output):
            remove_leftovers(Path(output))  # of killed workers
        counts = {"made": len(missing) - len(lost), "lost": dict(sorted(lost.items()))}
        manifests.sort(key=lambda manifest: manifest.shard)
        return manifests, sum_manifests(manifests) | counts | {"others": other_results(output, shards)}


def _workers(stage: Stage, settings: EngineSettings, shards: int) -> AbstractContextManager[Engine[Shard]]:
    memory = int(settings.memory * 1e9)
    if settings.engine == "ray" and shards:
        return closing(OnRay(stage, address=settings.address, workers=settings.workers, memory=memory))
    return closing(Processes(stage, workers=min(settings.workers or usable_cores(), max(1, shards)), memory=memory))


def setup_of(linker: Linker, settings: ShardSettings) -> dict[str, Any]:
    """The part of a result's origin that all shards share: version, models with weights, and settings."""
    encoder, linking = linker.encoder, linker.settings
    return {
        "iconotext": __version__,
        "model": {"name": encoder.name, "fingerprint": encoder.fingerprint, "captions": encoder.text_backbone.name},
        "relations": content_name(linking.relations),
        "linking": linking.model_dump(mode="json", exclude={"cache", "explain"}),
        "shards": settings.model_dump(mode="json"),
        "without": None if settings.without is None else digest_of_table(settings.without),
    }


def digest_of_table(table: Path) -> str | None:
    """Return the SHA-256 of a table, here or in a store."""
    with local_files(address_of(table)) as (file,):
        return sha256_of(file)
