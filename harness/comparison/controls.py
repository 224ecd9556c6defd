"""Were both sides able to find anything? By their positive controls in compared scenarios."""

from collections.abc import Iterator

from harness.comparison import documents
from harness.comparison.documents import FixAnswer

_NAMED_MAX = 2


def doubts(
    first: documents.Side, second: documents.Side, scenarios: set[str], answer: FixAnswer
) -> Iterator[str]:
    """Yield why an answer about two sides cannot be relied on, in a clause each.

    A side that missed a control might have missed what its subject does wrong, so that its rate is
    too low: that matters only for the side that the answer calls the better one, or for both.
    """
    low = {FixAnswer.WORSE: [first], FixAnswer.WORKS: [second]}.get(answer, [first, second])
    for side in low:
        if missed := _of(side.missed, scenarios):
            yield f"{side.label} did not catch {_counted(missed)}, so that its rate may be too low"
    if first.headline and second.headline:
        yield from _unlike(first, second, scenarios)


def _unlike(first: documents.Side, second: documents.Side, scenarios: set[str]) -> Iterator[str]:
    """Yield which side alone has controls: what one can find, the other may not."""
    for side, other in ((first, second), (second, first)):
        mine, theirs = (_of([*item.caught, *item.missed], scenarios) for item in (side, other))
        if more := sorted(set(mine) - set(theirs)):
            yield f"only {side.label} has {_counted(more)}"


def _of(names: list[str], scenarios: set[str]) -> list[str]:
    return [name for name in names if name.partition(": ")[0] in scenarios]


def _counted(names: list[str]) -> str:
    """Return `the control a`, or `the controls a, b and 3 more`."""
    shown = ", ".join(names[:_NAMED_MAX])
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return f"the control{'s' * (len(names) > 1)} {shown}{more}"
