"""Resource names and quantities."""

from typing import Any

import pytest

from harness.apiserver.validation import node_resources
from tests.support import cases


def test_amounts(fields: Any) -> None:
    for limits, wanted, wrong in cases.read(__file__, "amounts"):
        found = node_resources.of_container({"limits": limits, "requests": wanted}, "r")
        assert fields(found) == [*map(tuple, wrong)], (limits, wanted)


@pytest.mark.parametrize(("name", "good"), cases.read(__file__, "names"))
def test_extended_resources(name: str, good: bool) -> None:
    assert node_resources.is_extended(name) is good
