"""Check an applied configuration against its type.

After sigs.k8s.io/structured-merge-diff/typed/validate.go.
"""

from collections.abc import Iterator
from typing import Any

from harness.apiserver.codec import go_values
from harness.apiserver.managedfields import field_sets, typed_values
from harness.apiserver.scheme import api_types

_TEXTS = ("string", "bytes", "time", "micro_time")


def problems(kind: api_types.Type, value: Any) -> list[str]:
    """Return what is wrong with a value, for example `.data: expected map, got 1`."""
    return list(_problems(kind, value, ""))


def _problems(kind: api_types.Type, value: Any, at: str) -> Iterator[str]:
    """Yield the problems of the value at this path, "" for the whole document."""
    if value is None or kind.kind == "any":
        return
    if kind.kind == "list":
        yield from _list_problems(kind, value, at)
    elif kind.kind in ("object", "map"):
        yield from _map_problems(kind, value, at)
    elif why := _scalar_problem(kind, value):
        yield f"{at}: {why}"


def summary(texts: list[str]) -> str:
    """Return all problems as one message."""
    return texts[0] if len(texts) == 1 else "\n".join(["errors:", *(f"  {text}" for text in texts)])


def _map_problems(kind: api_types.Type, value: Any, at: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{at}: expected map, got {go_values.plain(value)}"
        return
    for name, child in value.items():
        if kind.kind == "object" and name not in kind.fields:
            yield f"{at}.{name}: field not declared in schema"
        else:
            yield from _problems(typed_values.field_type(kind, name), child, f"{at}.{name}")


def _list_problems(kind: api_types.Type, value: Any, at: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{at}: expected list, got {go_values.plain(value)}"
        return
    seen: set[str] = set()
    for index, item in enumerate(value):
        step, why = _step(kind, item, index)
        if why:
            yield f"{at}: element {index}: {why}"
            continue
        if step in seen:
            yield f"{at}: duplicate entries for key {step}"
        seen.add(step)
        yield from _problems(typed_values.item_type(kind), item, at + step)


def _step(kind: api_types.Type, item: Any, index: int) -> tuple[str, str]:
    """Return the path step of a list item and "", or "" and the reason why it has none."""
    if kind.merges == "atomic":
        return f"[{index}]", ""
    if kind.merges == "map" and not isinstance(item, dict):
        return "", "associative list with keys may not have non-map elements"
    try:
        [(part, _)] = typed_values.items(kind, [item])
    except typed_values.KeyMissingError as error:
        return "", str(error)
    return field_sets.field_text((part,)), ""


def _scalar_problem(kind: api_types.Type, value: Any) -> str:
    if kind.kind in _TEXTS and not isinstance(value, str):
        return f"expected string, got {go_values.plain(value)}"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind.kind in ("integer", "number") and not is_number:
        return f"expected numeric (int or float), got {go_values.plain(value)}"
    if kind.kind == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got {go_values.plain(value)}"
    if isinstance(value, dict | list):
        return f"expected any scalar, got {go_values.plain(value)}"
    return ""
