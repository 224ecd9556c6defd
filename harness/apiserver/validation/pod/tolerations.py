"""Which taints of nodes a pod tolerates."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import formats

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS = ("Equal", "Exists")


def listed(found: list[Document], at: str) -> Iterator[Cause]:
    """Every toleration."""
    for index, toleration in enumerate(found):
        yield from _toleration(toleration, f"{at}[{index}]")


def _toleration(toleration: Document, at: str) -> Iterator[Cause]:
    key, operator = toleration.get("key") or "", toleration.get("operator") or ""
    effect = toleration.get("effect") or ""
    if key:
        yield from formats.each(f"{at}.key", key, formats.qualified_name)
    elif operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield field_errors.invalid(f"{at}.operator", operator, why)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield field_errors.invalid(f"{at}.effect", effect, why)
    yield from _value(operator, toleration.get("value") or "", f"{at}.operator")
    if effect and effect not in EFFECTS:
        yield field_errors.unsupported(f"{at}.effect", effect, EFFECTS)


def _value(operator: str, value: str, at: str) -> Iterator[Cause]:
    match operator:
        case "" | "Equal":
            if problems := formats.label_value(value):
                yield field_errors.invalid(at, value, ";".join(problems))
        case "Exists":
            if value:
                yield field_errors.invalid(
                    at, value, "value must be empty when `operator` is 'Exists'"
                )
        case _:
            yield field_errors.unsupported(at, operator, _OPERATORS)
