"""Links as labels of their ends, as the released format has them: an image may name a sentence, a sentence an image."""

from __future__ import annotations

from collections.abc import Collection

Labels = list[int | None]


def labels_of(links: Collection[tuple[int, int]], n: int, m: int) -> tuple[Labels, Labels] | None:
    """Let one end of every link name the other.

    As many links as possible are named by their images, as in the data sets of Hessel 2019.

    Returns:
        For each image the sentence, and for each sentence the image that it names, None for none; None where it is
        impossible, since every end can name only one.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    of_images: Labels = [None] * m
    of_sentences: Labels = [None] * n
    pairs = sorted(set(links))
    if not pairs:
        return of_images, of_sentences
    if len(pairs) > m + n:
        return None
    # Each link is matched to an end: to its image at a cost of 1, to its sentence (numbers from m on) at 2.
    ends = [image for _, image in pairs] + [m + sentence for sentence, _ in pairs]
    costs = [1] * len(pairs) + [2] * len(pairs)
    graph = coo_array((costs, ([*range(len(pairs))] * 2, ends)), shape=(len(pairs), m + n))
    try:
        _, chosen = min_weight_full_bipartite_matching(graph.tocsr())
    except ValueError:  # there is no such matching
        return None
    for (sentence, image), end in zip(pairs, chosen.tolist(), strict=True):
        if end < m:
            of_images[image] = sentence
        else:
            of_sentences[sentence] = image
    return of_images, of_sentences
