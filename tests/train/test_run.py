from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch

from iconotext.encoders.stored_model import load_model
from iconotext.errors import CorpusError, FeatureError, SettingError, TrainingError
from iconotext.system.files import locked
from iconotext.train import loop, loss, train
from iconotext.train.checkpoint import CHECKPOINT, LOCK, Progress
from iconotext.train.prepared import open_prepared
from iconotext.train.run import CORPUS, finished, interrupted
from iconotext.train.validate import Validation, evaluate_split, scored_documents, validate
from tests.support.object_store import running, send
from tests.support.training import (
    Stop,
    StopAt,
    edited,
    ends_the_same_when_killed,
    log_of,
    metrics_of,
    small_recipe,
    tables,
    weights_of,
    write_synthetic,
)

CPU = torch.device("cpu")
SIMILARITIES = {
    "dense": {"kind": "dense"},
    "top-k": {"kind": "top-k", "k": "half"},
    "assignment": {"kind": "assignment", "links": "exactly"},
    "single-pair": {"kind": "single-pair"},
}
OBJECTIVES = {
    "hinge": {"kind": "hinge", "mean_epochs": 3},
    "softmax": {"kind": "softmax", "scale": 10, "learn_scale": True},
    "logistic": {"kind": "logistic", "scale": 5, "learn_scale": True, "bias": -1},
}


@pytest.fixture(scope="module")
def trained(corpus, tmp_path_factory):
    """A model trained without interruption, and its prepared corpus."""
    folder = tmp_path_factory.mktemp("trained")
    train(small_recipe(), [corpus], folder / "model", prepared=folder / "prepared")
    return folder


def test_what_a_folder_holds_in_the_end(trained):
    names = "README.md recipe.toml weights.safetensors vocabulary.txt metrics.json log.csv"
    assert {path.name for path in (trained / "model").iterdir()} == set(names.split())
    assert finished(trained / "model")
    metrics = metrics_of(trained / "model")
    rows = log_of(trained / "model")
    best = min(rows, key=lambda row: float(row["validation_loss"]))
    assert metrics["best_epoch"] == int(best["epoch"])
    assert metrics["validation_loss"] == pytest.approx(float(best["validation_loss"]))
    assert metrics["validation"]["auc"] == pytest.approx(float(best["validation_auc"]))
    assert metrics["test"]["documents"] == 12
    assert [row["step"] for row in rows] == ["5", "10", "15"]


@pytest.mark.slow
def test_same_seed_same_model_and_another_seed_another_one(corpus, trained, tmp_path):
    train(small_recipe(), [corpus], tmp_path / "again")
    assert weights_of(tmp_path / "again") == weights_of(trained / "model")
    assert metrics_of(tmp_path / "again") == metrics_of(trained / "model")
    assert log_of(tmp_path / "again") == log_of(trained / "model")
    train(small_recipe(seed=1), [corpus], tmp_path / "other")
    assert weights_of(tmp_path / "other") != weights_of(trained / "model")


def test_a_finished_model_is_left_alone_and_another_recipe_refused(corpus, trained, tmp_path):
    shutil.copytree(trained / "model", tmp_path / "model")
    (tmp_path / "model" / CORPUS).mkdir()  # as if the very end had been interrupted
    (tmp_path / "model" / CHECKPOINT).write_bytes(b"")
    before = weights_of(tmp_path / "model")
    train(small_recipe(), [corpus], tmp_path / "model")
    assert weights_of(tmp_path / "model") == before
    assert not (tmp_path / "model" / CORPUS).exists()
    assert not (tmp_path / "model" / CHECKPOINT).exists()
    with pytest.raises(SettingError, match=r"another recipe, which differs in seed, training.epochs; name another"):
        train(small_recipe(seed=2, training={"epochs": 4}), [corpus], tmp_path / "model")


def learning_recipe(**tables):
    """A recipe with which much is learned in a few epochs."""
    return small_recipe(
        dim=32,
        text={"dropout": 0.0, "word_dim": 16},
        image={"dropout": 0.0},
        **{"training": {"epochs": 10, "learning_rate": 0.01, "schedule": "constant", "batch": 16}} | tables,
    )


