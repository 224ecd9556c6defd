"""Return the errors of rules as lines of `field: message`."""

from collections.abc import Callable, Iterable

import pytest

from harness.apiserver.errors.field_errors import Cause


@pytest.fixture
def lines() -> Callable[[Iterable[Cause]], list[str]]:
    def told(found: Iterable[Cause]) -> list[str]:
        return [cause.text() for cause in found]

    return told


@pytest.fixture
def fields() -> Callable[[Iterable[Cause]], list[tuple[str, str]]]:
    """Return the field and the type of each error, without its message."""

    def told(found: Iterable[Cause]) -> list[tuple[str, str]]:
        return [(cause.field, cause.reason.removeprefix("FieldValue")) for cause in found]

    return told
