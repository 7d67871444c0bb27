"""Links the documents of many shards: a pipeline of datatrove, on this machine, on Slurm or on Ray.

datatrove divides the shards into tasks, skips those that are done, and keeps a log and statistics of each;
``adapters.datatrove`` has the steps. ``_run.json`` in the folder of results has the settings that all tasks share, and
the shards of each.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from iconotext import __version__
from iconotext.corpus.shards import Shard, ShardSettings
from iconotext.corpus.store import RUN
from iconotext.decide.settings import LinkSettings
from iconotext.errors import CorpusError, IconotextError, OutputError, SettingError, one_line
from iconotext.extras import require
from iconotext.features.model_folder import content_name
from iconotext.linker import Linker
from iconotext.system.files import locked, reporting_full_disk, write_text
from iconotext.system.object_store import entries, is_remote, joined, lies_in, read_bytes
from iconotext.system.processes import Watch, unwatched
from iconotext.system.strict_json import parse_json
from iconotext.system.threads import environment, thread_shares, usable_cores

if TYPE_CHECKING:
    from datatrove.executor.base import PipelineExecutor
    from datatrove.io import DataFolder

    from iconotext.adapters.datatrove import ReadShards

LOGS = "_logs"
"""In the folder of results: the folder of datatrove's logs, statistics and completed tasks."""

UNFINISHED = "_unfinished"
"""In the folder of results: the folder of results that are being written; each is renamed when it is whole."""

OF_EXECUTORS = {"address": ("ray",), "partition": ("slurm",), "time": ("slurm",), "memory": ("slurm", "ray")}
"""Settings that only some executors have."""

LOCK = ".iconotext.lock"

BUSY = "another run writes there; wait for it, or stop it"

COUNTED = ("documents", "images", "reasons", "pictureless", "damaged", "unread", "links")
"""The beginnings of the names of what the steps count."""

LOOKS, LOOKS_REMOTE = 0.5, 5.0
"""Seconds between two looks at which tasks are completed, here and in a store."""


