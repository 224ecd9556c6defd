"""The `[subject]` of a scenario: the schedulers and the claim controller under test."""

from typing import Annotated, Literal, Self, TypeAlias

import pydantic

from harness.scenario.fields import Probability, Seconds, Spec


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


class KubernetesBinary(Spec):
    """A binary of Kubernetes that the run starts."""

    kind: str
    binary: str = ""
    """Path of the binary, or a version such as 1.36.3 or 1.36; searched in KUBE_BINARIES,
    KUBEBUILDER_ASSETS and PATH; empty: the newest there."""
    verbosity: Annotated[int, pydantic.Field(ge=0, le=10)] = 2
    """--v; the claim controller logs every step with 5, a scheduler every decision and call with
    6."""
    feature_gates: dict[str, bool] = pydantic.Field(default_factory=dict)
    """--feature-gates."""


class KubeScheduler(KubernetesBinary, SchedulerSpec):
    """A kube-scheduler binary; its configuration is generated."""

    kind: Literal["kube-scheduler"]
    flags: list[str] = pydantic.Field(default_factory=list)
    """Further flags, each as one word: --v=4. Those of the generated configuration have no
    effect."""


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


class KubeControllerManager(KubernetesBinary):
    """A kube-controller-manager binary, of which only the ResourceClaim controller runs.

    It elects no leader. The back-offs of its retries, 5 ms to 1,000 s, cannot be set.
    """

    kind: Literal["kube-controller-manager"]


def _form(value: object) -> str:
    is_table = isinstance(value, dict | KubeControllerManager)
    return "kube-controller-manager" if is_table else "word"


AnyClaimController: TypeAlias = Annotated[
    Annotated[Literal["auto", "python", "cluster", "external"], pydantic.Tag("word")]
    | Annotated[KubeControllerManager, pydantic.Tag("kube-controller-manager")],
    pydantic.Discriminator(_form),
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
    claim_controller: AnyClaimController = "auto"
    """Controller that creates and releases claims of templates; auto: the cluster's, or else ours;
    external: one that is already running; or a kube-controller-manager that the run starts."""

    driver: Annotated[str, pydantic.Field(pattern=r"^(in-process|socket|command=.+)$")] = (
        "in-process"
    )
    """The DRA driver of the nodes. in-process: the test driver, in the process of the kubelets;
    socket: `flake-hunt part driver`, a process of the run, through its sockets;
    command='PROGRAM {kubeconfig} …': any program, whose {kubeconfig}, {node}, {driver},
    {plugins_dir}, {registry_dir}, {cdi_dir} and {state_dir} are replaced, one process a node if it
    has {node}, and one a driver's name if it has {driver}."""
    start: Literal["before-traffic", "after-traffic"] = "before-traffic"
    """after-traffic: create all objects first, so that scheduling starts with a full queue."""
    verbosity: Annotated[int, pydantic.Field(ge=0, le=10)] | None = None
    """klog's verbosity of the schedulers that the run starts: with 6, the report and `flake-hunt
    explain` name the race behind a double allocation. None: that of each kube-scheduler, and no
    log of the Python scheduler."""
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
    lists_cached: bool = False
    """Our scheduler's first lists may come from a watch cache that lags (resourceVersion 0), as
    those of kube-scheduler do when the feature WatchListClient is off."""
    pauses: PausesSpec = PausesSpec()
    """Seeded pauses at named steps."""
    hold_threads: Probability = 0.0
    """Share of the visits of places in a scheduler, a program in Go, at which a thread is held for
    up to 20 ms. Places are the functions of its own module whose names speak of claims, devices,
    caches and the like; 0: its threads are left alone."""
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