@pytest.mark.training
@pytest.mark.parametrize(
    ("similarity", "objective"),
    [*((name, "hinge") for name in SIMILARITIES), *(("dense", name) for name in OBJECTIVES if name != "hinge")],
)
def test_loss_falls_and_links_are_found(large, tmp_path, monkeypatch, similarity, objective):
    monkeypatch.setattr("iconotext.train.validate.SINGLE_PAIRS", 400)
    # A pair that is drawn is right half the time where a document has one image, and else too seldom to learn much.
    corpus = write_synthetic(tmp_path / "one", 200, shown=1) if similarity == "single-pair" else large
    recipe = learning_recipe(similarity=SIMILARITIES[similarity], objective=OBJECTIVES[objective])
    folder = train(recipe, [corpus], tmp_path / "model", prepared=corpus.parent / "prepared")
    rows = log_of(folder)
    first = recipe.objective.mean_epochs  # before, the loss was that of the mean
    assert len(rows) == 10
    assert float(rows[-1]["train_loss"]) < float(rows[first]["train_loss"])
    assert min(float(row["validation_loss"]) for row in rows[1:]) < float(rows[0]["validation_loss"])
    assert metrics_of(folder)["test"]["auc"] > 0.7  # chance is .5; the worst was .86, of seven seeds with top-k
    model = load_model(folder).model
    moved = "learn_scale" in OBJECTIVES[objective]
    assert (float(model.log_scale.exp()) != pytest.approx(recipe.objective.scale, abs=1e-4)) == moved
    assert (float(model.bias) != recipe.objective.bias) == (objective == "logistic")


# Stopped and gone on with


@pytest.mark.slow
@pytest.mark.parametrize(("every", "begins"), [(0.0, (2, 3)), (1e9, (2, 1))])
def test_a_run_goes_on_within_the_epoch(corpus, trained, tmp_path, monkeypatch, every, begins):
    monkeypatch.setattr(loop, "SAVE_EVERY", every)
    with pytest.raises(Stop):
        train(small_recipe(), [corpus], tmp_path / "model", watcher=StopAt(2, 3))
    assert interrupted(tmp_path / "model")
    assert not finished(tmp_path / "model")
    with pytest.raises(SettingError, match=r"differs in dim"):
        train(small_recipe(dim=8), [corpus], tmp_path / "model")
    watcher = StopAt(0, 0)
    train(small_recipe(), [corpus], tmp_path / "model", watcher=watcher)
    assert watcher.seen[0] == begins
    assert weights_of(tmp_path / "model") == weights_of(trained / "model")
    assert metrics_of(tmp_path / "model") == metrics_of(trained / "model")
    assert log_of(tmp_path / "model") == log_of(trained / "model")


@pytest.mark.kill
@pytest.mark.skipif(not hasattr(sys, "getdlopenflags"), reason="needs fork and SIGKILL")
def test_killed_at_any_moment_it_ends_with_the_same_model(corpus, tmp_path):
    recipe = small_recipe(training={"epochs": 6, "average": 2, "max_sentences": 2, "batch": 4}, objective={"b": 6})
    ends_the_same_when_killed(recipe, corpus, tmp_path)


@pytest.fixture
def server(monkeypatch):
    yield from running(monkeypatch)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_shards_of_a_folder_and_of_a_store_train_as_the_whole(server, tmp_path):
    corpus = write_synthetic(tmp_path / "whole", 40, splits=False)
    recipe = tables(corpus, training={"epochs": 1})
    lines = corpus.read_text().splitlines(keepends=True)
    (tmp_path / "shards").mkdir()
    for number in range(4):
        (tmp_path / f"shards/{number}.jsonl").write_text("".join(lines[number * 10 : number * 10 + 10]))
    send(tmp_path / "shards", "s3://bucket/shards")
    for name, read in (("whole", corpus), ("shards", tmp_path / "shards"), ("store", Path("s3://bucket/shards"))):
        train(recipe, [read], tmp_path / "models" / name)
        assert weights_of(tmp_path / "models" / name) == weights_of(tmp_path / "models/whole")
    with pytest.raises(CorpusError, match=r"s3://bucket/nothing: no shard is there"):
        train(recipe, [Path("s3://bucket/nothing")], tmp_path / "models/none")


def test_killed_before_the_last_log_is_written(corpus, trained, tmp_path, monkeypatch):
    def killed(folder, history):
        if len(history) == 3:
            raise Stop

    monkeypatch.setattr(loop, "write_log", killed)
    with pytest.raises(Stop):
        train(small_recipe(), [corpus], tmp_path / "model")
    monkeypatch.undo()
    train(small_recipe(), [corpus], tmp_path / "model")
    assert log_of(tmp_path / "model") == log_of(trained / "model")
    assert weights_of(tmp_path / "model") == weights_of(trained / "model")


