"""What a provider of clusters must be able to do, and what the rest of the harness may ask of a cluster."""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence
from typing import Protocol


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a cluster can do; told by its profile alone, so that what cannot work is refused before anything is started."""

    exclusive: bool = True
    """The cluster is ours alone. False: others use it, so every name of a run carries the run's id and it is not to be harmed."""
    protobuf: bool = True
    """kube-scheduler is to use Kubernetes' protobuf, the content type that it takes unless told otherwise, and not JSON."""
    scheduler: bool = False
    """It runs a kube-scheduler of its own, as `default-scheduler`."""
    claim_controller: bool = False
    """It runs a ResourceClaim controller of its own; ours must then not run."""
    namespace_controller: bool = True
    """Somebody empties and removes a namespace that is deleted."""
    service_accounts: bool = False
    """Pods are refused until somebody has made their namespace's service account."""

    @property
    def taints(self) -> bool:
        """Whether pods that are not ours could be put on our nodes, so that these need a taint."""
        return self.scheduler or not self.exclusive


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRequest:
    """A cluster that is wanted."""

    name: str
    """Lower-case letters, digits and dashes; unique on this machine, because it carries the run or the worker."""
    directory: pathlib.Path
    """For kubeconfigs, logs and data; it exists, and is the cluster's alone."""
    stays: bool = False
    """Whether it outlives the process that starts it (`flake-hunt cluster up`)."""
    runs: Sequence[str] = ()
    """The ids of the runs that have made something on it; for `reap`."""


class Cluster(Protocol):
    """A cluster that runs."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def kubeconfig(self) -> pathlib.Path:
        """What the harness's processes connect with."""

    @property
    def user_kubeconfig(self) -> pathlib.Path:
        """What kubectl and other programs connect with."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Component -> version as detected, for the run directory."""

    @property
    def pids(self) -> Sequence[int]:
        """Its processes on this machine, in the order in which they are to be stopped; for the registry."""

    def exit_report(self) -> str | None:
        """What of it has ended, and how; None while it lives, and where that cannot be told from here."""

    def collect_logs(self, into: pathlib.Path) -> None:
        """Bring the logs that do not lie in the run directory anyway; called before `down`."""

    def down(self) -> None:
        """Remove it and everything that it left but its logs; twice is no harm."""


class Provider(Protocol):
    """Starts clusters of one profile."""

    @property
    def capabilities(self) -> Capabilities:
        """What its clusters can do."""

    def check(self) -> None:
        """UsageError or ClusterError, with the remedy, for what is missing on this machine; starts nothing."""

    def require_free(self, request: ClusterRequest) -> None:
        """UsageError when there is something of this name that is not ours; asked before the name is written down as ours."""

    def up(self, request: ClusterRequest) -> Cluster:
        """A cluster that answers; when it cannot be had, nothing is left of it."""

    def is_there(self, request: ClusterRequest) -> bool:
        """Whether what it consists of besides its processes is there; asked of a cluster that stays."""

    def collect_logs(self, request: ClusterRequest, into: pathlib.Path) -> None:
        """Bring the logs that do not lie in the request's folder; of a cluster that stays."""

    def reap(self, request: ClusterRequest) -> None:
        """Remove what is left of a cluster whose owner died, besides its processes, which are gone: with nothing to go by but the request."""
