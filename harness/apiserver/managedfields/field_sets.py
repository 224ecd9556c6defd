"""Sets of field paths, as trees in the form in which metadata.managedFields shows them (fieldsV1).

A key is one step of a path: `f:name` a field, `k:{…}` an item of a list by its keys, `v:…` a value of a set. A node without
children is a member of the set; one with children is a member when it has the child `.`. At the root `{}` is the empty set. Trees are never
changed, so that they may share their parts.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from harness.apiserver.codec import json_codec

Tree = Mapping[str, Any]
Path = tuple[str, ...]
LEAF: Tree = {}
"""A member without children."""
SELF = "."


def is_member(node: Tree) -> bool:
    """Whether the path of this node is in the set (not only longer ones)."""
    return not node or SELF in node


def node(children: Tree, *, member: bool) -> Tree | None:
    """A node of these children; None when it would stand for nothing."""
    if not member:
        return children or None
    return {SELF: LEAF, **children} if children else LEAF


def union(one: Tree, other: Tree) -> Tree:
    """What is in either set."""
    made = dict(one)
    for part, theirs in other.items():
        ours = made.get(part)
        made[part] = theirs if ours is None else _join(ours, theirs)
    return made


def difference(one: Tree, other: Tree) -> Tree:
    """What is in the first set alone; a path in the second says nothing about longer ones."""
    return _filtered(one, other, _subtract)


def intersection(one: Tree, other: Tree) -> Tree:
    """What is in both sets."""
    made = {}
    for part in one.keys() & other.keys():
        left = _intersect(one[part], other[part])
        if left is not None:
            made[part] = left
    return made


def without(one: Tree, other: Tree) -> Tree:
    """The first set but for the paths of the second and everything below them."""
    return _filtered(one, other, _cut)


def paths(tree: Tree, prefix: Path = ()) -> Iterator[Path]:
    """The paths in a set: shorter ones first, then by their names."""
    for part in sorted(tree):
        if part != SELF and is_member(tree[part]):
            yield (*prefix, part)
    for part in sorted(tree):
        if part != SELF:
            yield from paths(tree[part], (*prefix, part))


def of_paths(*dotted: str) -> Tree:
    """The set of some paths of field names: `object_meta.labels`."""
    made: Tree = {}
    for text in dotted:
        branch: Tree = LEAF
        for name in reversed(text.split(".")):
            branch = {f"f:{name}": branch}
        made = union(made, branch)
    return made


def field_text(path: Path) -> str:
    """A path as errors name it: `.spec.containers[name="a"].image`."""
    return "".join(map(_step_text, path))


def _step_text(part: str) -> str:
    kind, _, name = part.partition(":")
    if kind == "f":
        return f".{name}"
    if kind == "k":
        keys = json_codec.decode(name.encode()).items()
        return f"[{','.join(f'{key}={_quoted(value)}' for key, value in keys)}]"
    return f"[={name}]" if kind == "v" else f"[{name}]"


def _quoted(value: Any) -> str:
    return json_codec.encode(value).decode()


def _filtered(one: Tree, other: Tree, subtract: Callable[[Tree, Tree], Tree | None]) -> Tree:
    """The first tree itself when nothing of it goes, so that the caller sees that nothing did."""
    common = one.keys() & other.keys()
    if not common:
        return one
    made = dict(one)
    for part in common:
        left = subtract(one[part], other[part])
        if left is None:
            del made[part]
        else:
            made[part] = left
    return one if all(made.get(part) is one[part] for part in common) else made


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
