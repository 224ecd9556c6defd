"""Interfaces of clusters and their providers."""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from harness import errors
from harness.cluster import audit_logs, components
from harness.scenario import profiles


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The features of a cluster that matter to a run.

    Determined by the profile alone, so that unsupported combinations are rejected before anything
    is started.
    """

    exclusive: bool = True
    """The cluster serves this run only. False: others use it, so all names carry the run's id and
    no fault may harm the cluster."""
    protobuf: bool = True
    """kube-scheduler uses protobuf, which is its default content type, instead of JSON."""
    scheduler: bool = False
    """The cluster runs its own kube-scheduler as `default-scheduler`."""
    claim_controller: bool = False
    """The cluster runs its own ResourceClaim controller. The harness's controller must not run
    then."""
    namespace_controller: bool = True
    """A controller empties and removes namespaces that are being deleted."""
    garbage_collector: bool | None = True
    """Objects whose owners are gone are removed; None: the profile does not say it."""
    service_accounts: bool = False
    """Pods are rejected until their namespace's service account exists."""
    claim_controller_process: str = ""
    """The process of its ResourceClaim controller, if a run can end and pause it; empty: none."""
    restarts_api_server: bool = False
    """The API server can be ended and started again on its data."""
    dense_revisions: bool = False
    """Each commit takes the next resourceVersion, whatever its resource, and only the harness
    writes."""

    @property
    def taints(self) -> bool:
        """True if foreign pods could be scheduled to the run's nodes, which then need a taint."""
        return self.scheduler or not self.exclusive


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRequest:
    """Name and place of a cluster to start."""

    name: str
    """Lower-case letters, digits and dashes; unique on this machine. It contains the id of the run
    or worker."""
    directory: pathlib.Path
    """Existing folder for kubeconfigs, logs and data, used by this cluster only."""
    stays: bool = False
    """The cluster outlives the process that starts it (`flake-hunt cluster up`)."""
    runs: Sequence[str] = ()
    """Ids of the runs that created objects on the cluster; used by `reap`."""


class Cluster:
    """A running cluster; the defaults are those of one that logs to its folder, without processes
    of ours and without an audit log.
    """

    name: str
    versions: Mapping[str, str]
    """Detected version of each component, for the run directory."""

    kubeconfig: pathlib.Path
    """The kubeconfig for the harness's processes."""
    audit_log: pathlib.Path | None = None
    """The audit log, if it is on this machine."""

    @property
    def user_kubeconfig(self) -> pathlib.Path:
        """The kubeconfig for kubectl and other programs."""
        return self.kubeconfig

    @property
    def pids(self) -> Sequence[int]:
        """Pids of its processes on this machine, in the order in which to stop them."""
        return ()

    def exit_report(self) -> str | None:
        """Return which component exited and why.

        None while all components run, or if their state cannot be seen from this machine.
        """
        return None

    def restart_api_server(self, *, kill: bool, down_s: float) -> components.End:
        """End the API server (`kill`: by SIGKILL) and start it again after `down_s` seconds.

        Returns, once it is ready, when it ended. It has the same addresses, credentials and data,
        but none of the faults that it carried. Meanwhile `exit_report` does not report it. May be
        called from any thread. Raises ClusterError if it does not come back, or if the cluster's
        capabilities do not include `restarts_api_server`.
        """
        del kill, down_s
        raise unsupported_restart(self.name, "it may serve others")

    def controlled(self, name: str) -> components.Component:
        """Return one of its processes; see `Capabilities.claim_controller_process`."""
        raise NotImplementedError

    def audit_position(self) -> int:
        """Return where the audit log ends now, for `save_audit_log`; 0 if there is none."""
        log = self.audit_log
        return log.stat().st_size if log is not None and log.exists() else 0

    def save_audit_log(self, into: pathlib.Path, *, after: int) -> None:
        """Copy the audit log to a new folder, at least what was logged after a position.

        Raises HarnessError if it cannot be copied.
        """
        if self.audit_log is not None:
            audit_logs.save(self.audit_log, into, after=after)

    def collect_logs(self, into: pathlib.Path) -> None:
        """Copy the logs that are not in the run directory anyway; called before `down`."""

    def down(self) -> None:
        """Remove the cluster and everything but its logs; a second call does no harm."""
        raise NotImplementedError


def unsupported_restart(name: str, remedy: str) -> errors.ClusterError:
    return errors.ClusterError(
        f"expected a cluster whose API server can be restarted on its data, got {name}: {remedy}"
    )


P = TypeVar("P", bound=profiles.Profile)


class Provider(Generic[P]):
    """Starts clusters of one profile; the defaults are those of one that only has processes."""

    def __init__(self, profile: P) -> None:
        self._profile = profile

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of its clusters."""
        raise NotImplementedError

    def check(self) -> None:
        """Check that this machine has everything required; starts nothing.

        Raises UsageError or ClusterError with the remedy if something is missing.
        """
        raise NotImplementedError

    def require_free(self, request: ClusterRequest) -> None:
        """Raise UsageError if something foreign of this name exists.

        Called before the name is recorded as ours.
        """

    def up(self, request: ClusterRequest) -> Cluster:
        """Start a cluster and wait until it is ready; a failed start leaves only logs."""
        raise NotImplementedError

    def is_there(self, request: ClusterRequest) -> bool:
        """Return whether a cluster that stays still has its parts other than processes."""
        del request
        return True

    def collect_logs(self, request: ClusterRequest, into: pathlib.Path) -> None:
        """Copy the logs of a cluster that stays that are not in the request's folder."""

    def reap(self, request: ClusterRequest) -> None:
        """Remove what is left of a cluster whose owner died, given only the request.

        The cluster's processes have already been stopped.
        """
        raise NotImplementedError
