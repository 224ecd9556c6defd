"""Differences of Kubernetes releases from the default subject: the names of `--as`.

The default subject does what the newest release does, except where that is known to be wrong. A
release is a set of small classes that each override few methods of the correct code, as the known
defects do; a class says in its docstring what the release does and which issue of Kubernetes it is.

1.34.2 and 1.36.2 are compared with recorded decisions. The others were read: 1.34.9, 1.35.6 and
1.36.3 in their sources, of which programs were tried, too, and 1.37 in its sources in development.
Two changes of 1.37 are not played: Bind is tried again after an error that may pass
(kubernetes#138855), and the patch of a pod's status has its resourceVersion (kubernetes#139602).
"""

from collections.abc import Iterator, Mapping

from harness import errors, suggestions
from harness.extensions import replacements
from harness.subject import defects, wholes

_NAMES = ("1.34.2", "1.34.9", "1.35.6", "1.36.2", "1.36.3", "1.37")
DIFFERENCES = replacements.Catalogue("difference", "differences", __name__, wholes.OF_PROCESSES)
"""The differences that are no known defects, by name."""
NOT_PLAYED: Mapping[tuple[str, str], str] = {
    **{
        (release, "group-claims-made-for-pods"): "its controller has the gate on, too"
        for release in ("1.36.2", "1.36.3")
    },
    ("1.36.2", "intersection-stays-narrow"): (
        "its allocator matches no lists at all, as was recorded with the gate on"
    ),
    ("1.36.2", "taint-rule-kills"): (
        "with a DeviceTaintRule it would end at once, and nothing else of it could be tried"
    ),
}
"""Reasons by release and known defect: why `--as` is without it although the release has it."""


def names() -> tuple[str, ...]:
    """Return the known releases, the oldest first."""
    return _NAMES


def with_defect(name: str) -> list[str]:
    """Return the known releases that have a known defect of the subject, and are played with it."""
    facts = defects.CATALOGUE.named(name).facts
    played = (release for release in _NAMES if (release, name) not in NOT_PLAYED)
    return [release for release in played if facts.releases.include(release)]


def replacements_of(release: str | None) -> dict[str, replacements.Replacement]:
    """Return the replacements of a release by name, for messages; None: those of the default, none.

    Raises UsageError for an unknown release.
    """
    if release is None:
        return {}
    if release not in _NAMES:
        raise errors.UsageError(
            f"expected a known release for --as, got {release!r}. Known releases: "
            f"{', '.join(_NAMES)}.{suggestions.did_you_mean(release, _NAMES)}"
        )
    return {f"{name} (of --as {release})": item for name, item in _found(release)}


def _found(release: str) -> Iterator[tuple[str, replacements.Replacement]]:
    """Yield the known defects of a release, and its differences; the latter may have a defect."""
    differences = [
        (name, item)
        for name in DIFFERENCES.names()
        if (item := DIFFERENCES.named(name)).facts.releases.include(release)
    ]
    covered = {name for _, item in differences for name in item.facts.instead_of}
    for name in defects.CATALOGUE.names():
        if release in with_defect(name) and name not in covered:
            yield name, defects.CATALOGUE.named(name)
    yield from differences
