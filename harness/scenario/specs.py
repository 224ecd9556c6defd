"""The keys of a scenario file, with units, the meaning of None, and reasons for the defaults."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self, TypeAlias

import pydantic
import pydantic_core

from harness.scenario import claim_specs, driver_specs, fault_specs, pool_specs, traffic_specs
from harness.scenario.fields import (
    CheckName,
    Count,
    Name,
    PositiveCount,
    Probability,
    Seconds,
    Spec,
)

SCHEMA_VERSION = 1
TIMEOUT_S = 120.0
"""Default time limit of a run, in seconds; longer if the traffic needs more."""
CLAIM_KINDS_MAX = 16
PROGRESS_S = 30.0
"""Default of `limits.progress_s` in scenarios with faults, in seconds."""


class PausesSpec(Spec):
    """Pauses at named steps of the subject; they widen all race windows alike."""

    probability: Probability = 0.0
    """Probability of a pause at each step; 0: no pauses."""
    pause_s_max: Seconds = 0.005
    """Longest pause in seconds; lengths are uniform."""


class SchedulerSpec(Spec):
    """A scheduler under test."""

    scheduler_name: Annotated[
        str, pydantic.Field(pattern=r"^([a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?)?$")
    ] = ""
    """`spec.schedulerName` of its pods; empty: `flake-hunt`, then `flake-hunt-2`, … Schedulers with
    different names share the pods evenly; schedulers with the same name compete for them."""


class PythonScheduler(SchedulerSpec):
    """The Python scheduler of this repository, with its known defects."""

    kind: Literal["python"] = "python"


class KubeScheduler(SchedulerSpec):
    """A kube-scheduler binary; its configuration is generated."""

    kind: Literal["kube-scheduler"]
    binary: str = ""
    """Path of the binary; empty: search --binaries, KUBEBUILDER_ASSETS, then PATH."""
    verbosity: Annotated[int, pydantic.Field(ge=0, le=10)] = 2
    """--v; 6 logs every decision and every call."""
    qps: Annotated[float, pydantic.Field(gt=0, le=1_000_000)] = 5000.0
    """Requests per second; 5000 as in upstream's tests, not 50, so that the client does not
    throttle."""
    burst: PositiveCount = 5000
    """Burst above qps, in requests; 5000 as in upstream's tests."""
    feature_gates: dict[str, bool] = pydantic.Field(default_factory=dict)
    """--feature-gates."""


class ClusterScheduler(SchedulerSpec):
    """The kube-scheduler of the cluster itself."""

    kind: Literal["cluster"]
    scheduler_name: str = "default-scheduler"
    """Name of its profile."""


class CommandScheduler(SchedulerSpec):
    """Any program, started by the run."""

    kind: Literal["command"]
    command: Annotated[list[str], pydantic.Field(min_length=1)]
    """Program and arguments; {kubeconfig}, {scheduler_name}, {namespace}, {log_dir}, {run_id} and
    {seed} are replaced. It runs in the current folder."""
    version_command: list[str] = pydantic.Field(default_factory=list)
    """Command that prints the version, for the plan; empty: unknown."""


class ExternalScheduler(SchedulerSpec):
    """A scheduler that is already running."""

    kind: Literal["external"]
    scheduler_name: Annotated[str, pydantic.Field(min_length=1)]
    """`spec.schedulerName` of the pods that it schedules."""


AnyScheduler: TypeAlias = Annotated[
    PythonScheduler | KubeScheduler | ClusterScheduler | CommandScheduler | ExternalScheduler,
    pydantic.Field(discriminator="kind"),
]


class LeaderElectionSpec(Spec):
    """Leader election of schedulers on a Lease in the run's namespace."""

    lease_duration_s: Annotated[int, pydantic.Field(ge=1, le=3600)] = 15
    """Seconds that a scheduler waits after the last renewal that it saw, before it takes the
    lease."""
    renew_deadline_s: Annotated[float, pydantic.Field(gt=0, le=3600)] = 10.0
    """Seconds without a successful renewal after which the leader gives up and ends."""
    retry_period_s: Annotated[float, pydantic.Field(gt=0, le=3600)] = 2.0
    """Seconds between two attempts to take or renew the lease."""

    @pydantic.model_validator(mode="after")
    def _require_order(self) -> Self:
        """Reject durations that client-go rejects."""
        in_order = self.lease_duration_s > self.renew_deadline_s > self.retry_period_s * 1.2
        if not in_order:
            raise ValueError(
                "leader_election: expected lease_duration_s > renew_deadline_s > 1.2 times "
                f"retry_period_s, got {self.lease_duration_s}, {self.renew_deadline_s:g} and "
                f"{self.retry_period_s:g}"
            )
        return self


