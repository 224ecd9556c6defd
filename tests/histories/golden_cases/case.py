"""A golden run directory: the history and the plan that it is written from."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from harness.history import records
from tests.histories import recording


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """A golden run directory."""

    check: str
    name: str
    """`VALID`, or `VALID-` and what is special."""
    text: str = ""
    """The history in the language."""
    commits: Sequence[recording.Commit] = ()
    """The history as API objects, instead of a text."""
    plan: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Fields of plan.json that differ from `building.plan`."""
    phases: Sequence[records.Phase] = ()
    """The phases; none: those of `building`."""
    steps: Sequence[records.Step] = ()
    preparations: Sequence[records.Body] = ()


def cases(check: str, field: str, by_name: Mapping[str, Any], **shared: Any) -> list[Case]:
    """The cases of a check that differ in one field."""
    return [
        Case(check=check, name=name, **{field: value}, **shared) for name, value in by_name.items()
    ]
