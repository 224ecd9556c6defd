"""Sets of field paths: their algebra agrees with that of plain sets of paths."""

from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from harness.apiserver import fieldsets

PARTS = ("f:a", "f:b", 'k:{"name":"x"}')
PATHS = st.frozensets(st.lists(st.sampled_from(PARTS), min_size=1, max_size=3).map(tuple))


def tree(paths: Any) -> fieldsets.Tree:
    made: fieldsets.Tree = {}
    for path in paths:
        branch: fieldsets.Tree = fieldsets.LEAF
        for part in reversed(path):
            branch = {part: branch}
        made = fieldsets.union(made, branch)
    return made


def paths(of: fieldsets.Tree) -> set[fieldsets.Path]:
    found = list(fieldsets.paths(of))
    assert len(found) == len(set(found))
    return set(found)


@hypothesis.given(PATHS)
def test_a_tree_has_the_paths_that_it_was_made_of(one: frozenset[Any]) -> None:
    assert paths(tree(one)) == one


@hypothesis.given(PATHS, PATHS)
def test_the_algebra_is_that_of_sets(one: frozenset[Any], other: frozenset[Any]) -> None:
    a, b = tree(one), tree(other)
    assert paths(fieldsets.union(a, b)) == one | other
    assert paths(fieldsets.difference(a, b)) == one - other
    assert paths(fieldsets.intersection(a, b)) == one & other


@hypothesis.given(PATHS, PATHS)
def test_without_takes_everything_below_too(one: frozenset[Any], other: frozenset[Any]) -> None:
    below = {path for path in one if any(path[: len(cut)] == cut for cut in other)}
    assert paths(fieldsets.without(tree(one), tree(other))) == one - below


@hypothesis.given(PATHS, PATHS)
def test_a_difference_that_takes_nothing_is_the_set_itself(
    one: frozenset[Any], other: frozenset[Any]
) -> None:
    a = tree(one)
    is_same = fieldsets.difference(a, tree(other)) is a
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
def test_paths_are_named_as_kubernetes_names_them(path: fieldsets.Path, text: str) -> None:
    assert fieldsets.field_text(path) == text
