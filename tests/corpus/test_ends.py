from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.corpus.formats.released import labels_of


def links_of(labels):
    of_images, of_sentences = labels
    return {(s, i) for i, s in enumerate(of_images) if s is not None} | {
        (s, i) for s, i in enumerate(of_sentences) if i is not None
    }


def possible(links):
    """Oracle: try every way of letting each link be named by one of its ends."""
    for choice in itertools.product((0, 1), repeat=len(links)):
        named = [(side, link[side]) for side, link in zip(choice, links, strict=True)]
        if len(set(named)) == len(named):
            return True
    return False


def test_images_name_sentences_where_there_is_a_choice():
    assert labels_of([(2, 0), (0, 1)], 3, 3) == ([2, 0, None], [None, None, None])


def test_a_paragraph_about_one_image_is_labelled_at_its_sentences():
    labels = labels_of([(0, 0), (1, 0), (2, 0)], 3, 1)
    assert links_of(labels) == {(0, 0), (1, 0), (2, 0)}
    assert labels is not None
    assert labels[0][0] is not None  # the last link that is left is the image's


def test_too_many_links_between_few_ends_are_impossible():
    assert labels_of([(s, i) for s in range(3) for i in range(3)], 3, 3) is None  # 9 links, 6 ends
    assert labels_of([(s, i) for s in range(2) for i in range(2)], 2, 2) is not None  # a circle: 4 links, 4 ends


def test_two_circles_that_hang_together_are_impossible():
    """10 links, 9 ends; the first circle is opened at the image where the bridge to the second begins."""
    circles = [(0, 0), (0, 1), (1, 1), (1, 0), (3, 2), (3, 3), (4, 3), (4, 2)]
    assert labels_of(circles, 5, 4) is not None
    assert labels_of([*circles, (2, 0), (2, 2)], 5, 4) is None


@settings(max_examples=300, deadline=None)
@given(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=11))
def test_it_is_found_exactly_where_it_is_possible(links):
    labels = labels_of(links, 5, 5)
    if labels is None:
        assert not possible(sorted(links))
    else:
        assert links_of(labels) == links
