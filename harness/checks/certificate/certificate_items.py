"""A question of the certificate, and the item that its answer is."""

import dataclasses
from collections.abc import Callable

import msgspec

from harness.checks import protocol

ItemResult = tuple[bool, str]
"""The answer to a question and its reason."""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One question about the evidence and its answer."""

    name: str
    question: str
    ok: bool
    reason: str
    """The answer as text, with figures."""
    needed: bool = True
    """False if the verdict needs no yes: a violation ended the run before its planned end."""


def _always(evidence: protocol.Evidence) -> bool:
    del evidence
    return True


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """An item before it is answered."""

    name: str
    text: str
    answer: Callable[[protocol.Evidence], ItemResult]
    applies: Callable[[protocol.Evidence], bool] = _always
