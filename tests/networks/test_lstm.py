import numpy as np
import pytest
import torch

from iconotext.networks.recurrent import WordLSTM

ATTENTION = ("dot-product", "additive")


def encoder(attention: str = "dot-product") -> WordLSTM:
    torch.manual_seed(0)
    model = WordLSTM(20, word_dim=6, dim=5, attention=attention, dropout=0.5)
    model.embedding.weight.data.normal_()
    model.norm.running_mean.normal_()
    model.norm.running_var.uniform_(0.5, 2)
    return model.eval()


SENTENCES = [[3, 4, 5], [7], [1, 2, 3, 4, 5, 6, 7, 8], [9, 9]]
IDS = torch.tensor([word for sentence in SENTENCES for word in sentence])
LENGTHS = torch.tensor([len(sentence) for sentence in SENTENCES])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def one_direction(words, w_in, w_rec, b_in, b_rec):
    """The LSTM written out, word by word."""
    size = w_rec.shape[1]
    h, c, states = np.zeros(size), np.zeros(size), []
    for word in words:
        gates = w_in @ word + b_in + w_rec @ h + b_rec
        i, f, g, o = (gates[k * size : (k + 1) * size] for k in range(4))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.array(states)


def by_hand(model: WordLSTM, sentence: list[int], attention: str) -> tuple[np.ndarray, np.ndarray]:
    """The unit vector of a sentence and the weights of its words, one sentence at a time in numpy."""
    p = {name: value.detach().double().numpy() for name, value in model.state_dict().items()}
    words = p["embedding.weight"][sentence]
    forth, back = (
        one_direction(
            ordered, *(p[f"lstm.{kind}_l0{side}"] for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        )
        for ordered, side in ((words, ""), (words[::-1], "_reverse"))
    )
    states = np.hstack([forth, back[::-1]])
    weights = np.ones(len(sentence))
    read = np.concatenate([forth[-1], back[-1]])  # the last state in each direction
    if attention != "none":
        if attention == "additive":
            hidden = np.tanh(states @ p["attention.0.weight"].T + p["attention.0.bias"])
            scores = hidden @ p["attention.2.weight"][0] + p["attention.2.bias"][0]
        else:  # qᵀk / √d (Vaswani 2017, Eq. 1), the query of the last states
            query = p["attention.query.weight"] @ read + p["attention.query.bias"]
            keys = [p["attention.key.weight"] @ state + p["attention.key.bias"] for state in states]
            scores = np.array([query @ key for key in keys]) / np.sqrt(len(query))
        weights = np.exp(scores) / np.exp(scores).sum()
        read = weights @ states
    normed = (read - p["norm.running_mean"]) / np.sqrt(p["norm.running_var"] + 1e-5)
    out = p["out.weight"] @ (normed * p["norm.weight"] + p["norm.bias"]) + p["out.bias"]
    return out / np.linalg.norm(out), weights


@pytest.mark.parametrize("attention", [*ATTENTION, "none"])
def test_it_is_the_lstm_of_the_paper_written_out(attention):
    model = encoder(attention)
    expected = [by_hand(model, sentence, attention)[0] for sentence in SENTENCES]
    with torch.no_grad():
        assert model(IDS, LENGTHS).numpy() == pytest.approx(np.array(expected), abs=1e-5)


@pytest.mark.parametrize("attention", ATTENTION)
def test_the_weights_of_the_words_of_a_sentence_are_those_of_attention_and_sum_to_one(attention):
    model = encoder(attention)
    weights = model.attention_weights(IDS, LENGTHS).detach()
    expected = np.concatenate([by_hand(model, each, attention)[1] for each in SENTENCES])
    assert weights.numpy() == pytest.approx(expected, abs=1e-5)
    assert [float(part.sum()) for part in weights.split(LENGTHS.tolist())] == pytest.approx([1, 1, 1, 1], abs=1e-5)


def test_without_attention_there_are_no_weights():
    with pytest.raises(ValueError, match="no attention"):
        encoder("none").attention_weights(IDS, LENGTHS)


@pytest.mark.parametrize("attention", ATTENTION)
def test_every_weight_gets_a_gradient(attention):
    model = encoder(attention).train()
    model(IDS, LENGTHS)[:, 0].sum().backward()
    without = {name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum()}
    # A bias before the softmax moves all words alike, and one before a batch norm all sentences.
    assert without <= {"attention.2.bias", "attention.key.bias"}
