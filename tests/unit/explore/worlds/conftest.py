"""Wrong classes in the worlds to explore."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from harness.explore.worlds import chosen_parts

Replace = Callable[..., None]


@pytest.fixture
def replace_parts(monkeypatch: pytest.MonkeyPatch) -> Replace:
    """Return a function that puts classes into all worlds: `replace("scheduler", plugin=…)`."""

    def replace(actor: str, **classes: type[Any]) -> None:
        correct = chosen_parts.of()
        parts = dataclasses.replace(getattr(correct, actor), **classes)
        wrong = dataclasses.replace(correct, **{actor: parts})
        monkeypatch.setattr(chosen_parts, "of", lambda *_: wrong)

    return replace
