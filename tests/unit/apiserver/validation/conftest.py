"""Return the field and the type of each error of rules, without its message; in any order."""

from collections.abc import Callable, Iterable

import pytest

from harness.apiserver.errors.field_errors import Cause


class Unordered(list[tuple[str, str]]):
    """Errors, whose order says nothing."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list) and sorted(self) == sorted(other)

    __hash__ = None  # type: ignore[assignment]


@pytest.fixture
def fields() -> Callable[[Iterable[Cause]], list[tuple[str, str]]]:
    def told(found: Iterable[Cause]) -> list[tuple[str, str]]:
        return Unordered((cause.field, cause.reason.removeprefix("FieldValue")) for cause in found)

    return told
