"""Promises over shards: those that linking all documents together makes, and what is begun again when one changes."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace

import pytest

from iconotext.corpus.shards import Counts, ShardSettings, find_shards, shard_documents
from iconotext.corpus.store import read_corpus
from iconotext.decide.settings import LinkSettings
from iconotext.decide.target_decoy import POOL, DecoyPool
from iconotext.errors import OutputError, SettingError
from iconotext.linker import Linker
from iconotext.report.as_json import json_object
from iconotext.report.as_parquet import write_parquet
from iconotext.scale.engine import EngineSettings
from iconotext.scale.promised import merge_pools, read_pool, write_pool
from iconotext.scale.run import PROMISES, link_shards
from iconotext.types import Document, Image, TextLine
from tests.support.shards import Here, contents, manifest, png, write_jsonl, write_tar

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

THINGS = "anchor bridge candle dragon engine falcon garden hammer island jacket kettle ladder".split()
PLACES = ["in Paris", "at night", "by the lake", "on a roof", "in winter", "under water"]
HABIT = {"habit": "below", "relations": "none", "evidence": ("caption", "layout", "reference")}
"""Habits are learned from the shard; given, they are those of all documents together."""


EVIDENCE = ("picture", "caption", "layout", "reference")
"""What the calibration figures that ship are of."""


def made_up(number: int, *, foreign: bool) -> dict[str, object]:
    """A document about a thing of its own, with a captioned picture of it, and maybe one of another document."""
    thing, place = THINGS[number % 12], PLACES[number // 12 % 6]
    sentences = [f"The {word} {thing} stood {place}." for word in ("old", "new", "red", "tall", "lost", "last")]
    captions = [f"A red {thing} {place}"]
    if foreign:
        captions.append(f"A {THINGS[(number + 5) % 12]} {PLACES[(number // 12 + 3) % 6]}")
    places = {"blocks": list(range(6)), "positions": [3, 5][: len(captions)]}
    images = [f"{(number + n) % 20}.png" for n in range(len(captions))]
    return {"id": f"d{number}", "sentences": sentences, "images": images, "captions": captions, **places}


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Sixty documents in three shards, every second one with a picture of another document."""
    folder = tmp_path_factory.mktemp("promised") / "in"
    for shard, numbers in enumerate((range(10), range(10, 35), range(35, 60))):
        write_jsonl(folder / f"{shard:03}.jsonl", [made_up(n, foreign=n % 2 == 0) for n in numbers])
        write_tar(folder / f"{shard:03}.tar", {f"{number}.png": png(number) for number in range(20)})
    return folder


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """Twelve documents, each with the link that is right."""
    folder = tmp_path_factory.mktemp("known")
    for number in range(20):
        (folder / f"{number}.png").write_bytes(png(number))
    rows = [made_up(n, foreign=False) | {"links": [[2, 0]]} for n in range(60, 72)]
    write_jsonl(folder / "known.jsonl", rows)
    return folder / "known.jsonl"


def link(shards, output, *, to="jsonl", engine="local", unlinked="keep", workers=1, calibration=None, **linking):
    return link_shards(
        [str(shards)],
        str(output),
        linking=LinkSettings(**{"max_false": 0.2, "promise": "document", **HABIT, **linking}),
        settings=ShardSettings(to=to, unlinked=unlinked),
        engine=EngineSettings(workers=workers, engine=engine, tries=1),
        calibration=calibration,
    )


def together(shards, calibration=None, **linking):
    """What linking makes of the documents of all shards as one collection."""
    linker = Linker.load("default", LinkSettings(**{"max_false": 0.2, "promise": "document", **HABIT, **linking}))
    if calibration is not None:
        linker.calibrate(read_corpus(calibration))
    documents = [
        document
        for shard in find_shards([str(shards)])
        for document in shard_documents(shard, [shards / f"{shard.name}.jsonl", shards / f"{shard.name}.tar"], Counts())
    ]
    return list(linker.link_all(documents))


def written(output):
    return [json.loads(line) for file in sorted(output.glob("*.jsonl")) for line in file.read_text().splitlines()]


def tables(output):
    return [pq.read_table(file) for file in sorted(output.glob("*.parquet"))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("promise", "max_false", "to", "unlinked"),
    [
        ("document", 0.2, "jsonl", "keep"),
        ("document", 0.2, "parquet", "drop"),
        ("paragraph", 0.5, "jsonl", "drop"),
        ("none", 0.2, "jsonl", "keep"),
        ("none", 0.2, "parquet", "drop"),
    ],
)
def test_shards_keep_the_links_that_one_collection_keeps(
    shards, tmp_path, monkeypatch, promise, max_false, to, unlinked
):
    monkeypatch.setattr("iconotext.scale.run.Processes", Here)
    chosen = {"promise": promise, "max_false": max_false}
    if promise == "paragraph":
        chosen["evidence"] = EVIDENCE
    alone = together(shards, **chosen)
    done = link(shards, tmp_path / "out", to=to, unlinked=unlinked, **chosen)
    stay = [each for each in alone if unlinked == "keep" or each.links]
    assert done["links"] == sum(len(each.links) for each in alone) > 0
    assert (done["promises"][0]["tested"], done["documents"]["read"]) == (90, 60)
    assert (done["documents"]["written"], done["documents"].get("without a link", 0)) == (len(stay), 60 - len(stay))
    assert json.loads((tmp_path / "out" / PROMISES).read_text()) == {"whole": True, "promises": done["promises"]}
    if promise == "document":
        kept = Counter(link.image for each in alone for link in each.links)
        assert kept[0] >= 50
        assert kept[1] <= 0.2 * kept.total()  # those of other documents
    if to == "jsonl":
        assert written(tmp_path / "out") == [json.loads(json.dumps(json_object(each))) for each in stay]
    else:
        write_parquet(stay, tmp_path / "alone.parquet")
        assert pa.concat_tables(tables(tmp_path / "out")).equals(pq.read_table(tmp_path / "alone.parquet"))


