"""What a scenario file may say. Every field documents its unit, what None means, and why the default is what it is."""

from typing import Annotated, Literal, Self, TypeAlias

import pydantic
import pydantic_core

SCHEMA_VERSION = 1
TIMEOUT_S = 120.0
"""Of a run whose traffic does not need more."""
NODES_MAX = 5000
"""As many as Kubernetes is tested with."""
DEVICES_MAX = 1_000_000
"""Of all nodes together."""
PODS_MAX = 200_000
USERS_MAX = 20_000
PROCESSES_MAX = 1024
"""The most that a file may say; what a machine can bear is less, see `flake-hunt run --force`."""
COUNT_MAX = 1_000_000_000
DEVICES_PER_NODE_MAX = 1280
"""Ten ResourceSlices of 128 devices; nothing published so far has more on one node."""

Count = Annotated[int, pydantic.Field(ge=0, le=COUNT_MAX)]
PositiveCount = Annotated[int, pydantic.Field(ge=1, le=COUNT_MAX)]
Processes = Annotated[int, pydantic.Field(ge=1, le=PROCESSES_MAX)]
Users = Annotated[int, pydantic.Field(ge=1, le=USERS_MAX)]
Pods = Annotated[int, pydantic.Field(ge=1, le=PODS_MAX)]
Seconds = Annotated[float, pydantic.Field(ge=0, le=86_400)]
Probability = Annotated[float, pydantic.Field(ge=0, le=1)]
Name = Annotated[str, pydantic.Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?$")]


def _require_attribute(value: object) -> object:
    is_small = not isinstance(value, int) or -(2**63) <= value < 2**63
    if isinstance(value, bool | int | str) and is_small:
        return value
    raise ValueError(f"expected true, false, a whole number of 64 bits or text, got {value!r:.60}")


AttributeValue: TypeAlias = Annotated[
    bool | int | str, pydantic.BeforeValidator(_require_attribute)
]


class Spec(pydantic.BaseModel):
    """Frozen, and strict about keys: a misspelt key is an error, never a default."""

    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, strict=False
    )


class DeviceClassSpec(Spec):
    """The DeviceClass that claims ask for."""

    name: Name = "flake-hunt"
    """Its name; one class is enough for a first-fit race."""
    selectors: list[str] = []
    """CEL expressions over `device`; empty: every device of the driver (the driver is always selected)."""


class PoolsSpec(Spec):
    """The fake nodes and their device pools: one node, one pool, one or more ResourceSlices."""

    nodes: Annotated[int, pydantic.Field(ge=1, le=NODES_MAX)] = 8
    """Nodes worker-0 … ; 8 as in the upstream integration test."""
    devices_per_node: Annotated[int, pydantic.Field(ge=1, le=DEVICES_PER_NODE_MAX)] = 100
    """Devices in each pool; 100 as upstream."""
    driver: Annotated[str, pydantic.Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,60}[a-z0-9])?$")] = (
        "gpu.flake-hunt.example"
    )
    """The DRA driver's name."""
    attributes: dict[str, AttributeValue] = {"model": "fake"}
    """Attributes of every device, for CEL selectors."""
    capacity: dict[str, str] = {}
    """Capacities of every device as quantities, for CEL selectors."""
    node_prefix: Annotated[str, pydantic.Field(pattern=r"^[a-z0-9][-a-z0-9]{0,47}$")] = "worker-"
    """Before the number of a node; on a cluster that others use, a run puts its id here."""
    owner: str = ""
    """An attribute `owner` of every device that the class selects by, so that runs which share a cluster do not share
    devices; set by the run itself on a cluster that others use. Empty: none."""
    device_class: DeviceClassSpec = DeviceClassSpec()
    """The class that the claims name."""


class ClaimSpec(Spec):
    """What each claim asks for."""

    devices: Annotated[int, pydantic.Field(ge=1, le=32)] = 1
    """Devices of an exact-count request; the API allows 32 results."""
    selectors: list[str] = []
    """CEL expressions of the request itself."""
    admin_access: bool = False
    """Ask for admin access: never a conflict, and so never a finding."""


class AllAtOnceTraffic(Spec):
    """Claims and pods that name them, all created before scheduling starts (upstream's UsesAllResources)."""

    profile: Literal["all-at-once"]
    processes: Processes = 2
    """Locust worker processes."""
    users: Users = 16
    """Users over all processes, each creating its part of the objects."""
    pods: Pods = 800
    """Pods, and as many claims; pod i uses claim i."""

    @property
    def longest_s(self) -> float:
        """Return 0: it has no duration, it ends when its pods run."""
        return 0.0


