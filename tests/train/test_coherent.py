"""Models that tell relations: the variants of Alikhani 2021, and the same module on other encoders."""

import json

import numpy as np
import pytest
import torch

from iconotext.embed.folder import load_model
from iconotext.errors import CorpusError, SettingError
from iconotext.evaluate.average_precision import average_precision
from iconotext.recipe import load_recipe
from iconotext.retrieve.coherence import relation_probabilities
from iconotext.train.batches import epoch_batches, load_batch
from iconotext.train.loss import batch_loss
from iconotext.train.prepare import prepare
from iconotext.train.run import train
from iconotext.train.start import new_model, prepared_vocabulary, told_relations
from iconotext.train.validate import validation_median_rank
from tests.train.coherent import DIM, write_pairs

SMALL = ("features.image=features.npy", "dim=16", "text.word_dim=12", "training.epochs=8", "training.batch=16",
         "training.learning_rate=0.01")  # fmt: skip


def recipe(name: str = "cmcm", *more: str):
    return load_recipe(f"alikhani2021/{name}", [*SMALL, *more])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("pairs"))


@pytest.fixture(scope="module")
def trained(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "cmcm"
    train(recipe(), [corpus], folder)
    return folder


def test_labels_come_in_the_published_order_and_unanswered_ones_are_unknown(corpus, tmp_path):
    prepared = prepare(recipe(), [corpus], tmp_path / "arrays")
    assert prepared.labelled_relations == ["Visible", "Action", "Story", "Meta"]
    rows = [json.loads(line)["relations"] for line in corpus.read_text().splitlines()]
    labels = prepared.labels(np.arange(6), ["Story", "Meta", "Irrelevant"])
    for label, row in zip(labels, rows, strict=False):
        assert label[0] == row["Story"]
        assert np.isnan(label[1]) if row["Meta"] is None else label[1] == row["Meta"]
        assert np.isnan(label[2])


def test_a_document_that_is_no_pair_has_no_labels(tmp_path):
    path = write_pairs(tmp_path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["sentences"].append("another sentence")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    prepared = prepare(recipe(), [path], tmp_path / "arrays")
    assert np.isnan(prepared.labels(np.array([0]), ["Visible"])).all()
    assert not np.isnan(prepared.labels(np.array([1]), ["Visible"])).any()
    assert not prepared.all_single("train")
    assert prepared.all_single("validation")


def test_the_loss_of_a_batch_is_the_hinge_of_equation_1_and_the_weighted_cross_entropy_of_equation_2(corpus, tmp_path):
    own = recipe("cmcm", "text.dropout=0", "objective.coherence=0.25")
    prepared = prepare(own, [corpus], tmp_path / "arrays")
    model, _ = new_model(own, prepared, prepared_vocabulary(prepared))
    model.train()
    documents, positives = epoch_batches(prepared, own, "train", 0)[0]
    batch = load_batch(prepared, own, documents, positives, training=True, seed=[0])
    losses, _, told = (each.detach() for each in batch_loss(model, batch, own, epoch=0, generator=torch.Generator()))
    texts, images, *_ = model(batch.images, sentences=None, words=batch.words, lengths=batch.lengths)
    texts, images = texts.detach().double().numpy(), images.detach().double().numpy()
    weight, bias = (p.detach().double().numpy() for p in (model.coherence.weight, model.coherence.bias))
    names = told_relations(own, prepared)
    labels = prepared.labels(documents, names)
    everything = prepared.labels(prepared.documents("train"), names)
    for i in range(positives):
        s = texts[i] @ images[i]
        others = [j for j in range(positives) if j != i]
        hardest_image = max(texts[i] @ images[j] for j in others)
        hardest_text = max(texts[j] @ images[i] for j in others)
        hinges = max(0, 0.3 - s + hardest_image) + max(0, 0.3 - s + hardest_text)
        x = 1 / (1 + np.exp(-(weight @ np.concatenate([texts[i], images[i]]) + bias)))
        entropy = 0.0
        for c in range(len(names)):
            y = labels[i, c]
            if not np.isnan(y):
                entropy -= (y * np.log(x[c]) + (1 - y) * np.log(1 - x[c])) / np.nanmean(everything[:, c])
        assert float(told[i]) == pytest.approx(0.25 * entropy, abs=1e-4)
        assert float(losses[i]) == pytest.approx(hinges + 0.25 * entropy, abs=1e-4)


def test_a_trained_model_finds_pictures_and_tells_relations(corpus, trained, tmp_path):
    stored = load_model(trained)
    assert stored.relations == ["Visible", "Action", "Story", "Meta"]
    metrics = json.loads((trained / "metrics.json").read_text())
    history = (trained / "log.csv").read_text().splitlines()
    ranks = [float(line.split(",")[6]) for line in history[1:]]
    assert metrics["validation_median_rank"] == min(ranks)
    assert metrics["best_epoch"] == ranks.index(min(ranks)) + 1  # the first of equal ones
    assert min(ranks) <= 4  # of 32, where chance is 16.5; some pictures show the same

    prepared = prepare(recipe(), [corpus], tmp_path / "arrays")
    found = validation_median_rank(stored.model, prepared, recipe(), torch.device("cpu"))
    assert found == pytest.approx(min(ranks))

    test = prepared.documents("test")
    batch = load_batch(prepared, recipe(), test, len(test), training=False, seed=[0])
    with torch.no_grad():
        texts, images, *_ = stored.model(batch.images, sentences=None, words=batch.words, lengths=batch.lengths)
    every = relation_probabilities(stored, texts.numpy(), images.numpy())
    assert every.shape == (len(test), len(test), 4)
    own = every[np.arange(len(test)), np.arange(len(test))]
    labels = prepared.labels(test, stored.relations)
    for column in (0, 1, 2):  # of Meta too little is known
        assert average_precision(own[:, column], labels[:, column] == 1) > 0.8


def test_the_relations_of_a_pair_are_those_of_the_layer_on_both_vectors(trained):
    stored = load_model(trained)
    rng = np.random.default_rng(0)
    texts, pictures = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in rng.normal(size=(2, 3, 16)))
    found = relation_probabilities(stored, texts.astype(np.float32), pictures.astype(np.float32))
    assert stored.model.coherence is not None
    with torch.no_grad():
        for i in range(3):
            for j in range(3):
                pair = torch.tensor(np.concatenate([texts[i], pictures[j]]), dtype=torch.float32)
                assert found[i, j] == pytest.approx(stored.model.coherence(pair).sigmoid().numpy(), abs=1e-5)


def test_base_and_cmca_tell_no_relations(corpus, tmp_path):
    train(recipe("base", "training.epochs=1"), [corpus], tmp_path / "base")
    stored = load_model(tmp_path / "base")
    assert stored.relations == []
    assert stored.model.coherence is None
    assert stored.model.text.attention is None


def test_one_relation_alone(corpus, tmp_path):
    train(recipe("cmcm-c", 'objective.relations=["Story"]', "training.epochs=1"), [corpus], tmp_path / "story")
    assert load_model(tmp_path / "story").relations == ["Story"]


def test_word_vectors_are_trained_on_the_training_texts(corpus, tmp_path):
    prepared = prepare(recipe(), [corpus], tmp_path / "arrays")
    vocabulary = prepared_vocabulary(prepared)
    texts = [json.loads(line) for line in corpus.read_text().splitlines()]
    wanted = [vocabulary.ids(row["sentences"][0], max_tokens=40) for row in texts if row["split"] == "train"]
    assert prepared.sentences_for_training() == wanted
    first, again = (new_model(recipe(), prepared, vocabulary)[0].embedding.weight for _ in range(2))
    assert (first == again).all()
    random = new_model(recipe("cmcm", "text.word_vectors=none"), prepared, vocabulary)[0].embedding.weight
    assert (first[1:] != random[1:]).any(1).all()
    assert (first[0] == random[0]).all()  # the unknown word


@pytest.mark.parametrize(
    ("settings", "labels", "said"),
    [
        (
            ['objective.relations=["Irrelevant"]'],
            True,
            "the relation Irrelevant; labelled are Visible, Action, Story, Meta",
        ),
        ([], False, "label of any relation"),
    ],
)
def test_a_corpus_without_the_labels_is_refused_before_training(tmp_path, settings, labels, said):
    path = write_pairs(tmp_path, labels=labels)
    with pytest.raises(CorpusError, match=said):
        train(recipe("cmcm", *settings), [path], tmp_path / "model")


def test_a_median_rank_needs_pairs(tmp_path):
    path = write_pairs(tmp_path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[3]["sentences"].append("another sentence")  # validation
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(CorpusError, match="median-rank"):
        train(recipe("base"), [path], tmp_path / "model")


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("objective.coherence=0", "relations are for objective.coherence"),
        ('objective.relations=["Story", "Story"]', "twice"),
        ("text.batch_norm=true", "batch_norm are for a projection"),
        ("similarity.kind=labelled-pairs", "coherence needs documents"),
        ("text.kind=gru", "attention"),
        ("text.kind=identity", "does not go with"),
        ("image.kind=identity", "both or neither"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(setting, said):
    more = ["text.attention=false"] if setting == "text.kind=gru" else []
    with pytest.raises(SettingError, match=said):
        recipe("cmcm-c", setting, *more)


def test_the_module_learns_beside_other_encoders_too(corpus, tmp_path):
    own = load_recipe("coherence", ["init=none", "features.text=minilm", "features.image=features.npy", "dim=16",
        "text.kind=projection", "text.hidden=0", "training.epochs=2", "training.warmup=0", "training.batch=16"])  # fmt: skip
    train(own, [corpus], tmp_path / "model")
    stored = load_model(tmp_path / "model")
    assert stored.relations == ["Visible", "Action", "Story", "Meta"]
    assert stored.model.coherence.weight.shape == (4, 32)
    assert stored.inputs.image_features == DIM
