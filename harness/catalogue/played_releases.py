"""Which known defects a subject has that is told to be like a release (`--as`).

Derived from the classes of which the release's subject is made. `--as` is for the scheduler and the
claim controller; kubelets and drivers are those of no release.
"""

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from harness.subject import assembling, defects, releases
from harness.subject.defects import claim_controller_defects
from harness.subject.releases import allocator_releases

_LISTS = "its allocator matches no lists at all, as was recorded with the gate on"
_ENDS = "with a DeviceTaintRule it would end at once, and nothing else of it could be tried"
NOT_PLAYED: Mapping[tuple[str, str], str] = {
    ("1.36.2", "intersection-stays-narrow"): _LISTS,
    ("1.36.2", "taint-rule-kills"): _ENDS,
}
"""By release and defect, why `--as` is without it although the release has it."""
_PARTS = ("search_class", "holdings_class")
"""The parts of an allocator that are classes themselves."""


def of(defect: str) -> list[str]:
    """Return the releases that `--as` knows and that have the defect, the oldest first."""
    return [release for release in releases.names() if defect in _played(release)]


@functools.cache
def _played(release: str) -> frozenset[str]:
    return frozenset(_found(release)) | allocator_releases.SEARCHED.get(release, frozenset())


def _found(release: str) -> Iterator[str]:
    """Yield the defects whose classes are among those of the release's subject."""
    subjects = (
        (assembling.parts((), (), release), defects.CATALOGUE),
        (assembling.claim_controller_parts((), (), release), claim_controller_defects.CATALOGUE),
    )
    for made, catalogue in subjects:
        correct = type(made)()
        for name in catalogue.names():
            item = catalogue.named(name)
            has, lacks = getattr(made, item.part), getattr(correct, item.part)
            if _has(has, item.replacement, lacks):
                yield name


def _has(made: type[Any], defect: type[Any], correct: type[Any]) -> bool:
    """Return whether a class has what the class of a defect changes."""
    if issubclass(made, defect):
        return True
    changed = [part for part in _PARTS if _part(defect, part) is not _part(correct, part)]
    return bool(changed) and all(
        issubclass(_part(made, part), _part(defect, part)) for part in changed
    )


def _part(whole: type[Any], part: str) -> type[Any]:
    found: type[Any] = getattr(whole, part, object)
    return found
