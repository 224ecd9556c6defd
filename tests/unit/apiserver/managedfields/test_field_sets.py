"""Sets of field paths: their algebra agrees with that of plain sets of paths."""

from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from harness.apiserver.managedfields import field_sets

PARTS = ("f:a", "f:b", 'k:{"name":"x"}')
PATHS = st.frozensets(st.lists(st.sampled_from(PARTS), min_size=1, max_size=3).map(tuple))


def tree(paths: Any) -> field_sets.Tree:
    made: field_sets.Tree = {}
    for path in paths:
        branch: field_sets.Tree = field_sets.LEAF
        for part in reversed(path):
            branch = {part: branch}
        made = field_sets.union(made, branch)
    return made


def paths(of: field_sets.Tree) -> set[field_sets.Path]:
    found = list(field_sets.paths(of))
    assert len(found) == len(set(found))
    return set(found)


@hypothesis.given(PATHS)
def test_a_tree_has_the_paths_that_it_was_made_of(one: frozenset[Any]) -> None:
    assert paths(tree(one)) == one


@hypothesis.given(PATHS, PATHS)
def test_the_algebra_is_that_of_sets(one: frozenset[Any], other: frozenset[Any]) -> None:
    a, b = tree(one), tree(other)
    assert paths(field_sets.union(a, b)) == one | other
    assert paths(field_sets.difference(a, b)) == one - other
    assert paths(field_sets.intersection(a, b)) == one & other


@hypothesis.given(PATHS, PATHS)
def test_without_takes_everything_below_too(one: frozenset[Any], other: frozenset[Any]) -> None:
    below = {path for path in one if any(path[: len(cut)] == cut for cut in other)}
    assert paths(field_sets.without(tree(one), tree(other))) == one - below


@hypothesis.given(PATHS, PATHS)
def test_a_difference_that_takes_nothing_is_the_set_itself(
    one: frozenset[Any], other: frozenset[Any]
) -> None:
    a = tree(one)
    is_same = field_sets.difference(a, tree(other)) is a
    assert is_same == (one.isdisjoint(other))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("f:metadata", "f:labels", "f:a.b/c"), ".metadata.labels.a.b/c"),
        (("f:spec", 'k:{"name":"x"}', "f:image"), '.spec[name="x"].image'),
        (('k:{"containerPort":80,"protocol":"TCP"}',), '[containerPort=80,protocol="TCP"]'),
        (("f:finalizers", 'v:"x/1"'), '.finalizers[="x/1"]'),
        (("f:list", "i:0"), ".list[0]"),
    ],
)
def test_paths_are_named_as_kubernetes_names_them(path: field_sets.Path, text: str) -> None:
    assert field_sets.field_text(path) == text
