"""Kubernetes releases that the subject can be like: the names of `--as`.

The default subject does what the newest release does, except where that is known to be wrong. A
release is a list of switches in `releases.toml`: known defects, and differences that are none. Both
releases are compared with recorded decisions.
"""

import importlib.resources
import tomllib
from collections.abc import Mapping

from harness import errors, suggestions
from harness.extensions import replacements
from harness.subject import defects, wholes

DIFFERENCES = replacements.Catalogue("difference", "differences", __name__, wholes.OF_PROCESSES)
"""The differences that are no known defects, by name."""
SWITCHES: Mapping[str, list[str]] = tomllib.loads(
    importlib.resources.files(__package__).joinpath("releases.toml").read_text()
)
"""The switches of each release, the oldest release first."""


def names() -> tuple[str, ...]:
    return tuple(SWITCHES)


def with_defect(name: str) -> list[str]:
    return [release for release, switches in SWITCHES.items() if name in switches]


def replacements_of(release: str | None) -> dict[str, replacements.Replacement]:
    """Return what a release replaces, by words for messages. Raises UsageError."""
    if release is None:
        return {}
    if release not in SWITCHES:
        raise errors.UsageError(
            f"expected a known release for --as, got {release!r}. Known releases: "
            f"{', '.join(SWITCHES)}.{suggestions.did_you_mean(release, SWITCHES)}"
        )
    found = [_switch(name) for name in SWITCHES[release]]
    return {
        f"--as {release} of the {process}": replacements.Replacement(
            replacements.joined(item for item in found if item.process == process),
            whole,
            process,
            replacements.Facts(),
        )
        for process, whole in wholes.OF_PROCESSES.items()
    }


def _switch(name: str) -> replacements.Replacement:
    return DIFFERENCES.find(name) or defects.CATALOGUE.named(name)
