"""The plan of a run: the scenario with its seed and everything resolved, as plan.json."""

import pathlib
from typing import Any, Literal

import msgspec

from harness import errors, writing
from harness.history import files, purposes, records


class Requirements(msgspec.Struct, frozen=True, kw_only=True):
    """The least load for which a run can be VALID."""

    allocations_min: int
    """Holds of devices."""
    pods_running_min: int
    """Pods that were observed `Running`."""
    reuse_min: int = 0
    """Holds of a device that another claim had held before: evidence that devices were scarce.
    From 1 on, several claims or pods must have waited at once, too."""
    reservations_min: int = 0
    """Pods that one claim was reserved for at the same time; 0: reservations are not judged."""
    examined: list[str] = []
    """Names of checks that must have examined something."""


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """A bound of a figure (`model.figures`): either `max` or `min`."""

    metric: str
    """Name of the figure: `pod_to_running.p99_ms`."""
    max: float | None = None
    min: float | None = None
    per: Literal["run", "campaign"] = "run"
    """The runs that it judges: this one, or all of a campaign with its scenario and subject."""

    def __post_init__(self) -> None:
        """Raise ValueError unless there is one bound."""
        if (self.max is None) == (self.min is None):
            raise ValueError(f"expected either max or min of {self.metric!r:.60}")

    @property
    def text(self) -> str:
        """The threshold as an option takes it: `pod_to_running.p99_ms<=2000`."""
        scope = "campaign:" * (self.per == "campaign")
        bound = f">={self.min:.15g}" if self.max is None else f"<={self.max:.15g}"
        return f"{scope}{self.metric}{bound}"


class StartCondition(msgspec.Struct, frozen=True, kw_only=True):
    """A fault begins when another one has taken effect."""

    fault: str
    """Name of the other fault."""
    applied: int
    """Number of times that it must have taken effect."""


class PlannedFault(msgspec.Struct, frozen=True, kw_only=True):
    """A fault of the scenario, or one that a nemesis has drawn, with everything resolved."""

    name: str
    """Unique within the plan; `FaultApplied` and `FaultWindow` records have it."""
    kind: str
    """The kind as in the scenario file: `lose-response`, `kill-process`, …"""
    carrier: Literal["server", "proxy", "run"]
    """Its injector: the embedded API server, the fault proxy, or the run itself."""
    clients: list[str] = []
    """Processes whose calls, watches or lives it hits: `scheduler`, `scheduler-2`, `kubelet`, …"""
    required: bool = True
    """The run is UNKNOWN if the fault never takes effect; of those that a nemesis has drawn, if
    none does."""
    start_s: float = 0.0
    """Seconds from the start of the load, or from the condition, until the fault begins."""
    start_after: StartCondition | None = None
    """None: begin at the start of the load."""
    duration_s: float | None = None
    """Seconds until it is healed; None: when the load has ended, or when it is used up."""
    owed: int = 0
    """How often it has to happen if it is required: the load goes on for it; 0: it need not."""
    drawn_by: str = ""
    """Name of the nemesis that has drawn it; empty: the scenario names it."""
    text: str
    """The fault as text, one sentence."""
    rule: dict[str, Any] = {}
    """Rule of the carrier of a fault of traffic (`faults.injection.FaultSpec`), as JSON."""
    parameters: dict[str, Any] = {}
    """Keys of the kind of a fault that the run injects, as in the scenario file."""


class UsedPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """A plug-in of another package that the run uses, or whose check it owes."""

    kind: str
    """`checks`, `subjects`, `scenarios`, …: the entry point group without `flake_hunt.`."""
    name: str
    package: str
    version: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All decisions made before the run began."""

    schema: int = records.SCHEMA_VERSION
    run_id: str
    scenario: str
    seed: int
    subject: str
    """`python` for the scheduler in this repository, otherwise the kind of scheduler."""
    defects: list[str]
    cluster: str
    """The provider: `embedded`, `local`, `kind` or `kubeconfig`."""
    namespace: str
    boot_id: str
    pid: int = 0
    """The process that makes the run; 0 in plans of older versions."""
    created_wall_ns: int
    until_found: bool
    """End the run at the first double allocation, as for positive controls."""
    requirements: Requirements
    expected_operations: list[str]
    """Names of the processes that must leave an operations file with a trailer."""
    expected_steps: list[str]
    """Names of the processes that must leave a steps file with a trailer."""
    expected_writes: list[str] = []
    """Names of the processes of the subject that must leave an operations file with a trailer, of
    their writes."""
    expected_processes: list[str] = []
    """Names of the processes that the run starts; empty in plans of older versions."""
    expected_preparations: list[str] = []
    """Names of the processes that must leave a file of preparations with a trailer."""
    expected_pool_changes: list[str] = []
    """Names of the processes that must leave a file of changes of pools with a trailer."""
    pool_changes: dict[str, int] = {}
    """How often each change of pools has to be made, by its name; empty: the pools do not
    change."""
    resources: list[str]
    """Resources (plural names) whose commits must all be observed."""
    compression: Literal["none", "zstd"] = "none"
    """Compression of the observations."""
    dense_revisions: bool = False
    """Each commit of the cluster takes the next resourceVersion, and `resources` are all that take
    some, so that none may be missing."""
    settings: dict[str, Any]
    """The scenario after overrides, as JSON."""
    expects_manifest: bool = False
    """True if the run writes a manifest when it has ended; False in plans of older versions."""
    progress_s: float | None = None
    """Seconds without progress after which whatever could go on counts as stuck; None: progress is
    not judged."""
    thresholds: list[Threshold] = []
    """Bounds of figures that the run has to keep, and those that its campaign has to keep."""
    faults: list[PlannedFault] = []
    """Faults of the run, in the order of the scenario; empty: none."""
    collects_garbage: bool | None = None
    """The cluster removes claims of pods that are gone; None: the run finds out, or the plan is
    from an older version."""
    audit_log: bool = False
    """The run keeps the API server's audit log, which must agree with the observations."""
    carrier: Literal["", "server", "proxy"] = ""
    """Carrier of the faults of traffic; empty: there are none."""
    known_to_fail: str = ""
    """Hypothesis by which the correct subject is expected to be INVALID; empty: VALID."""
    remedies: list[str] = []
    """Remedies that the Python scheduler was given."""
    release: str = ""
    """The release of Kubernetes that the Python subject is like; empty: the default."""
    again: list[str] = []
    """Arguments of `flake-hunt` that repeat the run; empty if no command does."""
    plugins: list[UsedPlugin] = []
    """Plug-ins of other packages; judging needs their checks, and nothing else of them."""
    campaign: str = ""
    """Name of the folder of the campaign that made the run; empty: the run was made alone."""
    jobs: int = 0
    """Number of runs that the campaign makes at once; 0 for a run made alone, and in plans of
    older versions."""
    cluster_profile: dict[str, Any] = {}
    """The cluster profile after overrides, as JSON; empty if no cluster was started."""
    versions: dict[str, str]
    """Versions of python, platform, flake-hunt, its commit and the main libraries."""

    @property
    def hypothesis(self) -> str:
        return str(self.settings.get("known_to_fail") or "")

    @property
    def purpose(self) -> purposes.Purpose:
        if self.defects:
            return purposes.Purpose.CONTROL
        mending = self.settings.get("remedies")
        if isinstance(mending, list) and mending and {*map(str, mending)} <= {*self.remedies}:
            return purposes.Purpose.REMEDY
        return purposes.Purpose.HAZARD if self.hypothesis else purposes.Purpose.SUBJECT


def write(path: pathlib.Path, plan: Plan) -> None:
    writing.replace(path, msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n")


def decoded(content: bytes) -> Plan:
    """Return the plan in the bytes of plan.json.

    Raises HistoryError if it is damaged or has another schema.
    """
    return files.decoded(content, Plan, schemas=[records.SCHEMA_VERSION])


def read(path: pathlib.Path) -> Plan:
    """Read plan.json. Raises RunDirectoryError where `decoded` raises HistoryError."""
    try:
        return decoded(files.read_small(path))
    except errors.HistoryError as error:
        raise errors.RunDirectoryError(f"{path}: expected the plan of a run ({error})") from error