class ChurnTraffic(Spec):
    """Every user creates a pod with a claim template, waits for Running, holds it, deletes it, and begins again."""

    profile: Literal["churn"]
    processes: Processes = 2
    """Locust worker processes."""
    users: Users = 48
    """Users over all processes; more than devices, so that devices are always short."""
    duration_s: Seconds = 6.0
    """Time from the first pod until no new one is begun, when `load` was reached by then."""
    duration_max_s: Seconds = 40.0
    """The same at the most: on a slow cluster until `load` is reached, for a positive control until its defect shows."""
    hold_s: Seconds = 0.02
    """Mean time a Running pod is kept (exponential, seeded)."""
    wait_s: Seconds = 30.0
    """How long a user waits for Running before it gives up on the pod and deletes it."""

    @property
    def longest_s(self) -> float:
        """Return how long it may take until the last user has stopped waiting."""
        return max(self.duration_s, self.duration_max_s) + self.wait_s


class SharedTraffic(Spec):
    """Every user creates a claim, then several pods at once that use it, waits for Running, deletes all."""

    profile: Literal["shared"]
    processes: Processes = 2
    """Locust worker processes."""
    users: Users = 24
    """Users over all processes; more than devices, so that devices are always short."""
    pods_per_claim: Annotated[int, pydantic.Field(ge=1, le=256)] = 4
    """Pods that share one claim; the API allows 256 reservations."""
    duration_s: Seconds = 6.0
    """Time from the first claim until no new one is begun, when `load` was reached by then."""
    duration_max_s: Seconds = 40.0
    """The same at the most: on a slow cluster until `load` is reached, for a positive control until its defect shows."""
    hold_s: Seconds = 0.02
    """Mean time the Running pods are kept (exponential, seeded)."""
    wait_s: Seconds = 30.0
    """How long a user waits for Running before it gives up and deletes."""

    @property
    def longest_s(self) -> float:
        """Return how long it may take until the last user has stopped waiting."""
        return max(self.duration_s, self.duration_max_s) + self.wait_s


TrafficSpec: TypeAlias = Annotated[
    AllAtOnceTraffic | ChurnTraffic | SharedTraffic, pydantic.Field(discriminator="profile")
]


class PausesSpec(Spec):
    """Pauses at named steps of the subject: they widen every window alike and aim at no known defect."""

    probability: Probability = 0.0
    """Of a pause at a step; 0 pauses nowhere."""
    pause_s_max: Seconds = 0.005
    """The longest pause; lengths are uniform up to it."""


class SchedulerSpec(Spec):
    """A scheduler that is tested."""

    scheduler_name: Annotated[
        str, pydantic.Field(pattern=r"^([a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?)?$")
    ] = ""
    """The spec.schedulerName of its pods; empty: `flake-hunt`, and `flake-hunt-2` … for further ones. Schedulers of different
    names share the pods evenly; two of the same name compete for them."""


class PythonScheduler(SchedulerSpec):
    """Ours, with its known defects."""

    kind: Literal["python"] = "python"


class KubeScheduler(SchedulerSpec):
    """A kube-scheduler binary with a configuration that is generated for the cluster."""

    kind: Literal["kube-scheduler"]
    binary: str = ""
    """Its path; empty: in --binaries, KUBEBUILDER_ASSETS, or on PATH."""
    verbosity: Annotated[int, pydantic.Field(ge=0, le=10)] = 2
    """--v; 6 logs every decision and every call."""
    qps: Annotated[float, pydantic.Field(gt=0, le=1_000_000)] = 5000.0
    """Requests a second; 5000 as in upstream's tests, so that the client is no bottleneck (its own default is 50)."""
    burst: PositiveCount = 5000
    """Requests at once above qps; as in upstream's tests."""
    feature_gates: dict[str, bool] = pydantic.Field(default_factory=dict)
    """--feature-gates."""


class ClusterScheduler(SchedulerSpec):
    """The kube-scheduler that the cluster runs anyway."""

    kind: Literal["cluster"]
    scheduler_name: str = "default-scheduler"
    """The name of its profile."""


class CommandScheduler(SchedulerSpec):
    """Any program."""

    kind: Literal["command"]
    command: Annotated[list[str], pydantic.Field(min_length=1)]
    """Program and arguments; {kubeconfig} {scheduler_name} {namespace} {log_dir} {run_id} {seed} are filled in. It runs in
    the folder where flake-hunt is called."""
    version_command: list[str] = pydantic.Field(default_factory=list)
    """A command whose output names the version, for the plan; empty: it is not known."""


