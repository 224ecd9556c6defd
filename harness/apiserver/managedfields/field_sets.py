"""Sets of field paths, as trees in the `fieldsV1` format of `metadata.managedFields`.

A key is one step of a path: `f:name` is a field, `k:{…}` a list item by its keys, `v:…` a value of
a set. A node without children is a member of the set; a node with children is a member if it has
the child `.`. At the root, `{}` is the empty set. Trees are immutable, so they may share parts.

After sigs.k8s.io/structured-merge-diff/fieldpath.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from harness.apiserver import json_codec

Tree = Mapping[str, Any]
Path = tuple[str, ...]
LEAF: Tree = {}
"""A member of the set without children."""
SELF = "."
"""The child that marks a node with children as a member of the set."""


def is_member(node: Tree) -> bool:
    """Return True if the path of this node is in the set, and not only longer paths."""
    return not node or SELF in node


def node(children: Tree, *, member: bool) -> Tree | None:
    """Return a node with these children; None if it is no member and has no children."""
    if not member:
        return children or None
    return {SELF: LEAF, **children} if children else LEAF


def union(one: Tree, other: Tree) -> Tree:
    result = dict(one)
    for part, theirs in other.items():
        ours = result.get(part)
        result[part] = theirs if ours is None else _join(ours, theirs)
    return result


def difference(one: Tree, other: Tree) -> Tree:
    """Return the paths of the first set that are not in the second.

    A path in the second set does not remove the longer paths below it; `without` does. The result
    is the first tree itself if nothing is removed.
    """
    return _filtered(one, other, _subtract)


def intersection(one: Tree, other: Tree) -> Tree:
    common = {part: one[part] for part in one.keys() & other.keys()}
    return _filtered(common, other, _intersect)


def without(one: Tree, other: Tree) -> Tree:
    """Return the first set without the paths of the second and everything below them.

    The result is the first tree itself if nothing is removed.
    """
    return _filtered(one, other, _cut)


def paths(tree: Tree, prefix: Path = ()) -> Iterator[Path]:
    """Yield the paths of a set; at each level, its own members in order, then the longer paths."""
    for part in sorted(tree):
        if part != SELF and is_member(tree[part]):
            yield (*prefix, part)
    for part in sorted(tree):
        if part != SELF:
            yield from paths(tree[part], (*prefix, part))


def of_paths(*dotted: str) -> Tree:
    """Return the set of some dotted paths of field names, such as `metadata.labels`."""
    result: Tree = {}
    for text in dotted:
        branch: Tree = LEAF
        for name in reversed(text.split(".")):
            branch = {f"f:{name}": branch}
        result = union(result, branch)
    return result


def field_text(path: Path) -> str:
    """Return a path as error messages print it: `.spec.containers[name="a"].image`."""
    return "".join(map(_step_text, path))


def _step_text(part: str) -> str:
    kind, _, name = part.partition(":")
    if kind == "f":
        return f".{name}"
    if kind == "k":
        keys = json_codec.decode(name.encode()).items()
        return f"[{','.join(f'{key}={json_codec.encode(value).decode()}' for key, value in keys)}]"
    return f"[={name}]" if kind == "v" else f"[{name}]"


def _filtered(one: Tree, other: Tree, subtract: Callable[[Tree, Tree], Tree | None]) -> Tree:
    """Subtract each node that both trees have; return the first tree itself if nothing changed."""
    common = one.keys() & other.keys()
    if not common:
        return one
    result = dict(one)
    for part in common:
        left = subtract(one[part], other[part])
        if left is None:
            del result[part]
        else:
            result[part] = left
    return one if all(result.get(part) is one[part] for part in common) else result


def _children(tree: Tree) -> Tree:
    return {part: child for part, child in tree.items() if part != SELF}


def _join(one: Tree, other: Tree) -> Tree:
    member = is_member(one) or is_member(other)
    children = union(_children(one), _children(other))
    return node(children, member=member) or LEAF


def _subtract(one: Tree, other: Tree) -> Tree | None:
    was_member = is_member(one)
    member = was_member and not is_member(other)
    children = _children(one)
    left = difference(children, _children(other))
    return one if left is children and member == was_member else node(left, member=member)


def _intersect(one: Tree, other: Tree) -> Tree | None:
    member = is_member(one) and is_member(other)
    return node(intersection(_children(one), _children(other)), member=member)


def _cut(one: Tree, other: Tree) -> Tree | None:
    if is_member(other):
        return None
    return node(without(_children(one), _children(other)), member=is_member(one))
