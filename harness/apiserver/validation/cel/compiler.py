"""Compilation of CEL selectors: type checking against `device`, a bool result, a cost limit.

Costs are in CEL cost units, estimated as kube-apiserver does before it stores an expression. Most
operations cost 1. Reading a string costs a tenth of its maximum length. A comprehension costs the
maximum size of its range times the cost of one iteration. The maximum sizes of strings and maps of
`device` follow from the limits of resource.k8s.io."""

import dataclasses
import functools
import math

from harness.apiserver.scheme import feature_gates
from harness.cel import checking
from harness.cel.syntax_trees import Node

CACHE_SIZE = 4096
"""Number of expressions whose results are cached."""
COST_MAX = 1_000_000
"""The largest estimated cost of a valid expression, in CEL cost units."""


@dataclasses.dataclass(frozen=True, slots=True)
class Compiled:
    """The result of compiling an expression."""

    problem: str = ""
    """The error message in kube-apiserver's wording; empty if the expression is valid."""
    too_complex: bool = False
    """True if the estimated cost exceeds `COST_MAX`."""


def compiled(text: str) -> Compiled:
    """Compile an expression, or return the cached result."""
    return _compiled(text, with_lists=feature_gates.is_on(feature_gates.LIST_ATTRIBUTES))


@functools.lru_cache(CACHE_SIZE)
def _compiled(text: str, *, with_lists: bool) -> Compiled:
    try:
        tree = checking.checked(text, with_lists=with_lists)
    except checking.CompileError as error:
        return Compiled(str(error))
    return Compiled(too_complex=max_cost(tree) > COST_MAX)


UNBOUNDED = 2**64 - 1
"""The size or cost of a value without a limit."""
_DRIVER_BYTES_MAX = 63
_DOMAIN_BYTES_MAX = 63
_IDENTIFIER_BYTES_MAX = 32
_VALUE_BYTES_MAX = 64
_PROPERTIES_MAX = 32
_LIST_COST = 10
_MAP_COST = 30
_TEXT_FACTOR = 0.1
_REGEX_FACTOR = 0.25
_SIZES = {
    ("device", "driver"): _DRIVER_BYTES_MAX,
    **{
        path: size
        for name in ("attributes", "capacity")
        for path, size in {
            ("device", name): _PROPERTIES_MAX,
            ("device", name, "@keys"): _DOMAIN_BYTES_MAX,
            ("device", name, "@values"): _PROPERTIES_MAX,
            ("device", name, "@values", "@keys"): _IDENTIFIER_BYTES_MAX,
            ("device", name, "@values", "@values"): _VALUE_BYTES_MAX,
        }.items()
    },
}
"""Maximum sizes by path; `@keys`, `@values` and `@items` stand for the contents of a container."""
_READS_TARGET = ("lowerAscii", "upperAscii", "substring", "trim", "charAt")
_MAKES_FROM_TARGET = ("split", "replace", "join")
"""Functions that read the target and write a result of about the same length."""
_READS_ARGUMENT = (
    "startsWith",
    "endsWith",
    "quantity",
    "isQuantity",
    "semver",
    "isSemver",
    "url",
    "isURL",
    "ip",
    "isIP",
    "cidr",
    "isCIDR",
    "bytes",
    "string",
)
_READS_LIST = ("isSorted", "sum", "min", "max", "indexOf", "lastIndexOf")
_COMPARISONS = ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_")
_SETS = ("sets.contains", "sets.equivalent", "sets.intersects")
Path = tuple[str, ...]


def max_cost(root: Node) -> int:
    """Return the maximum cost of a checked expression."""
    return min(_Estimate().cost(root), UNBOUNDED)


