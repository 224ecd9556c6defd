"""Finds the texts without which a selector would not answer as before, by asking all devices."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from harness.model.objects import Object
from harness.report.redaction import documents
from harness.subject.allocation import expressions

Pair = tuple[Any, Any]
"""Something before and after a redaction."""
_READS_TEXTS = re.compile(r"\bdevice\b(?!\s*\.\s*(?:driver|capacity|allowMultipleAllocations)\b)")


def texts_to_keep(
    selectors: Iterable[Pair], devices: Iterable[tuple[str, Object, Object]]
) -> set[str]:
    """Return texts that have to stay; none if every selector answers as before.

    `devices` are the driver of each device, and the device before and after.
    """
    texts: set[str] = set()
    pairs = dict.fromkeys(selectors)
    asked = [(old, new) for old, new in pairs if old != new or _READS_TEXTS.search(old)]
    for driver, before, after in devices if asked else ():
        for old, new in asked:
            if _answer(old, driver, before) == _answer(new, driver, after):
                continue
            texts |= {*_changed(old, before, after)} | ({*_literals(old)} - {*_literals(new)})
    return texts


def _answer(selector: str, driver: str, device: Object) -> bool | None:
    """Return whether a device matches; None: the selector fails."""
    try:
        return expressions.compiled(selector).matches(driver, device)
    except expressions.SelectorError:
        return None


def _changed(selector: str, before: Object, after: Object) -> Iterator[str]:
    """Yield the texts that changed of the attributes that a selector names, or else of all."""
    old, new = before.get("attributes") or {}, after.get("attributes") or {}
    changed = [name for name in old if old[name] != new[name]]
    named = [name for name in changed if re.search(rf"\b{name.rpartition('/')[2]}\b", selector)]
    for name in named or changed:
        yield from texts_of(old[name])


def texts_of(attribute: Object) -> Iterator[str]:
    values = [attribute.get("string"), *(attribute.get("strings") or [])]
    yield from (value for value in values if isinstance(value, str))


def _literals(selector: str) -> Iterator[str]:
    yield from (found[0][1:-1] for found in documents.LITERAL.finditer(selector))
