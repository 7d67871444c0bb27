"""Training on shards of features: as in memory where they fit, and the same whoever reads and is killed."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from iconotext.corpus.shard_results import Manifest
from iconotext.corpus.shards import find_shards
from iconotext.errors import CorpusError, SettingError
from iconotext.recipe import Recipe
from iconotext.scale.engine import EngineSettings
from iconotext.scale.features import Features, write_features
from iconotext.train import feature_shards as module
from iconotext.train.batches import Batch, BatchLoader
from iconotext.train.feature_shards import HELD_OUT, is_feature_folder, prepare_shards
from iconotext.train.joined import extracted
from iconotext.train.prepare import prepare
from iconotext.train.prepared import open_prepared
from iconotext.train.run import _compare_links, train
from tests.support.object_store import running, send
from tests.support.shards import png, row, write_jsonl
from tests.support.training import (
    Stop,
    StopAt,
    edited,
    ends_the_same_when_killed,
    features_of,
    log_of,
    made_of,
    metrics_of,
    regional_recipe,
    small_recipe,
    tables,
    weights_of,
    write_regional,
    write_synthetic,
)


@pytest.fixture
def server(monkeypatch):
    yield from running(monkeypatch)


@pytest.fixture(scope="module")
def features(corpus, tmp_path_factory):
    return features_of(tmp_path_factory.mktemp("sharded"), tables(corpus), corpus)


def trains_as_in_memory(recipe, corpus, tmp_path, *, each):
    train(recipe, [corpus], tmp_path / "memory")
    train(recipe, [features_of(tmp_path, recipe, corpus, each=each)], tmp_path / "streamed")
    memory, streamed = tmp_path / "memory", tmp_path / "streamed"
    assert weights_of(streamed) == weights_of(memory)
    assert metrics_of(streamed) == metrics_of(memory)
    assert {path.name for path in streamed.iterdir()} == {path.name for path in memory.iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("splits", [True, False])
def test_in_one_buffer_it_is_training_in_memory(tmp_path, splits):
    corpus = write_synthetic(tmp_path / "corpus", splits=splits)
    trains_as_in_memory(tables(corpus, training={"epochs": 2}), corpus, tmp_path, each=7)


@pytest.mark.slow
def test_so_it_is_with_regions_and_the_objective_within_documents(tmp_path):
    # Some of its pictures are equal, so that documents are no negatives.
    corpus = write_regional(tmp_path / "corpus")
    objective = {"cross_document": 0, "intra_document": 1, "negatives": "mean"}
    training = {"epochs": 2, "max_regions": 2, "max_sentences": 1}
    recipe = regional_recipe(tmp_path / "corpus", objective=objective, training=training)
    trains_as_in_memory(recipe, corpus, tmp_path, each=9)


@pytest.mark.slow
def test_so_it_is_with_views_and_what_other_evidence_says(tmp_path):
    corpus = write_jsonl(tmp_path / "whole" / "corpus.jsonl", [row(n, [f"{n}.png"]) for n in range(12)])
    for folder in (tmp_path / "whole", tmp_path / "shards"):
        folder.mkdir(exist_ok=True)
        for n in range(12):
            (folder / f"{n}.png").write_bytes(png(n))
    recipe = small_recipe(
        features={"text": "minilm", "image": "efficientnet-lite0", "augmentations": 1},
        text={"kind": "projection"},
        objective={"kind": "softmax", "posterior": 1},
        training={"epochs": 1, "batch": 4, "learning_rate": 1e-3},
    )
    trains_as_in_memory(recipe, corpus, tmp_path, each=5)


def prepared_of(features: Path, recipe: Recipe, folder: Path):
    return prepare_shards(recipe, [str(features)], folder / "arrays")


def seen(batches: list[Batch]) -> list[np.ndarray]:
    """All numbers of some batches."""
    tensors = [(each.images, each.words, each.lengths, each.negative_mask) for each in batches]
    return [tensor.numpy() for own in tensors for tensor in own]


@pytest.mark.slow
@pytest.mark.parametrize("buffer", [2, 9, 12, 30, 36, 1000])
def test_every_document_comes_once_an_epoch_shared_among_processes(features, corpus, tmp_path, buffer):
    recipe = tables(corpus, training={"buffer": buffer, "batch": 4})
    prepared = prepared_of(features, recipe, tmp_path)
    known = prepare(recipe, [corpus], tmp_path / "memory")
    wanted = sorted(known.ids[n] for n in known.documents("train"))
    orders = []
    for epoch in range(2):
        buffers = BatchLoader(prepared, recipe)
        plan = buffers.plan(epoch)
        opened = [buffers.open(buffer, epoch) for buffer in plan]
        ids = [part.ids[n] for part in opened for n in part.documents("train")]
        assert sorted(ids) == wanted
        assert all(len(part.documents("train")) <= buffer for part in opened)
        assert len(opened) == -(-36 // buffer)
        whole = list(buffers.batches(epoch))
        assert len(whole) == sum(buffer.steps for buffer in plan)
        orders.append(np.concatenate([each.images.numpy() for each in whole]))
        for ranks in (2, 3):
            shares = [BatchLoader(prepared, recipe, ranks=ranks) for _ in range(ranks)]
            taken = [list(own.batches(epoch, rank=rank)) for rank, own in enumerate(shares)]
            assert len({len(each) for each in taken}) == 1
            assert {tuple(b.documents.tolist()) for own in taken for b in own} == {
                tuple(b.documents.tolist()) for b in whole
            }
    assert not np.array_equal(*orders)


def test_batches_are_the_same_for_any_number_of_readers_and_from_any_step(features, corpus, tmp_path):
    one = tables(corpus, training={"buffer": 12, "batch": 4, "max_sentences": 2})
    many = tables(corpus, training={"buffer": 12, "batch": 4, "max_sentences": 2, "readers": 5})
    prepared = prepared_of(features, one, tmp_path)
    whole = list(BatchLoader(prepared, one).batches(3))
    for other in (
        list(BatchLoader(prepared, many).batches(3)),
        *(list(BatchLoader(prepared, one).batches(3, start=n)) for n in range(9)),
    ):
        for got, expected in zip(seen(other), seen(whole[len(whole) - len(other) :]), strict=True):
            np.testing.assert_array_equal(got, expected)
    assert len(whole) == 9


def test_a_picture_of_two_shards_is_no_stranger_to_itself(tmp_path):
    corpus = write_synthetic(tmp_path / "corpus", 20)
    edited(corpus, lambda rows: rows[11].update(images=[*rows[11]["images"][:2], rows[2]["images"][1]]))
    recipe = tables(corpus, training={"batch": 12})
    prepared = prepared_of(features_of(tmp_path, recipe, corpus), recipe, tmp_path)
    (batch,) = BatchLoader(prepared, recipe).batches(0)
    known = ~np.eye(12, dtype=bool)
    places = [batch.documents.tolist().index(n) for n in (2, 11)]
    known[np.ix_(places, places)] = False
    np.testing.assert_array_equal(batch.negative_mask.numpy(), known)


@pytest.mark.slow
def test_a_run_goes_on_within_a_window_and_ends_the_same(features, corpus, tmp_path, monkeypatch):
    recipe = tables(corpus, training={"buffer": 12, "batch": 4, "epochs": 2})
    train(recipe, [features], tmp_path / "whole")
    monkeypatch.setattr("iconotext.train.loop.SAVE_EVERY", 0.0)
    for at in ((1, 5), (2, 2)):
        with pytest.raises(Stop):
            train(recipe, [features], tmp_path / "stopped", watcher=StopAt(*at))
    watcher = StopAt(0, 0)
    train(recipe, [features], tmp_path / "stopped", watcher=watcher)
    assert watcher.seen[0] == (2, 2)
    assert weights_of(tmp_path / "stopped") == weights_of(tmp_path / "whole")
    assert log_of(tmp_path / "stopped") == log_of(tmp_path / "whole")


def test_held_out_are_those_of_the_smallest_chance_and_no_more_than_the_bound(tmp_path, monkeypatch):
    corpus = write_synthetic(tmp_path / "corpus", 60, splits=False)
    recipe = tables(corpus, training={"validation": 0.4})
    features = features_of(tmp_path, recipe, corpus)
    known = prepare(recipe, [corpus], tmp_path / "memory")
    drawn = {known.ids[n] for n in known.documents("validation")}
    assert len(drawn) == 24 < HELD_OUT
    assert set(prepared_of(features, recipe, tmp_path / "all").ids) == drawn
    monkeypatch.setattr(module, "HELD_OUT", 5)
    few = prepared_of(features, recipe, tmp_path / "few")
    assert len(few.ids) == 5
    assert set(few.ids) < drawn
    assert sum(count for *_, count in few.meta["shards"]) == 55


def test_documents_without_features_leave_nothing_of_them_in_memory(tmp_path):
    prepared = prepare(regional_recipe(tmp_path), [write_regional(tmp_path)], tmp_path / "arrays")
    part = module._without_features(extracted(prepared, np.arange(9)))
    assert len(part.ids) == 9
    for array in (part.words.ids, part.regions.features, part.regions.concepts):
        assert array.size == 0
        assert array.base is None  # else it is a view that keeps all of an array


@pytest.mark.parametrize("splits", [True, False])
def test_words_are_those_that_are_read_of_documents_that_train(tmp_path, splits):
    corpus = write_synthetic(tmp_path / "corpus", 30, splits=splits)
    lines = [json.loads(line) for line in corpus.read_text().splitlines()]
    for number, line in enumerate(lines):  # some words in one document alone, some behind what is read
        line["sentences"][0] = f"own{number} rare{number % 7} " + "and so on " * 9 + f"late{number % 3}"
        line["images"] = ["nowhere"] if number % 10 == 0 else line["images"]
        line["links"] = []
    corpus.write_text("".join(json.dumps(line) + "\n" for line in lines))
    recipe = tables(corpus, text={"max_tokens": 12, "max_words": 40}, training={"validation": 0.3})
    memory = prepare(recipe, [corpus], tmp_path / "memory")
    streamed = prepared_of(features_of(tmp_path, recipe, corpus, each=7), recipe, tmp_path)
    training = {memory.ids[n] for n in memory.documents("train")}
    assert len(training) == (15 if splits else 19)
    counts: dict[str, int] = {}
    for line in lines:
        for word in (w for s in line["sentences"] for w in s.split()[:12] if line["id"] in training):
            counts[word] = counts.get(word, 0) + 1
    wanted = ["<unknown>", *sorted(counts, key=lambda word: (-counts[word], word))[:40]]
    for prepared in (memory, streamed):
        assert (prepared.folder / "vocabulary.txt").read_text().split() == wanted
    assert sum(word.startswith("own") for word in wanted) < len(training)  # there are more words than fit
    first = memory.words.ids[: memory.words.offsets[1]].tolist()
    known = [wanted.index(word) if word in wanted else 0 for word in lines[1]["sentences"][0].split()[:12]]
    assert first == known  # of the first document with a picture


def test_what_is_skipped_is_counted_with_its_reason(tmp_path):
    rows = [row(0, ["a.png", "gone.png"]), row(1, ["bad.png"]), row(2, ["b.png"]), row(3, ["b.png"], sentences=[])]
    rows[3]["blocks"] = []
    shards = tmp_path / "shards"
    write_jsonl(shards / "0.jsonl", rows)
    for name, data in {"a.png": png(1), "b.png": png(2), "bad.png": b"no picture"}.items():
        (shards / name).write_bytes(data)
    recipe = small_recipe(features={"text": "minilm", "image": "efficientnet-lite0"}, text={"kind": "projection"})
    output = made_of(shards, recipe)
    manifest = Manifest.model_validate_json((output / "_manifests" / "0.json").read_bytes())
    assert manifest.documents["written"] == 2
    assert manifest.documents["read"] == sum(manifest.documents.values()) / 2
    assert (manifest.images["missing"], manifest.images["unreadable"]) == (1, 1)
    assert sum(manifest.reasons.values()) >= 3
    shard = open_prepared(output / "0.features")
    assert list(shard.ids) == ["d0", "d2"]
    assert shard.sentences is not None
    assert shard.sentences.dtype == np.float16
    first = (output / "0.features").read_bytes()
    (shard_file,) = find_shards([str(shards)])
    Features(str(output), manifest.setup, recipe=recipe).run(shard_file)  # from a full cache
    assert (output / "0.features").read_bytes() == first


def test_what_cannot_be_is_refused_with_what_to_do(features, corpus, tmp_path):
    other = tables(corpus, text={"max_tokens": 7})
    with pytest.raises(SettingError, match=r"max_tokens was 20 and is 7; make others with `iconotext scale features`"):
        train(other, [features], tmp_path / "model")
    with pytest.raises(SettingError, match="cannot be trained on together"):
        train(tables(corpus), [features, corpus], tmp_path / "model")
    refused = {
        "looks at the pictures themselves": small_recipe(features={"image": "pixels"}, image={"kind": "network"}),
        "with its whole path": small_recipe(),
        "labelled-pairs": tables(corpus, similarity={"kind": "labelled-pairs"}),
        "trained on the whole corpus": tables(corpus, text={"word_vectors": "word2vec"}),
        "rates of relations": tables(corpus, objective={"coherence": 1}),
    }
    for reason, recipe in refused.items():
        with pytest.raises(SettingError, match=reason):
            write_features(["nowhere"], str(tmp_path / "out"), recipe)
    assert not is_feature_folder(tmp_path)
    assert not is_feature_folder(corpus)
    assert not (tmp_path / "model").exists()


def test_links_that_changed_cannot_be_counted_on_features(features, tmp_path):
    (tmp_path / "metrics.json").write_text('{"before": {}}')
    recipe = small_recipe(init="default", features={"image": "efficientnet-lite0"})
    _compare_links(recipe, [features], tmp_path, tmp_path / "arrays")
    assert metrics_of(tmp_path)["changed"] is None


def test_a_damaged_shard_is_told(corpus, tmp_path):
    recipe = tables(corpus)
    features = features_of(tmp_path, recipe, corpus, each=30)
    path = features / "001.features"
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(CorpusError, match=r"001.features: damaged or missing; remove it, and make it again"):
        train(recipe, [features], tmp_path / "model")


@pytest.mark.slow
def test_processes_write_the_same_bytes(features, corpus, tmp_path):
    output = tmp_path / "out"
    done = write_features(
        [str(features.parent / "shards")], str(output), tables(corpus), engine=EngineSettings(workers=2)
    )
    assert (done["made"], done["documents"]) == (6, {"read": 60, "written": 60})
    for path in features.glob("*.features"):
        assert (output / path.name).read_bytes() == path.read_bytes()


@pytest.mark.kill
@pytest.mark.skipif(not hasattr(sys, "getdlopenflags"), reason="needs fork and SIGKILL")
def test_killed_at_any_moment_it_ends_with_the_same_model(features, corpus, tmp_path):
    training = {"epochs": 6, "average": 2, "max_sentences": 2, "batch": 4, "buffer": 12}
    ends_the_same_when_killed(tables(corpus, training=training, objective={"b": 6}), features, tmp_path)


@pytest.mark.training
def test_two_processes_train_as_in_memory_and_look_for_another_port_where_theirs_is_taken(
    features, corpus, tmp_path, monkeypatch, capfd
):
    from lightning_fabric.plugins.environments import lightning

    class Watcher(StopAt):
        epochs: ClassVar[list[int]] = []

        def epoch(self, row):
            self.epochs.append(row["epoch"])

    recipe = tables(corpus, training={"devices": 2, "epochs": 2, "learning_rate": 0.02})
    watcher = Watcher(0, 0)
    train(recipe, [corpus], tmp_path / "memory", watcher=watcher)
    assert watcher.epochs == [1, 2]
    assert watcher.seen == [(e, s) for e in (1, 2) for s in (1, 2, 3)]
    assert len({row["validation_loss"] for row in log_of(tmp_path / "memory")}) == 2  # each epoch has changed the model
    assert capfd.readouterr().err == ""
    assert "MASTER_PORT" not in os.environ  # the next run looks for a port of its own
    free = lightning.find_free_network_port
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = iter([taken.getsockname()[1]])
        monkeypatch.setattr(lightning, "find_free_network_port", lambda: next(ports, None) or free())
        train(recipe, [features], tmp_path / "streamed", watcher=watcher)
    assert next(ports, None) is None  # it was asked for
    assert watcher.epochs == [1, 2, 1, 2]
    assert capfd.readouterr().err == ""
    assert weights_of(tmp_path / "streamed") == weights_of(tmp_path / "memory")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_shards_in_a_store_train_the_same(server, features, corpus, tmp_path):
    send(features, "s3://bucket/features")
    recipe = tables(corpus, training={"epochs": 1, "buffer": 12, "batch": 4})
    train(recipe, ["s3://bucket/features"], tmp_path / "store")
    train(recipe, [features], tmp_path / "here")
    assert weights_of(tmp_path / "store") == weights_of(tmp_path / "here")