class ScaleSettings(BaseModel):
    """How the work is divided and where it is done. Only ``to`` changes the result."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    to: Literal["parquet", "jsonl"] = "parquet"
    """What results are written as. ``parquet`` has a row for each link; ``jsonl`` has a line for each document, with
    all that is known of it."""

    executor: Literal["local", "slurm", "ray"] = "local"
    """Where the tasks run. ``local`` are processes of this machine, ``slurm`` are jobs of Slurm, and ``ray`` is a
    cluster of Ray."""

    tasks: int | None = Field(None, ge=1)
    """Tasks that share the shards (default: one a shard). Each writes one file, and is what a kill loses."""

    workers: int | None = Field(None, ge=1)
    """Tasks at a time (default: one a core). On Slurm and Ray the default is as many as there is room for."""

    memory: float = Field(4.0, gt=0)
    """Gigabytes that Slurm or Ray keeps for a task."""

    address: str | None = None
    """Address of a cluster of Ray. By default that of RAY_ADDRESS, else a cluster is started on this machine for the
    time of the run, which only this run can use."""

    partition: str = "cpu"
    """Partition of Slurm."""

    time: str = "24:00:00"
    """Time that Slurm gives a task."""


def link_shards(
    addresses: Sequence[str],
    output: str,
    *,
    model: str = "default",
    linking: LinkSettings | None = None,
    settings: ShardSettings | None = None,
    work: ScaleSettings | None = None,
    watch: Watch = unwatched,
) -> dict[str, Any]:
    """Link the documents of shards; a later call does only the tasks that are not done, or whose shards have changed.

    Args:
        output: Folder for the results, here or in a store that fsspec reaches.
        model: As for ``Linker.load``.
        linking: How documents are linked.
        settings: Which documents are read.
        work: How the work is divided, and where it is done.

    Returns:
        Sums over all tasks that are done: ``shards``, ``tasks``, ``documents``, ``images``, ``links``, ``reasons``;
        shards that could not be read to their end, or not at all (``damaged``, ``unread``); shards without any
        available picture, with their number of pictures (``pictureless``); ``made``, the tasks done now; ``waiting``,
        the tasks that are not done, on Slurm.

    Raises:
        SettingError: Explanations are requested, or a setting of another executor.
        CorpusError: There are no shards, or no folder of pictures where one is named.
        OutputError: The folder has results of other settings, another run is writing there, or it cannot be written.
        StoreError: A store does not answer.
        FeatureError: The model cannot be loaded.
        IconotextError: A task failed, or its process died.
    """
    linking, settings, work = linking or LinkSettings(), settings or ShardSettings(), work or ScaleSettings()
    require("scale", purpose="scale link")
    require("ray", purpose="executor ray") if work.executor == "ray" else None
    if linking.explain:
        raise SettingError("explain is not for shards: link such documents by themselves")
    for name, executors in OF_EXECUTORS.items():
        if name in work.model_fields_set and work.executor not in executors:
            raise SettingError(f"{name} is for the executor {' or '.join(executors)}, not for {work.executor}")
    if work.executor == "slurm" and shutil.which("sbatch") is None:
        raise SettingError("executor slurm: there is no sbatch here; give the command where jobs are handed in")
    if settings.images is not None and not settings.images.is_dir():
        raise CorpusError(f"{settings.images}: not a folder on this machine; name the one that has the pictures")
    addresses = [address if is_remote(address) else os.path.abspath(address) for address in addresses]
    for address in addresses:
        if lies_in(output, address):
            raise OutputError(f"{output}: lies in {address}, so results would be taken for shards: name another folder")
    from datatrove.io import get_datafolder

    from iconotext.adapters.datatrove import ReadShards

    reader, folder = ReadShards(addresses, settings), get_datafolder(output)
    tasks = min(work.tasks or len(reader.shards), len(reader.shards))
    with nullcontext() if is_remote(output) else locked(Path(output) / LOCK, BUSY), reporting_full_disk(output):
        before = _before(output)
        # New shards come last, so that the others stay in their tasks.
        order = {task[0]["address"]: n for n, task in enumerate(before.get("tasks", []))}
        reader.shards.sort(key=lambda shard: order.get(shard.file.address, len(order)))
        setup = _setup(Linker.load(model, linking), settings, work)
        _begin(output, folder, before, {"setup": setup, "tasks": _inputs(reader.shards, tasks)})
        executor = _executor(_pipeline(reader, model, linking, work, folder), folder, tasks, work)
        missing = executor.get_incomplete_ranks(range(tasks))
        if missing:
            with _watched(executor, missing, watch) if work.executor != "slurm" else nullcontext():
                _run(executor, work, output)
        waiting = executor.get_incomplete_ranks(range(tasks))
        if waiting and work.executor != "slurm":
            raise IconotextError(
                f"task {waiting[0]} failed: {joined(output, LOGS)}/logs/task_{waiting[0]:05}.log says why"
            )
        if not waiting and folder.exists(UNFINISHED):
            folder.rm(UNFINISHED, recursive=True)
        counts = {"shards": len(reader.shards), "tasks": tasks, "made": len(missing) - len(waiting)}
        return counts | {"waiting": len(waiting)} | sums_of(_statistics(folder))


def _pipeline(
    reader: ReadShards, model: str, linking: LinkSettings, work: ScaleSettings, folder: DataFolder
) -> list[Any]:
    from iconotext.adapters.datatrove import JsonlLinks, LinkPictures, ParquetLinks

    name, links = f"${{rank}}.{work.to}", LinkPictures(model, linking)
    writer = ParquetLinks if work.to == "parquet" else JsonlLinks
    if not folder.is_local():  # an object appears when it is whole
        return [reader, links, writer(folder, name)]
    return [reader, links, writer(folder, f"{UNFINISHED}/{name}"), _Rename(folder, work.to)]


class _Rename:
    """The last step: gives the file of a task its name once it is whole, or takes an older one away if it has none."""

    def __init__(self, folder: DataFolder, suffix: str) -> None:
        self.folder, self.suffix = folder, suffix

    def __call__(self, data: Iterator[Any], rank: int, world_size: int) -> Iterator[Any]:
        yield from data
        name = f"{rank:05}.{self.suffix}"
        if self.folder.exists(f"{UNFINISHED}/{name}"):
            os.replace(self.folder.resolve_paths(f"{UNFINISHED}/{name}"), self.folder.resolve_paths(name))
        elif self.folder.exists(name):
            self.folder.rm(name)


def _inputs(shards: Sequence[Shard], tasks: int) -> list[list[dict[str, Any]]]:
    """The files of each task, as far as a change of them shows."""
    return [[asdict(file) for shard in shards[n::tasks] for file in (shard.file, *shard.beside)] for n in range(tasks)]


def _setup(linker: Linker, settings: ShardSettings, work: ScaleSettings) -> dict[str, Any]:
    """What all results of a folder share: version, models with weights, and settings."""
    encoder, linking = linker.encoder, linker.settings
    return {
        "iconotext": __version__,
        "model": {"name": encoder.name, "fingerprint": encoder.fingerprint, "captions": encoder.text_backbone.name},
        "relations": content_name(linking.relations),
        "linking": linking.model_dump(mode="json", exclude={"cache", "explain"}),
        "shards": settings.model_dump(mode="json"),
        "results": work.model_dump(mode="json", include={"to"}),
    }


def _before(output: str) -> dict[str, Any]:
    """Return what the folder of results says of its last run; {} if there was none.

    Raises:
        OutputError: The folder has other files, or is damaged.
    """
    data = read_bytes(joined(output, RUN))
    if data is None:
        if files := entries(output) if is_remote(output) or Path(output).is_dir() else []:
            raise OutputError(
                f"{output}: has files but no {RUN}, so it is none of our folders ({files[0].address}): name another"
            )
        return {}
    try:
        before: dict[str, Any] = parse_json(data)
    except ValueError as error:
        raise OutputError(f"{joined(output, RUN)}: damaged; name another folder") from error
    return before


def _begin(output: str, folder: DataFolder, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Note what a run makes; tasks whose shards have changed since count as not done.

    Args:
        before: From the last run.
        now: ``setup``, see ``_setup``, and ``tasks``, see ``_inputs``.

    Raises:
        OutputError: The folder has results of another setup.
    """
    done, inputs = folder.list_files(f"{LOGS}/completions"), now["tasks"]
    different = list(_differences(before.get("setup", {}), parse_json(json.dumps(now["setup"])))) if done else []
    if different:
        raise OutputError(
            f"{output}: its results were made otherwise, and no folder mixes both: {'; '.join(different)}. Name "
            "another folder, or ask for what was asked before"
        )
    earlier = [_versions(task) for task in before.get("tasks", [])]
    for name in done:
        rank = int(name.rpartition("/")[2])
        if rank >= len(inputs) or earlier[rank : rank + 1] != [_versions(inputs[rank])]:
            # Without its task, a result is of shards that are now among those of others, or gone.
            result = [f"{rank:05}.{now['setup']['results']['to']}"] if rank >= len(inputs) else []
            for old in (name, f"{LOGS}/stats/{rank:05}.json", *result):
                if folder.exists(old):
                    folder.rm(old)
    text = json.dumps(now, indent=1)
    if folder.is_local():
        write_text(Path(output) / RUN, text, force=True)
    else:
        folder.pipe_file(RUN, text.encode())