@pytest.mark.slow
def test_links_that_are_known_promise_sentences_and_belong_to_the_settings(shards, known, tmp_path, monkeypatch):
    monkeypatch.setattr("iconotext.scale.run.Processes", Here)
    output, chosen = tmp_path / "out", {"promise": "sentence", "calibration": known}
    done = link(shards, output, **chosen)
    assert [each["calibration"] for each in done["promises"][1:]] == [12, 12]
    alone = together(shards, **chosen)
    assert done["links"] == sum(len(each.links) for each in alone) > 20
    assert written(output) == [json.loads(json.dumps(json_object(each))) for each in alone]
    for other in (None, known.with_name("fewer.jsonl")):
        known.with_name("fewer.jsonl").write_text("".join(known.read_text().splitlines(keepends=True)[:-1]))
        with pytest.raises(OutputError, match="calibration"):
            link(shards, output, **{**chosen, "calibration": other})
    with pytest.raises(SettingError, match="max_false"):
        link(shards, tmp_path / "no promise", max_false=None, promise="sentence", calibration=known)


@pytest.mark.slow
def test_any_engine_goes_on_and_a_shard_more_changes_the_promise_of_all(shards, known, tmp_path, monkeypatch):
    pytest.importorskip("ray", reason="ray is not installed")
    inputs, output = tmp_path / "in", tmp_path / "out"
    inputs.mkdir()

    def add(name):
        for suffix in (".jsonl", ".tar"):
            (inputs / f"{name}{suffix}").write_bytes((shards / f"{name}{suffix}").read_bytes())

    add("000")
    add("001")
    with monkeypatch.context() as quick:
        quick.setattr("iconotext.scale.run.Processes", Here)
        first = link(inputs, output, calibration=known)
        assert (first["made"], first["promises"][0]["tested"]) == (2, 53)
        whole = contents(output)
        (output / "001.jsonl").unlink()
        (output / "_promises/pools/001.parquet").unlink()
        assert link(inputs, output, calibration=known) == first | {"made": 1}
    (output / "_promises/linked/_manifests/000.json").unlink()
    assert link(inputs, output, calibration=known, engine="ray", workers=2) == first | {"made": 0}
    assert contents(output) == whole
    add("002")
    assert [each["calibration"] for each in first["promises"]] == [53, 12, 12]
    more = link(inputs, output, calibration=known, workers=2)
    assert (more["made"], more["promises"][0]["tested"]) == (3, 90)
    monkeypatch.setattr("iconotext.scale.run.Processes", Here)
    assert link(inputs, output, calibration=known) == more | {"made": 0}
    link(inputs, tmp_path / "at once", calibration=known)
    assert contents(tmp_path / "at once") == contents(output)
    for path in inputs.glob("002.*"):
        path.unlink()
    fewer = link(inputs, output, calibration=known)  # of all but what is not there any more
    assert (fewer["promises"], fewer["others"]) == (first["promises"], ["002"])
    assert json.loads((output / "_promises.json").read_text())["whole"] is False
    with pytest.raises(OutputError, match=r"linking\.max_false was 0\.2 and is 0\.3"):
        link(inputs, output, calibration=known, max_false=0.3)


def test_the_pool_of_all_is_that_of_each(tmp_path):
    rng = random.Random(3)
    texts = (TextLine("Exit", 0.5, (0.0, 0.25, 0.5, 1.0)),)
    documents = [
        Document(
            f"d{n}",
            ("A.",),
            tuple(
                Image(f"{n}-{i}.png", rng.randbytes(9), caption=f"{n} {i}", lines=texts if i else None)
                for i in range(30)
            ),
        )
        for n in range(60)
    ]
    whole = DecoyPool()
    for document in documents:
        whole.add(document)
    manifests = []
    for name, some in (("a", documents[:7]), ("b", documents[7:8]), ("c", []), ("d", documents[8:])):
        pool = DecoyPool()
        for document in some:
            pool.add(document)
        write_pool(tmp_path / f"{name}.parquet", pool)
        manifests.append(manifest(name))
    digests = {merge_pools(str(tmp_path), some, str(tmp_path / "_all.parquet")) for some in (manifests, manifests)}
    assert len(digests) == 1
    (tmp_path / "pictures").mkdir()
    merged = read_pool(tmp_path / "_all.parquet", tmp_path / "pictures")

    def said(pool):
        return [
            (
                name,
                collection,
                n,
                replace(image, file=None),
                image.file if isinstance(image.file, bytes) else image.file.read_bytes(),
            )
            for name, collection, n, image in pool
        ]

    assert said(merged) == said(whole)
    assert len(said(whole)) == POOL
    assert merge_pools(str(tmp_path), manifests[:3], str(tmp_path / "_all.parquet")) not in digests


def test_files_of_ours_are_no_shards(tmp_path):
    for name in ("000.jsonl", "_promises/linked/000.jsonl", "_duplicates.parquet", "more/001.jsonl"):
        write_jsonl(tmp_path / name, [])
    assert [each.name for each in find_shards([str(tmp_path)])] == ["000", "more/001"]
    assert [each.name for each in find_shards([str(tmp_path / "_promises/linked")])] == ["000"]