class ExternalScheduler(SchedulerSpec):
    """A scheduler that runs already, wherever."""

    kind: Literal["external"]
    scheduler_name: Annotated[str, pydantic.Field(min_length=1)]
    """What it listens to."""


AnyScheduler: TypeAlias = Annotated[
    PythonScheduler | KubeScheduler | ClusterScheduler | CommandScheduler | ExternalScheduler,
    pydantic.Field(discriminator="kind"),
]


class SubjectSpec(Spec):
    """How the scheduler and the claim controller run."""

    schedulers: Annotated[list[AnyScheduler], pydantic.Field(min_length=1, max_length=8)] = [
        PythonScheduler()
    ]
    """What schedules; several at once share the pods."""
    claim_controller: Literal["auto", "python", "cluster"] = "auto"
    """Who makes claims from templates and frees them; auto: the cluster's own where it has one, else ours."""

    start: Literal["before-traffic", "after-traffic"] = "before-traffic"
    """after-traffic: everything is created first, so that scheduling meets a full queue."""
    switch_interval_s: Annotated[float, pydantic.Field(gt=0, le=1)] = 1e-5
    """sys.setswitchinterval; CPython's 5 ms hides every race of pure computation (0 of 660 trials)."""
    binders: Annotated[int, pydantic.Field(ge=1, le=1024)] = 32
    """Threads that bind pods; upstream has one for each pod."""
    backoff_initial_s: Seconds = 1.0
    """kube-scheduler's podInitialBackoffSeconds."""
    backoff_max_s: Seconds = 10.0
    """kube-scheduler's podMaxBackoffSeconds."""
    pauses: PausesSpec = PausesSpec()
    """Seeded pauses at named steps."""


class LoadSpec(Spec):
    """The least load for which a VALID verdict means anything; below it the verdict is UNKNOWN."""

    allocations_min: PositiveCount
    """Holds that must have been seen."""
    pods_running_min: Count
    """Pods that must have been seen Running."""
    reuse_min: Count = 0
    """Holds of a device that some other claim had held before: devices were short."""


class LimitsSpec(Spec):
    """How long a run may take."""

    timeout_s: Annotated[float, pydantic.Field(gt=0, le=86_400)] | None = None
    """From the start of traffic until everything is done; a slower run is judged on what it did. None: 120, or as long as the
    traffic may take where that is longer. It is never shorter than `duration_max_s` and `wait_s` of the traffic together."""
    settle_s: Seconds = 20.0
    """For deletions and the last events to come through after the traffic."""


class Scenario(Spec):
    """A scenario file."""

    schema_version: Literal[1]
    """Of this format."""
    name: Name
    """The file's name without .toml."""
    title: str
    """One line for tables."""
    description: str
    """For people: what it does, where it comes from, what it is good at finding."""
    pools: PoolsSpec = PoolsSpec()
    """Nodes and devices."""
    claim: ClaimSpec = ClaimSpec()
    """What each claim asks for."""
    traffic: TrafficSpec
    """What is created, and how fast."""
    subject: SubjectSpec = SubjectSpec()
    """How the scheduler and the claim controller run."""
    load: LoadSpec
    """What must have happened for the verdict to count."""
    limits: LimitsSpec = LimitsSpec()
    """Timeouts."""
    controls: list[Name] = []
    """Known defects that a campaign runs as positive controls of this scenario."""

    @property
    def timeout_s(self) -> float:
        """Return the time limit of a run: the one of `limits`, or one that suits the traffic."""
        if self.limits.timeout_s is not None:
            return self.limits.timeout_s
        return max(TIMEOUT_S, self.traffic.longest_s + self.limits.settle_s)

    @pydantic.model_validator(mode="after")
    def _require_time_for_the_traffic(self) -> Self:
        """Reject a time limit that would end the load before it may be reached."""
        if self.timeout_s < self.traffic.longest_s:
            raise pydantic_core.PydanticCustomError(
                "timeout_too_short",
                "limits.timeout_s: expected at least {least} (the longer of traffic.duration_s and traffic.duration_max_s, and "
                "traffic.wait_s), got {got}: remove it, or --set limits.timeout_s={least}",
                {"least": f"{self.traffic.longest_s:g}", "got": f"{self.timeout_s:g}"},
            )
        return self