def _versions(task: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What shows a change of a task's files; shards that were moved together are the same."""
    return [(file["size"], file["version"]) for file in task]


def _differences(before: Any, now: Any, place: str = "") -> Iterator[str]:
    """The differences between two setups, in words."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in sorted({*before, *now}):
            yield from _differences(before.get(name), now.get(name), f"{place}.{name}" if place else name)
    elif before != now:
        was, now = (json.dumps(value, ensure_ascii=False) for value in (before, now))
        digests = all(len(text) == len('""') + 64 for text in (was, now))  # digests are meaningless to a reader
        yield f"{place} is another" if digests else f"{place} was {was} and is {now}"


def _executor(pipeline: list[Any], folder: DataFolder, tasks: int, work: ScaleSettings) -> PipelineExecutor:
    from datatrove.executor import LocalPipelineExecutor, RayPipelineExecutor, SlurmPipelineExecutor

    logs, workers = folder.resolve_paths(LOGS), work.workers or -1
    with _unsaid():  # a warning of each local folder
        if work.executor == "slurm":
            return SlurmPipelineExecutor(
                pipeline,
                tasks,
                work.time,
                work.partition,
                mem_per_cpu_gb=max(1, round(work.memory)),
                workers=workers,
                job_name="iconotext",
                logging_dir=logs,
                env_command=f'export PATH="{Path(sys.executable).parent}:$PATH"',
                qos=None,
            )
        if work.executor == "ray":
            return RayPipelineExecutor(pipeline, tasks, workers=workers, logging_dir=logs, mem_per_cpu_gb=work.memory)
    return LocalPipelineExecutor(pipeline, tasks, work.workers or usable_cores(), logs)


def _run(executor: PipelineExecutor, work: ScaleSettings, output: str) -> None:
    """Run the tasks; what the processes log is in files."""
    try:
        with reporting_full_disk(output), _unsaid():
            if work.executor == "ray":
                with _ray(work):
                    executor.run()
            elif work.executor == "slurm":
                executor.run()
            else:
                with environment(thread_shares(work.workers or usable_cores())), _quiet_processes():
                    executor.run()
    except IconotextError:
        raise
    except Exception as error:  # whatever a task raised, of any library below it; its log has more
        raise IconotextError(f"a task failed: {one_line(error, kind=True)}") from error


@contextmanager
def _unsaid() -> Iterator[None]:
    """Leave out what datatrove would write to the terminal, not what this program writes; all of it is in the logs."""
    from datatrove.utils import logging as log

    terminal = log.sys  # where datatrove looks for ``stderr``
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        try:
            log.sys = SimpleNamespace(stderr=nowhere)
            log.setup_default_logger()
            yield
        finally:
            log.sys = terminal
            log.setup_default_logger()


def _in_main_thread() -> bool:
    """Whether this thread is the one to which Python hands signals."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def _quiet_processes() -> Iterator[None]:
    """Let processes of datatrove ignore Ctrl-C, which this one passes on, and log to their files only."""
    from multiprocess import forkserver

    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if _in_main_thread() else None
    error, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        forkserver.ensure_running()
    finally:
        os.dup2(error, 2)
        os.close(error)
        os.close(nowhere)
        if before is not None:
            signal.signal(signal.SIGINT, before)
    try:
        yield
    finally:
        forkserver._forkserver._stop()  # else the next run would have the variables of this one


@contextmanager
def _watched(executor: PipelineExecutor, missing: Sequence[int], watch: Watch) -> Iterator[None]:
    """Show how many tasks are completed, and end the run if a process of it dies: datatrove would wait for ever.

    Only the main thread of a program can be interrupted so; in another thread datatrove does wait.

    Raises:
        IconotextError: A process died.
    """
    ended, died = threading.Event(), threading.Event()

    def completed() -> Iterator[int]:
        """Yield once for each task that has been completed."""
        processes: set[int] = set()
        shown = 0
        while shown < len(missing):
            last = ended.wait(LOOKS if executor.logging_dir.is_local() else LOOKS_REMOTE)
            done = len(missing) - len(executor.get_incomplete_ranks(missing))
            yield from range(shown, done)
            shown = done
            now = _processes()
            if in_main_thread and not last and done < len(missing) and not processes <= now and not ended.is_set():
                died.set()
                signal.pthread_kill(main, signal.SIGINT)
            if last or died.is_set():
                return
            processes = now

    def look() -> None:
        for _ in watch(completed(), total=len(missing), label="Linking shards"):
            pass

    main, in_main_thread = threading.get_ident(), _in_main_thread()
    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    except KeyboardInterrupt:
        if died.is_set():
            raise IconotextError(
                "a process that links shards died, most often for want of memory: take fewer workers; the same command "
                "goes on from there"
            ) from None
        raise
    finally:
        ended.set()
        looking.join()


def _processes() -> set[int]:
    """The processes of datatrove's pool."""
    from multiprocess import active_children

    return {child.pid for child in active_children() if child.name.startswith("ForkServerPoolWorker")}


@contextmanager
def _ray(work: ScaleSettings) -> Iterator[None]:
    """Connect to a cluster of Ray, or start one on this machine that only this run can use."""
    address = work.address or os.environ.get("RAY_ADDRESS") or "local"
    variables = {"RAY_USAGE_STATS_ENABLED": "0", **thread_shares(work.workers or usable_cores())}
    private = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token_hex(32)} if address == "local" else {}
    with (
        TemporaryDirectory(prefix="iconotext-", ignore_cleanup_errors=True) as scratch,
        environment(variables | private),
    ):
        import ray

        inner: Any = import_module("ray._raylet")  # Ray reads mode and token only once, maybe without ours
        inner.Config.initialize("")
        inner.AuthenticationTokenLoader.instance().reset_cache()

        more: dict[str, Any] = {"include_dashboard": False, "_temp_dir": scratch} if address == "local" else {}
        try:
            ray.init(
                address, runtime_env={"env_vars": variables}, log_to_driver=False, logging_level=logging.ERROR, **more
            )
        except Exception as error:  # Ray raises errors of many types
            raise IconotextError(f"Ray ({address}): {one_line(error)}") from error
        try:
            yield
        finally:
            ray.shutdown()


def sums_of(statistics: Iterable[list[dict[str, Any]]]) -> dict[str, Any]:
    """Sum what the steps have counted, over the statistics of tasks as datatrove writes them."""
    sums: dict[str, Counter[str]] = {name: Counter() for name in COUNTED}
    for steps in statistics:
        for label, value in ((label, value) for step in steps for label, value in step["stats"].items()):
            kind, _, rest = label.partition(": ")
            if kind in sums:
                sums[kind][rest] += int(value["total"] if isinstance(value, dict) else value)
    return {
        **{name: dict(sorted(sums[name].items())) for name in ("documents", "images", "reasons", "pictureless")},
        **{name: dict(sorted(text.split(": ", 1) for text in sums[name])) for name in ("damaged", "unread")},
        "links": sums["links"][""],
    }


def _statistics(folder: DataFolder) -> Iterator[list[dict[str, Any]]]:
    for name in folder.list_files(f"{LOGS}/stats"):
        yield parse_json(folder.cat_file(name))
