"""Differences of Kubernetes releases from the default subject: the names of `--as`.

The default subject does what the newest release does, except where that is known to be wrong. A
release is a set of small classes that each override few methods of the correct code, as the known
defects do; a class says in its docstring what the release does and which issue of Kubernetes it is.
"""

from harness import errors, suggestions
from harness.subject import replacements
from harness.subject.releases import (
    allocator_releases,
    binding_condition_releases,
    claim_controller_releases,
    scheduler_releases,
    slice_tracker_releases,
)

NEWEST = "1.36.2"
_KNOWN = {
    release: {
        **scheduler_releases.BY_RELEASE[release],
        **allocator_releases.BY_RELEASE[release],
        **binding_condition_releases.BY_RELEASE[release],
        **slice_tracker_releases.BY_RELEASE[release],
        **of_controller,
    }
    for release, of_controller in claim_controller_releases.BY_RELEASE.items()
}


def names() -> tuple[str, ...]:
    """Return the known releases, the oldest first."""
    return tuple(_KNOWN)


def replacements_of(release: str | None) -> dict[str, replacements.Replacement]:
    """Return the replacements of a release by name, for messages; None: those of the default, none.

    Raises UsageError for an unknown release.
    """
    if release is None:
        return {}
    if release not in _KNOWN:
        raise errors.UsageError(
            f"expected a known release for --as, got {release!r}. Known releases: "
            f"{', '.join(_KNOWN)}.{suggestions.did_you_mean(release, _KNOWN)}"
        )
    return {f"{name} (of --as {release})": item for name, item in _KNOWN[release].items()}
