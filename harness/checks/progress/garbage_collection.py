"""Decides whether the cluster of a run collects garbage: claims of pods that are gone.

A bare API server does not, which is not the fault of its scheduler or claim controller. A plan says
so if its cluster is known to; on a cluster that was there before, the run finds out.
"""

import dataclasses

import msgspec

from harness import errors
from harness.checks import protocol
from harness.history import files, histories

WORKS, FAILS = "garbage is collected", "garbage is not collected"
"""Phases of a run that has found out."""
COLLECTOR = "kube-controller-manager"


class _Cluster(msgspec.Struct):
    versions: dict[str, str] = {}


@dataclasses.dataclass(frozen=True, slots=True)
class GarbageCollection:
    """A cluster that is known to remove claims of pods that are gone, or not to."""

    works: bool = True

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "GarbageCollection":
        """Decide it from the plan, the phases and the versions of the run."""
        return cls(is_working(evidence.history))


def is_working(history: histories.History) -> bool:
    """Return whether the cluster is known to collect garbage."""
    if history.plan.collects_garbage is not None:
        return history.plan.collects_garbage
    found = [phase.name for phase in history.phases if phase.name in (WORKS, FAILS)]
    if found:
        return found[-1] == WORKS
    match history.plan.cluster:
        case "local":  # plans of older versions do not say it
            return COLLECTOR in _versions(history)
        case "kubeconfig":
            return False
    return True


def _versions(history: histories.History) -> dict[str, str]:
    """Return the versions of the cluster's programs by name; empty if they cannot be read."""
    try:
        content = files.read_small(history.directory.cluster)
        return msgspec.json.decode(content, type=_Cluster).versions
    except (errors.HistoryError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError):
        return {}
