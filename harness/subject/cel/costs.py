"""The cost of each call at run time, in CEL's cost units.

After k8s.io/apiserver/pkg/cel/library/cost.go and cel-go's interpreter/runtimecost.go. Reading a
string costs a tenth of its length; what is not named here costs 1.
"""

from collections.abc import Callable, Sequence
from typing import Any

from harness.subject.cel.values import size

LIMIT = 1_000_000
"""The most that one evaluation may cost (`CELSelectorExpressionMaxCost`)."""
LIST, MAP = 10, 30
"""The cost of making a list or map that is not constant."""
Rule = Callable[[Sequence[Any], Any], int]


def _tenth(number: float) -> int:
    return int(-(-number // 10))


def _quarter(number: int) -> int:
    return -(-number // 4)


def _reads_first(operands: Sequence[Any], _: Any) -> int:
    return _tenth(size(operands[0]))


def _copies_first(operands: Sequence[Any], _: Any) -> int:
    return _tenth(2 * size(operands[0]))


def _writes(_: Sequence[Any], result: Any) -> int:
    return _tenth(2 * size(result))


def _compares(operands: Sequence[Any], _: Any) -> int:
    return _tenth(min(size(operands[0]), size(operands[1])))


def _adds(operands: Sequence[Any], result: Any) -> int:
    is_text = isinstance(result, (str, bytes))
    return _tenth(size(operands[0]) + size(operands[1])) if is_text else 1


def _searches_pattern(operands: Sequence[Any], _: Any) -> int:
    return _tenth(1 + size(operands[0])) * _quarter(size(operands[1]))


def _searches_text(operands: Sequence[Any], _: Any) -> int:
    return _tenth(size(operands[0])) * _tenth(size(operands[1]))


def _walks_first(operands: Sequence[Any], _: Any) -> int:
    return sum(map(_walk, operands[:1]))


def _walk(value: Any) -> int:
    if isinstance(value, (str, bytes)):
        return _tenth(len(value))
    if isinstance(value, list):
        return sum(map(_walk, value))
    return 1


def _walks_second(operands: Sequence[Any], _: Any) -> int:
    return size(operands[1]) if isinstance(operands[1], list) else 1


def _walks_both(operands: Sequence[Any], _: Any) -> int:
    return size(operands[0]) * size(operands[1])


def _contains_address(operands: Sequence[Any], _: Any) -> int:
    parsing = _tenth(size(operands[1])) if isinstance(operands[1], str) else 0
    return _tenth(2 * size(operands[0])) + parsing


def _contains_network(operands: Sequence[Any], result: Any) -> int:
    return _contains_address(operands, result) + _reads_first(operands, result) + 1


def _ip(operands: Sequence[Any], result: Any) -> int:
    return _reads_first(operands, result) if isinstance(operands[0], str) else 1


def _none(operands: Sequence[Any], result: Any) -> int:
    del operands, result
    return 0


RULES: dict[str, Rule] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _walks_first),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _reads_first),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity"), _reads_first),
    **dict.fromkeys(("startsWith", "endsWith", "strings.quote", "format"), _reads_first),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _copies_first),
    **dict.fromkeys(("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"), _compares),
    **dict.fromkeys(("find", "findAll", "matches"), _searches_pattern),
    **dict.fromkeys(("sets.contains", "sets.equivalent", "sets.intersects"), _walks_both),
    **dict.fromkeys(("__pairs", "__first", "__second", "__pair"), _none),
    "_+_": _adds,
    "@in": _walks_second,
    "contains": _searches_text,
    "containsCIDR": _contains_network,
    "containsIP": _contains_address,
    "includes": lambda operands, _: max(1, size(operands[0])),
    "ip": _ip,
    "join": _writes,
}
"""The rule of each function that does not cost 1; arguments are the operands and the result."""