class _Estimate:
    """One pass over a syntax tree, with the paths and sizes of the nodes visited so far."""

    def __init__(self) -> None:
        self._paths: dict[int, Path] = {}
        self._sizes: dict[int, int] = {}
        self._ranges: dict[str, list[Node]] = {}

    def cost(self, node: Node) -> int:
        match node.kind:
            case "constant":
                return 0
            case "identifier":
                return self._identifier(node)
            case "select":
                return self._selection(node)
            case "call":
                return self._call(node)
            case "comprehension":
                return self._comprehension(node)
            case _:
                base = _LIST_COST if node.kind == "list" else _MAP_COST
                return base + sum(self.cost(child) for child in node.operands)

    def size(self, node: Node) -> int:
        if node.kind == "constant" and isinstance(node.value, (str, bytes)):
            return len(node.value.encode() if isinstance(node.value, str) else node.value)
        if node.kind in ("list", "map"):
            return len(node.operands) // (2 if node.kind == "map" else 1)
        if node.id in self._sizes:
            return self._sizes[node.id]
        known = _SIZES.get(self._paths.get(node.id, ()))
        if known is not None:
            return known
        return UNBOUNDED if node.type == "dyn" or _is_sized(node) else 1

    def _identifier(self, node: Node) -> int:
        if ranges := self._ranges.get(node.name):
            inner = "@keys" if _is_map(ranges[-1]) else "@items"
            self._paths[node.id] = (*self._paths.get(ranges[-1].id, ()), inner)
            return 1
        self._paths[node.id] = tuple(node.name.split("."))
        return len(self._paths[node.id])  # a field of `device` is read as one name

    def _selection(self, node: Node) -> int:
        operand = node.operands[0]
        sum_ = self.cost(operand)
        if node.is_test:
            return sum_ + 1
        path = self._paths.get(operand.id, ())
        inner = "@values" if _is_map(operand) and path != ("device",) else node.name
        self._paths[node.id] = (*path, inner)
        return sum_ + (1 if _is_map(operand) else 0)

    def _call(self, node: Node) -> int:
        costs = [self.cost(child) for child in node.operands]
        match node.name:
            case "_?_:_":
                return costs[0] + max(costs[1:])
            case "_&&_" | "_||_":
                return sum(costs)
        if node.name in ("_[_]", "_[?_]", "_?._"):
            container = node.operands[0]
            inner = "@values" if _is_map(container) else "@items"
            self._paths[node.id] = (*self._paths.get(container.id, ()), inner)
        return sum(costs) + self._function(node)

    def _function(self, node: Node) -> int:
        sizes = [self.size(child) for child in node.operands]
        match node.name:
            case "@in" if not _is_map(node.operands[1]):
                return sizes[1]
            case "contains":
                return _times(_part(sizes[0], _TEXT_FACTOR), _part(sizes[1], _TEXT_FACTOR))
            case "matches" | "find" | "findAll":
                return _times(_part(sizes[0] + 1, _TEXT_FACTOR), _part(sizes[1], _REGEX_FACTOR))
            case "_+_" if node.type == "dyn" or _is_sized(node):
                self._sizes[node.id] = sum(sizes)
                return 1 if _is_list(node) else _part(sum(sizes), _TEXT_FACTOR)
            case "__pairs" | "__map":
                self._sizes[node.id] = sizes[0]
                return 0
        return self._reading(node, sizes)

    def _reading(self, node: Node, sizes: list[int]) -> int:
        if node.name in _COMPARISONS:
            return _part(min(sizes), _TEXT_FACTOR)
        if node.name in (*_READS_TARGET, *_MAKES_FROM_TARGET):
            self._sizes[node.id] = sizes[0]
            times = 2 if node.name in _MAKES_FROM_TARGET else 1
            return _part(sizes[0], times * _TEXT_FACTOR)
        position = 1 if node.is_member else 0
        if node.name in _READS_ARGUMENT and position < len(sizes):  # `c.ip()` reads no text
            return _part(sizes[position], _TEXT_FACTOR)
        if node.name in _READS_LIST:
            return sizes[0]
        return _times(*sizes[:2]) if node.name in _SETS else 1

    def _comprehension(self, node: Node) -> int:
        range_, start, condition, step, result = node.operands
        total = self.cost(range_) + self.cost(start)
        self._ranges.setdefault(node.name, []).append(range_)
        once = self.cost(condition) + self.cost(step)
        self._ranges[node.name].pop()
        if _is_list(node) or _is_map(node):
            self._sizes[node.id] = self.size(range_)
        return total + self.cost(result) + _times(self.size(range_), once)


def _is_list(node: Node) -> bool:
    return node.type.startswith("list(")


def _is_map(node: Node) -> bool:
    return node.type.startswith("map(")


def _is_sized(node: Node) -> bool:
    return node.type in ("string", "bytes") or _is_list(node) or _is_map(node)


def _part(size: int, factor: float) -> int:
    return UNBOUNDED if size >= UNBOUNDED else math.ceil(size * factor)


def _times(one: int, other: int) -> int:
    return min(one * other, UNBOUNDED)