def test_a_changed_corpus_and_a_damaged_checkpoint_are_told(tmp_path):
    corpus = write_synthetic(tmp_path / "corpus", 30)
    with pytest.raises(Stop):
        train(small_recipe(), [corpus], tmp_path / "model", watcher=StopAt(2, 1))
    edited(corpus, list.pop)
    with pytest.raises(TrainingError, match="have changed since this training was interrupted"):
        train(small_recipe(), [corpus], tmp_path / "model")
    (tmp_path / "model" / CHECKPOINT).write_bytes(b"no checkpoint")
    with pytest.raises(TrainingError, match=r"checkpoint.pt: damaged; remove it"):
        train(small_recipe(), [corpus], tmp_path / "model")


@pytest.mark.training
def test_one_process_at_a_time(corpus, tmp_path):
    code = "import sys; from pathlib import Path; from iconotext.system.files import locked\n"
    code += "with locked(Path(sys.argv[1]), 'busy'): print('held', flush=True); sys.stdin.read()"
    lock = tmp_path / "model" / LOCK
    holder = subprocess.Popen(
        [sys.executable, "-c", code, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(TrainingError, match="another process trains here"):
            train(small_recipe(), [corpus], tmp_path / "model")
        holder.kill()
        holder.wait()
        with locked(lock, "busy", wait=5):
            pass
    finally:
        holder.kill()
        holder.communicate()


# Trouble


@pytest.mark.parametrize("epochs", [0, 2])
def test_a_loss_that_is_no_number_leaves_the_best_model(corpus, tmp_path, monkeypatch, epochs):
    real = loop.training_step

    def broken(*arguments, epoch, step, rate):
        losses = real(*arguments, epoch=epoch, step=step, rate=rate)
        return losses * float("nan") if epoch == epochs and step == 1 else losses

    monkeypatch.setattr(loop, "training_step", broken)
    kept = "best model so far .epoch [12]. is in" if epochs else "no epoch was finished, so there is no model"
    with pytest.raises(TrainingError, match=rf"loss of epoch {epochs + 1}, step 2 is nan; .*{kept}.*learning_rate"):
        train(small_recipe(), [corpus], tmp_path / "model")
    if epochs:
        assert load_model(tmp_path / "model").name == "small"
        assert not finished(tmp_path / "model")


def test_a_validation_loss_that_is_no_number(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "validate", lambda *_: Validation(float("inf"), None, 0.4, 0.5))
    with pytest.raises(TrainingError, match="validation loss of epoch 1 is inf"):
        train(small_recipe(), [corpus], tmp_path / "model")


@pytest.mark.slow
def test_memory_that_runs_out_leaves_the_best_model_and_the_run_goes_on(corpus, trained, tmp_path, monkeypatch):
    errors = [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: you tried"),
    ]
    assert all(map(loop.out_of_memory, errors))
    real = loss.batch_loss

    def broken(*arguments, epoch, generator):
        if epoch == 1:
            raise errors[2]
        return real(*arguments, epoch=epoch, generator=generator)

    monkeypatch.setattr(loop, "batch_loss", broken)
    with pytest.raises(TrainingError, match=r"memory ran out in epoch 2; the best model so far \(epoch 1\).*batch"):
        train(small_recipe(), [corpus], tmp_path / "model")
    assert load_model(tmp_path / "model").vocabulary is not None
    monkeypatch.undo()
    train(small_recipe(), [corpus], tmp_path / "model")
    assert weights_of(tmp_path / "model") == weights_of(trained / "model")


def test_other_errors_stay_as_they_are(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "batch_loss", lambda *a, **k: (_ for _ in ()).throw(RuntimeError("a memory format")))
    with pytest.raises(RuntimeError, match=r"^a memory format$") as caught:
        train(small_recipe(), [corpus], tmp_path / "model")
    assert not isinstance(caught.value, TrainingError)


def test_what_is_missing_is_told_before_the_corpus_is_encoded(corpus, tmp_path):
    with pytest.raises(SettingError, match=r"text.word_vectors: there is no file .*nowhere.bin"):
        train(small_recipe(text={"word_vectors": str(tmp_path / "nowhere.bin")}), [corpus], tmp_path / "model")
    with pytest.raises(CorpusError, match=r"nowhere.jsonl: no such file"):
        train(small_recipe(), [tmp_path / "nowhere.jsonl"], tmp_path / "model")
    assert not (tmp_path / "model" / CORPUS).exists()


# What training starts from


@pytest.mark.slow
def test_word_vectors_are_where_training_starts(corpus, trained, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("thing1 " + "0.25 " * 8 + "\nunheard 1 1 1 1 1 1 1 1\n")
    recipe = small_recipe(text={"word_vectors": str(vectors)}, training={"learning_rate": 1e-12})
    stored = load_model(train(recipe, [corpus], tmp_path / "model", prepared=trained / "prepared"))
    row = stored.vocabulary.words.index("thing1")
    table = stored.model.text.embedding.weight
    assert table[row].tolist() == pytest.approx([0.25] * 8)
    assert table[row - 1].abs().max() <= 0.05001
    vectors.write_text("unheard 1 1 1 1 1 1 1 1\n")
    with pytest.raises(SettingError, match="has no vector for any of the"):
        train(recipe, [corpus], tmp_path / "none", prepared=trained / "prepared")
    # A model that goes on from this one does not begin with the file again.
    on = small_recipe(init=str(tmp_path / "model"), training={"learning_rate": 1e-12})
    assert load_model(train(on, [corpus], tmp_path / "on")).recipe.text.word_vectors is None


def test_a_model_goes_on_from_another_with_that_ones_words(trained, tmp_path):
    corpus = write_synthetic(tmp_path / "new", 30, seed=5)
    text = corpus.read_text().replace(" and ", " zebra ")
    corpus.write_text(text)
    recipe = small_recipe(
        dim=99,
        init=str(trained / "model"),
        objective={"kind": "softmax", "scale": 7},
        training={"epochs": 1, "learning_rate": 1e-12},
    )
    old, new = load_model(trained / "model"), load_model(train(recipe, [corpus], tmp_path / "model"))
    assert new.recipe.dim == 16
    assert new.vocabulary.words == old.vocabulary.words
    assert "zebra" not in new.vocabulary.words
    for name, weight in old.model.text.state_dict().items():
        assert torch.allclose(weight, new.model.text.state_dict()[name], atol=1e-6)
    assert float(new.model.log_scale.exp()) == pytest.approx(7)  # of the new objective
    np.save(corpus.with_name("features.npy"), np.zeros((90, 5), np.float32))
    with pytest.raises(FeatureError, match="does not fit the features of this corpus"):
        train(recipe, [corpus], tmp_path / "misfit")
    with pytest.raises(FeatureError, match="nowhere: no such model"):
        train(small_recipe(init=str(tmp_path / "nowhere")), [corpus], tmp_path / "none")


@pytest.mark.slow
def test_what_training_starts_from_is_measured_and_kept_where_no_epoch_is_better(corpus, trained, tmp_path):
    init = str(trained / "model")
    train(small_recipe(init=init, training={"learning_rate": 1e-12}), [corpus], tmp_path / "still")
    metrics = metrics_of(tmp_path / "still")
    assert metrics["best_epoch"] == 0
    assert metrics["validation_loss"] == metrics["before"]["validation_loss"]
    assert metrics["before"]["validation_auc"] == pytest.approx(metrics_of(trained / "model")["validation"]["auc"])
    assert metrics["validated_on"] == {"documents": 12, "images": 36}
    old, new = load_model(trained / "model"), load_model(tmp_path / "still")
    for name, weight in old.model.text.state_dict().items():
        assert torch.equal(weight, new.model.text.state_dict()[name])  # not those of an epoch that moved a last bit
    softmax = {"kind": "softmax", "scale": 20, "learn_scale": True}
    train(small_recipe(init=init, objective=softmax, training={"learning_rate": 0.003}), [corpus], tmp_path / "better")
    metrics = metrics_of(tmp_path / "better")
    assert metrics["best_epoch"] > 0
    assert metrics["validation_loss"] < metrics["before"]["validation_loss"]
    assert "before" not in metrics_of(trained / "model")


def test_documents_without_a_split_validate_on_enough_images(tmp_path):
    corpus = write_synthetic(tmp_path / "few", 24, splits=False)
    train(small_recipe(training={"epochs": 1}), [corpus], tmp_path / "model")
    assert metrics_of(tmp_path / "model")["validated_on"] == {"documents": 6, "images": 18}  # a quarter, not a tenth


@pytest.mark.training
def test_the_place_of_images_teaches_what_they_show(tmp_path):
    def laid_out(rows):
        for row in rows:  # each image stands right behind its sentence, alone in a paragraph
            places = [sentence + 1 for sentence, _ in sorted(row["links"], key=lambda link: link[1])]
            row |= {"blocks": list(range(len(row["sentences"]))), "positions": places}

    corpus = edited(write_synthetic(tmp_path / "corpus", 120), laid_out)
    # Documents are never compared with each other: all there is to learn from is the layout of each.
    objective = {"cross_document": 0, "posterior": 1, "scale": 10}
    folder = train(learning_recipe(objective=objective), [corpus], tmp_path / "model", prepared=tmp_path / "prepared")
    assert open_prepared(tmp_path / "prepared").posterior_of(0).shape == (4, 3)
    metrics = metrics_of(folder)
    assert metrics["test"]["auc"] > 0.8
    assert metrics["validation_loss"] < metrics["no_information"]
    assert "collapse" not in metrics


# Averaging, precision, several processes


def test_best_epochs_are_averaged():
    progress = Progress()
    for epoch, value in enumerate([0.3, 0.1, 0.2, 0.1, 0.9], 1):
        progress.epoch = epoch
        progress.keep_if_best(value, {"w": torch.tensor([float(epoch)])}, count=3)
    assert [(value, epoch) for value, epoch, _ in progress.best] == [(0.1, 2), (0.1, 4), (0.2, 3)]
    assert progress.best_weights()["w"].tolist() == [3.0]
    progress = Progress()
    for epoch in (1, 2):  # of equal ones the earlier
        progress.epoch = epoch
        progress.keep_if_best(0.5, {"w": torch.tensor(float(epoch))}, count=1)
    assert progress.best_weights()["w"] == 1


@pytest.mark.training
def test_bf16_trains_as_well(large, tmp_path, capfd):
    training = {"precision": "bf16", "epochs": 6, "schedule": "constant", "batch": 16}
    recipe = learning_recipe(training=training, objective={"mean_epochs": 2})
    folder = train(recipe, [large], tmp_path / "model", prepared=large.parent / "prepared")
    assert metrics_of(folder)["test"]["auc"] > 0.7  # chance is .5; of ten seeds the worst reached .86
    assert {weight.dtype for weight in load_model(folder).model.state_dict().values()} == {torch.float32}
    assert capfd.readouterr().err == ""


# Validation


def test_scores_are_those_of_validation(trained):
    stored, prepared = load_model(trained / "model"), open_prepared(trained / "prepared")
    found, auc, *_ = validate(stored.model, prepared, stored.recipe, CPU)
    metrics = metrics_of(trained / "model")
    assert found == pytest.approx(metrics["validation_loss"])
    assert auc == pytest.approx(metrics["validation"]["auc"])
    evaluation = evaluate_split(stored.model, prepared, stored.recipe, "test", CPU)
    assert evaluation.means["p@1"] == metrics["test"]["p@1"]
    assert evaluate_split(stored.model, prepared, stored.recipe, "test", CPU).documents[0].id == "d4"


def test_portions_change_no_scores(trained, monkeypatch):
    stored, prepared = load_model(trained / "model"), open_prepared(trained / "prepared")
    documents = prepared.documents("train")
    whole = list(scored_documents(stored.model, prepared, stored.recipe, documents, CPU))
    monkeypatch.setattr("iconotext.train.validate.BATCH", 9)
    parts = list(scored_documents(stored.model, prepared, stored.recipe, documents, CPU))
    assert [each[0] for each in parts] == [each[0] for each in whole]
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one[1], other[1], atol=1e-6)
        assert one[2] == other[2]


def test_validation_has_the_hardest_negatives_from_the_start(corpus, trained):
    stored, prepared = load_model(trained / "model"), open_prepared(trained / "prepared")
    mean = small_recipe(objective={"mean_epochs": 2})
    assert validate(stored.model, prepared, mean, CPU) == validate(stored.model, prepared, stored.recipe, CPU)


@pytest.mark.training
def test_no_known_links_no_auc(tmp_path):
    corpus = write_synthetic(tmp_path / "corpus", 20, links=False)
    for kind in ("dense", "single-pair"):
        recipe = small_recipe(similarity={"kind": kind}, training={"epochs": 1})
        folder = train(recipe, [corpus], tmp_path / kind)
        assert set(metrics_of(folder)) - {"collapse"} == {
            "best_epoch", "validation_loss", "epochs", "no_information", "validated_on"
        }  # fmt: skip
        assert log_of(folder)[0]["validation_auc"] == ""


@pytest.mark.training
def test_nothing_heavy_is_imported_before_the_first_step(trained, corpus, tmp_path):
    code = """
        import sys, time
        from pathlib import Path
        from iconotext.train import train
        from tests.support.training import small_recipe

        class First:
            def step(self, *_):
                heavy = ("pandas", "statsmodels", "tensorboard", "sklearn", "transformers",
                         "matplotlib", "pyarrow.parquet")
                print([name for name in heavy if name in sys.modules])
                sys.exit(0)

        train(small_recipe(), [Path(sys.argv[1])], Path(sys.argv[2]), watcher=First())
    """
    command = [sys.executable, "-c", textwrap.dedent(code), corpus, tmp_path / "model"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.stdout.strip() == "[]", found.stderr