class SubjectSpec(Spec):
    """The scheduler and the claim controller under test."""

    schedulers: Annotated[list[AnyScheduler], pydantic.Field(min_length=1, max_length=8)] = [
        PythonScheduler()
    ]
    """The schedulers; several run at once and share the pods."""
    own_devices: bool = False
    """Each scheduler has devices of its own, which only the claims of its pods request: of each
    node the devices are dealt out in turn. The schedulers must have different names."""
    claim_controller: Literal["auto", "python", "cluster"] = "auto"
    """Controller that creates and releases claims of templates; auto: the cluster's, or else
    ours."""

    start: Literal["before-traffic", "after-traffic"] = "before-traffic"
    """after-traffic: create all objects first, so that scheduling starts with a full queue."""
    switch_interval_s: Annotated[float, pydantic.Field(gt=0, le=1)] = 1e-5
    """sys.setswitchinterval; the default of 5 ms hides races of pure computation (0 of 660
    trials)."""
    binders: Annotated[int, pydantic.Field(ge=0, le=1024)] = 0
    """Pods that may be bound at the same time; 0: any number, as in kube-scheduler, which has a
    goroutine for each."""
    reserve_by: Literal["update", "patch"] = "update"
    """How the Python scheduler reserves a claim that has an allocation for one more pod: by an
    update, as kube-scheduler does, or by a patch, as it did before kubernetes#124931."""
    binding_timeout_s: Seconds = 600.0
    """Seconds in which an allocated device with binding conditions has to be ready; for a
    kube-scheduler that the run starts, its bindingTimeout, of at least 1, from 1.35 on."""
    backoff_initial_s: Seconds = 1.0
    """kube-scheduler's podInitialBackoffSeconds."""
    backoff_max_s: Seconds = 10.0
    """kube-scheduler's podMaxBackoffSeconds."""
    filter_timeout_s: Annotated[float, pydantic.Field(ge=0, le=3600)] = 10.0
    """Time limit in seconds for the search for devices on one node, and the filterTimeout of a
    kube-scheduler that the run starts; 0: none."""
    parallelism: Annotated[int, pydantic.Field(ge=1, le=64)] = 1
    """Threads of our scheduler that filter nodes. One is fastest in Python; kube-scheduler has
    16."""
    rotates_nodes: bool = False
    """Our scheduler begins its search for a node where the search before ended, as kube-scheduler
    does; by default at the first node, so that all pods compete for the same devices."""
    weighs_nodes: bool = False
    """Our scheduler prefers the nodes on which least CPU and memory is requested and rules out full
    ones, as kube-scheduler does; by default every pod goes to the first node with devices."""
    lists_cached: bool = False
    """Our scheduler's first lists may come from a watch cache that lags (resourceVersion 0), as
    those of kube-scheduler do when the feature WatchListClient is off."""
    pauses: PausesSpec = PausesSpec()
    """Seeded pauses at named steps."""
    leader_election: LeaderElectionSpec | None = None
    """Leader election of Python schedulers and kube-schedulers: those with the same name share a
    Lease, one schedules, the others stand by. true: with kube-scheduler's durations; false or left
    out: every scheduler schedules."""

    @pydantic.field_validator(
        "leader_election", mode="before", json_schema_input_type=bool | LeaderElectionSpec
    )
    @classmethod
    def _read_switch(cls, value: object) -> object:
        return ({} if value else None) if isinstance(value, bool) else value


class LoadSpec(Spec):
    """The least load for a VALID verdict; below it the verdict is UNKNOWN."""

    allocations_min: PositiveCount
    """Least number of observed holds."""
    pods_running_min: Count
    """Least number of pods observed Running."""
    reuse_min: Count = 0
    """Least number of holds of a device that another claim had held before; from 1 on, at least two
    claims or two pods must have waited at once, too."""
    reservations_min: Annotated[int, pydantic.Field(ge=0, le=traffic_specs.RESERVATIONS_MAX)] = 0
    """Least number of pods that one claim is reserved for at the same time; from 1 on, the run
    also owes that no claim is ever reserved for more pods than the API allows."""
    examined: list[CheckName] = []
    """Names of checks that must have examined something, as `device_exclusivity`. Of the others a
    run may say nothing: the report then shows them as not examined."""


class LimitsSpec(Spec):
    """Time limits of a run."""

    timeout_s: Annotated[float, pydantic.Field(gt=0, le=86_400)] | None = None
    """Seconds from the start of traffic until all work is done; a slower run is UNKNOWN unless it
    is INVALID. At least `duration_max_s` plus `wait_s` of the traffic. None: 120, or more if the
    traffic may take longer."""
    progress_s: Annotated[float, pydantic.Field(ge=1, le=86_400)] | None = None
    """Seconds without progress, after the load has ended and the faults are healed, for which a pod
    that can run may wait; then it is stuck. None: 30 in scenarios with faults; without faults,
    progress is not judged."""
    settle_s: Seconds = 20.0
    """Seconds for deletions and the last events after the traffic."""


