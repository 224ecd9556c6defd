"""What rules say, as lines of `field: message`."""

from collections.abc import Callable, Iterable

import pytest

from harness.apiserver import statuses


@pytest.fixture
def lines() -> Callable[[Iterable[statuses.Cause]], list[str]]:
    def told(found: Iterable[statuses.Cause]) -> list[str]:
        return [cause.text() for cause in found]

    return told


@pytest.fixture
def fields() -> Callable[[Iterable[statuses.Cause]], list[tuple[str, str]]]:
    """(field, kind of error), for those who do not care for the words."""

    def told(found: Iterable[statuses.Cause]) -> list[tuple[str, str]]:
        return [(cause.field, cause.reason.removeprefix("FieldValue")) for cause in found]

    return told
