"""The keys of a scenario file, with units, the meaning of None, and reasons for the defaults."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

import pydantic

from harness.scenario import (
    claim_specs,
    driver_specs,
    fault_kinds,
    pool_specs,
    script_specs,
    subject_specs,
    threshold_specs,
    traffic_specs,
)
from harness.scenario.fault_kinds import fault
from harness.scenario.fields import (
    CheckName,
    Count,
    Name,
    Seconds,
    Spec,
)
from harness.scenario.object_sets import set_specs

TIMEOUT_S = 120.0
"""Default time limit of a run, in seconds; longer if the traffic needs more."""
CLAIM_KINDS_MAX = 16
PROGRESS_S = 30.0
"""Default of `limits.progress_s` in scenarios with faults, in seconds."""


class LoadSpec(Spec):
    """The least load for a VALID verdict; below it the verdict is UNKNOWN."""

    allocations_min: Count
    """Least number of observed holds; only a script may have 0."""
    pods_running_min: Count = 1
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
    """zstd: the observations are compressed while they are written, for runs of hours. none: when
    the run has ended."""


class Scenario(Spec):
    """A scenario file."""

    schema_version: Literal[1]
    """Version of this format."""
    name: Name
    """The file's name without .toml."""
    title: str
    """One line for tables."""
    description: str = ""
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
    subject: subject_specs.SubjectSpec = subject_specs.SubjectSpec()
    """The scheduler and the claim controller under test."""
    load: LoadSpec = LoadSpec(allocations_min=0, pods_running_min=0)
    """The least load for a VALID verdict; a script may leave it out, and owes none then."""
    limits: LimitsSpec = LimitsSpec()
    """Timeouts."""
    recording: RecordingSpec = RecordingSpec()
    """How the API objects are recorded."""
    controls: list[Name] = []
    """Known defects that campaigns use as positive controls of this scenario."""
    faults: Annotated[list[fault_kinds.AnyFault], pydantic.Field(max_length=fault.FAULTS_MAX)] = []
    """Faults; all are healed when the load has ended, and progress is judged from then on."""
    thresholds: Annotated[
        list[threshold_specs.ThresholdSpec],
        pydantic.Field(max_length=threshold_specs.THRESHOLDS_MAX),
    ] = []
    """Bounds of latencies, rates, memory and numbers, which decide like checks."""
    plain_hunt: bool = False
    """`flake-hunt hunt` without names includes it; `hunt --all` runs every shipped scenario."""
    known_to_fail: str = ""
    """Hypothesis, such as `H1`, or cause, by which the correct subject fails as upstream does;
    empty: it is expected to be VALID. Campaigns expect INVALID then, and list the scenario as a
    hazard."""
    known_to_fail_theirs: str = ""
    """Hypothesis, such as `H23`, by which Kubernetes' own claim controller fails, but not ours."""
    remedies: list[Name] = []
    """Remedies with which the subject is expected to be VALID; campaigns try all of them
    together."""

    @property
    def claim_kinds(self) -> Sequence[claim_specs.ClaimSpec]:
        if isinstance(self.traffic, traffic_specs.ObjectsTraffic):
            return []
        return self.claims or [self.claim]

    @property
    def object_sets(self) -> Sequence[set_specs.ObjectSet]:
        if not isinstance(self.traffic, traffic_specs.ObjectsTraffic):
            return []
        return [one.on_nodes(self.pools.nodes) for one in self.traffic.sets]

    @property
    def named_faults(self) -> list[tuple[str, fault.Fault]]:
        return list(fault_kinds.named(self.faults))

    def claim_kind(self, number: int) -> int:
        rounds = [index for index, kind in enumerate(self.claims) for _ in range(kind.weight)]
        return rounds[number % len(rounds)] if rounds else 0

    @property
    def progress_s(self) -> float | None:
        if self.limits.progress_s is None and self.faults:
            return PROGRESS_S
        return self.limits.progress_s

    @property
    def timeout_s(self) -> float:
        if self.limits.timeout_s is not None:
            return self.limits.timeout_s
        return max(TIMEOUT_S, self.traffic.longest_s + self.limits.settle_s)

    @pydantic.model_validator(mode="after")
    def _require_claims_once(self) -> Self:
        is_said = self.claim != claim_specs.ClaimSpec()
        if self.claims and is_said:
            raise ValueError(
                "claims: expected either claim or claims, got both: remove one of them"
            )
        if (self.claims or is_said) and isinstance(self.traffic, traffic_specs.ObjectsTraffic):
            raise ValueError(
                "claim: expected neither claim nor claims with traffic.profile = 'objects', whose "
                "files say the claims, got one of them: remove it"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _require_load(self) -> Self:
        if isinstance(self.traffic, script_specs.ScriptTraffic):
            return self
        if "load" not in self.model_fields_set:
            raise ValueError(
                "load: expected the least load for a VALID verdict, got none: add these two lines:\n"
                "[load]\nallocations_min = 100"
            )
        if not self.load.allocations_min:
            raise ValueError("load.allocations_min: expected a number from 1 on, got 0")
        return self

    @pydantic.model_validator(mode="after")
    def _require_consistent_faults(self) -> Self:
        fault_kinds.require_consistent(self.faults)
        return self

    @pydantic.model_validator(mode="after")
    def _require_time_for_the_traffic(self) -> Self:
        if self.timeout_s < self.traffic.longest_s:
            least, got = f"{self.traffic.longest_s:g}", f"{self.timeout_s:g}"
            raise ValueError(
                f"limits.timeout_s: expected at least {least} (the longer of traffic.duration_s "
                "and traffic.duration_max_s, and traffic.wait_s), got "
                f"{got}: remove it, or --set limits.timeout_s={least}"
            )
        return self