class RecordingSpec(Spec):
    """The recording of the API objects."""

    compression: Literal["none", "zstd"] = "none"
    """zstd: the run directory has observations.jsonl.zst instead of observations.jsonl, which is
    many times smaller, for runs of hours. none: the usual tools can read it."""


class Scenario(Spec):
    """A scenario file."""

    schema_version: Literal[1]
    """Version of this format."""
    name: Name
    """The file's name without .toml."""
    title: str
    """One line for tables."""
    description: str
    """Purpose, origin, and the defects that the scenario finds."""
    pools: pool_specs.PoolsSpec = pool_specs.PoolsSpec()
    """Nodes and devices."""
    driver: driver_specs.DriverSpec = driver_specs.DriverSpec()
    """The DRA driver of the fake nodes, and how containers end."""
    claim: claim_specs.ClaimSpec = claim_specs.ClaimSpec()
    """The requests of each claim."""
    claims: Annotated[
        list[claim_specs.ClaimKindSpec], pydantic.Field(max_length=CLAIM_KINDS_MAX)
    ] = []
    """Several kinds of claims instead of `claim`, which come in turn; empty: all are the same."""
    traffic: traffic_specs.TrafficSpec
    """The objects to create, and the rate."""
    subject: SubjectSpec = SubjectSpec()
    """The scheduler and the claim controller under test."""
    load: LoadSpec
    """The least load for a VALID verdict."""
    limits: LimitsSpec = LimitsSpec()
    """Timeouts."""
    recording: RecordingSpec = RecordingSpec()
    """How the API objects are recorded."""
    controls: list[Name] = []
    """Known defects that campaigns use as positive controls of this scenario."""
    faults: Annotated[
        list[fault_specs.AnyFault], pydantic.Field(max_length=fault_specs.FAULTS_MAX)
    ] = []
    """Faults; all are healed when the load has ended, and progress is judged from then on."""
    plain_hunt: bool = False
    """`flake-hunt hunt` without names includes it; `hunt --all` runs every shipped scenario."""
    known_to_fail: str = ""
    """Hypothesis, such as `H1`, or cause, by which the correct subject fails as upstream does;
    empty: it is expected to be VALID. Campaigns expect INVALID then, and list the scenario as a
    hazard."""
    remedies: list[Name] = []
    """Remedies with which the subject is expected to be VALID; campaigns try all of them
    together."""

    @property
    def claim_kinds(self) -> Sequence[claim_specs.ClaimSpec]:
        """The kinds of claims; at least one."""
        return self.claims or [self.claim]

    def claim_kind(self, number: int) -> int:
        """Return the index of the kind of the claim with this number, counted from 0."""
        rounds = [index for index, kind in enumerate(self.claims) for _ in range(kind.weight)]
        return rounds[number % len(rounds)] if rounds else 0

    @property
    def progress_s(self) -> float | None:
        """Return `limits.progress_s` or its default, in seconds; None: progress is not judged."""
        if self.limits.progress_s is None and self.faults:
            return PROGRESS_S
        return self.limits.progress_s

    @property
    def timeout_s(self) -> float:
        """Return the time limit of a run in seconds: `limits.timeout_s`, or one for the traffic."""
        if self.limits.timeout_s is not None:
            return self.limits.timeout_s
        return max(TIMEOUT_S, self.traffic.longest_s + self.limits.settle_s)

    @pydantic.model_validator(mode="after")
    def _require_claim_or_claims(self) -> Self:
        if self.claims and self.claim != claim_specs.ClaimSpec():
            raise ValueError(
                "claims: expected either claim or claims, got both: remove one of them"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _require_consistent_faults(self) -> Self:
        fault_specs.require_consistent(self.faults)
        return self

    @pydantic.model_validator(mode="after")
    def _require_time_for_the_traffic(self) -> Self:
        """Reject a time limit that is shorter than the traffic may take."""
        if self.timeout_s < self.traffic.longest_s:
            raise pydantic_core.PydanticCustomError(
                "timeout_too_short",
                "limits.timeout_s: expected at least {least} (the longer of traffic.duration_s and traffic.duration_max_s, and "
                "traffic.wait_s), got {got}: remove it, or --set limits.timeout_s={least}",
                {"least": f"{self.traffic.longest_s:g}", "got": f"{self.timeout_s:g}"},
            )
        return self
