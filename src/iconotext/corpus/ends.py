"""Links as labels of their ends, as the released format has them: an image may name a sentence, a sentence an image."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection


def labels_of(links: Collection[tuple[int, int]], n: int, m: int) -> tuple[list[int | None], list[int | None]] | None:
    """Let one end of every link name the other.

    Where there is a choice the image names the sentence, as in the data sets of Hessel 2019.

    Args:
        links: (sentence, image) pairs.
        n: Number of sentences.
        m: Number of images.

    Returns:
        For each image the sentence, and for each sentence the image that it names, None for none; None where it is
        impossible: every end can name only one, so a group of connected ends can hold no more links than it has ends.
    """
    left: dict[tuple[bool, int], set[int]] = defaultdict(set)  # by end (is it a sentence, which): what it still has
    for sentence, image in links:
        left[False, image].add(sentence)
        left[True, sentence].add(image)
    named: tuple[list[int | None], list[int | None]] = ([None] * m, [None] * n)  # by the images, by the sentences
    single = sorted((end for end in left if len(left[end]) == 1), reverse=True)  # images last, where pop finds them

    def settle(end: tuple[bool, int], other: int) -> None:
        is_sentence, number = end
        named[is_sentence][number] = other
        left[end].discard(other)
        rest = left[not is_sentence, other]
        rest.discard(number)
        if len(rest) == 1:
            single.append((not is_sentence, other))

    while True:
        while single:  # the only link of an end is best named by it
            end = is_sentence, number = single.pop()
            if not left[end]:
                continue
            if named[is_sentence][number] is not None:  # only where a circle that was opened has further links
                return None
            (other,) = left[end]
            settle(end, other)
        # Only circles are left, and what hangs together with more links than ends. Break one open anywhere.
        end = min((end for end in left if left[end]), default=(False, -1))
        if end[1] < 0:
            return named
        if named[end[0]][end[1]] is not None:
            return None
        settle(end, min(left[end]))
