"""The traffic of a scenario: which objects are created, and how many and how fast."""

from typing import Annotated, Literal, Self, TypeAlias

import pydantic

from harness.model import naming
from harness.scenario import script_specs
from harness.scenario.fields import Probability, Seconds, Spec
from harness.scenario.object_sets import set_specs

PODS_MAX = 200_000
USERS_MAX = 20_000
PROCESSES_MAX = 1024
"""Limit for files; the limit of a machine is lower."""

RESERVATIONS_MAX = 256
"""Entries that the API allows in a claim's `status.reservedFor`."""

Processes = Annotated[int, pydantic.Field(ge=1, le=PROCESSES_MAX)]
Users = Annotated[int, pydantic.Field(ge=1, le=USERS_MAX)]
Pods = Annotated[int, pydantic.Field(ge=1, le=PODS_MAX)]


class WorkerKeys(Spec):
    """The keys of every profile about the processes in which its users run."""

    processes: Processes = 2
    """Locust worker processes."""

    @property
    def load_max_s(self) -> float:
        return 0.0

    @property
    def longest_s(self) -> float:
        """The longest time until the last user stops waiting, in seconds."""
        return 0.0

    @property
    def process_names(self) -> list[str]:
        return [naming.traffic(index) for index in range(self.processes)]


LONGER_FOR_LOAD, LONGER_FOR_FAULTS = 2, 3
"""How many times as long the load may go on until `load` is reached, if it is on its way, and until
the faults have happened as often as they say."""


class AllAtOnceTraffic(WorkerKeys):
    """Claims and their pods, all created before scheduling starts (upstream's UsesAllResources)."""

    profile: Literal["all-at-once"]
    users: Users = 16
    """Users in all processes together; each creates its part of the objects."""
    pods: Pods = 800
    """Number of pods and of claims; pod i uses claim i."""
    overcommit: bool = False
    """Allow more pods than the devices satisfy; the run ends when as many run as can."""
    interval_s: Seconds = 0.0
    """Seconds for which a user waits before each further claim, so that pods arrive one after
    another; 0: as fast as possible."""

    @property
    def longest_s(self) -> float:
        return self.interval_s * self.pods


class RepeatedWork(WorkerKeys):
    """The keys of profiles whose users repeat what they do for a time."""

    duration_s: Seconds = 6.0
    """Seconds from the first object until no further one is created, if `load` has been reached."""
    duration_max_s: Seconds = 40.0
    """Largest `duration_s`, for slow clusters until `load` is reached, and for positive controls.
    Twice as long if `load` is reached by then, three times for faults that take long."""
    hold_s: Seconds = 0.02
    """Mean seconds for which Running pods are kept, and for which those that end by themselves run
    (exponential, seeded)."""
    wait_s: Seconds = 30.0
    """Seconds for which a user waits for its pods to be Running, or to have ended, before it
    deletes them."""
    patience_s: Seconds = 0.0
    """Seconds after which a user begins more beside what it waits for, up to five at once, so that
    a scheduler with long back-offs has pods to try. 0: one after the other; so do users that do not
    give up, or whose pods complete."""
    gives_up: bool = True
    """false: a user whose pods do not run within `wait_s` leaves everything there and creates
    nothing more, so that a pod that could run and never does is found."""

    @property
    def load_max_s(self) -> float:
        return max(self.duration_s, self.duration_max_s)

    @property
    def longest_s(self) -> float:
        return self.load_max_s + self.wait_s

    @property
    def surge_after_s(self) -> float:
        """The seconds after which a user begins something beside what it waits for; 0: never."""
        return self.patience_s if self.gives_up else 0.0


class ChurnTraffic(RepeatedWork):
    """Every user repeats: create a pod with a claim template, wait for Running, delete it."""

    profile: Literal["churn"]
    users: Users = 48
    """Users in all processes together; more than devices, so that devices are always scarce."""
    force_delete: bool = False
    """Delete pods with a grace period of zero, so that they are gone before their containers have
    stopped."""
    completes: bool = False
    """The containers end by themselves after the time for which a pod would be kept. A user deletes
    its finished pod when its next one has finished, too; the last one stays to the end."""
    claims_per_pod: Annotated[int, pydantic.Field(ge=1, le=8)] = 1
    """Claims of each pod, each from a template of its own."""
    one_template: bool = False
    """All claims of a pod come from the same template."""
    claims_lost: Probability = 0.0
    """Probability that a user deletes one of the claims of a pod as soon as they are recorded."""
    locustfile: str = ""
    """Path of a locustfile, from the current folder, or name of a traffic plug-in, whose users do
    something else than those of this profile; empty: these."""

    @property
    def surge_after_s(self) -> float:
        return 0.0 if self.completes else super().surge_after_s


class SharedTraffic(RepeatedWork):
    """Every user repeats: create a claim and several pods for it, wait for Running, delete all."""

    profile: Literal["shared"]
    users: Users = 24
    """Users in all processes together; more than devices, so that devices are always scarce."""
    pods_per_claim: Annotated[int, pydantic.Field(ge=1, le=RESERVATIONS_MAX)] = 4
    """Pods that share one claim; the API allows 256 reservations."""
    rounds: Annotated[int, pydantic.Field(ge=1, le=1000)] = 1
    """Sets of pods that use a claim, one after another, before it is deleted: it is freed when the
    pods of one set are gone, and allocated again for the next."""
    bound_by_hand: bool = False
    """Only the first pod of a claim is scheduled. Once it runs, the others are created with its
    node in `spec.nodeName`; the claim controller reserves the claim for them."""
    completes: bool = False
    """The containers of all pods but the first end by themselves after the time for which pods
    would be kept. The first one is kept on until they have finished, and for that time again."""


class LimitTraffic(WorkerKeys):
    """More pods for one claim than it can be reserved for; they wait for places and leave them.

    All pods are created at once. None ends before the claim is full; then each runs for a moment
    and is deleted, so that another one gets its place, until all have run.
    """

    profile: Literal["limit"]
    users: Users = 16
    """Users in all processes together; each creates its part of the pods."""
    pods: Pods = 300
    """Pods that share one claim; the API allows RESERVATIONS_MAX reservations at a time."""
    hold_s: Seconds = 1.0
    """Mean seconds for which a Running pod is kept once the claim is full (exponential, seeded)."""
    wait_s: Seconds = 60.0
    """Seconds to wait until the claim is full, and then for each pod until it is Running."""

    @property
    def places(self) -> int:
        return min(self.pods, RESERVATIONS_MAX)

    @property
    def longest_s(self) -> float:
        return 2 * self.wait_s


class ObjectsTraffic(RepeatedWork):
    """Every user repeats: create the objects of a file of manifests, wait for Running, delete all.

    The objects of one file belong together: its claims, and the pods of its Pods, Jobs and
    Deployments. Their names get the user's and a number before them, and references follow.
    """

    profile: Literal["objects"]
    objects: list[str] = []
    """Files of manifests, relative to the scenario's file (with `--set`: to the current folder):
    Pod, Job, CronJob, Deployment, ReplicaSet, PodGroup, ResourceClaim, ResourceClaimTemplate. With
    several files, users take them in turn."""
    sets: Annotated[list[set_specs.ObjectSet], pydantic.Field(max_length=set_specs.SETS_MAX)] = []
    """The content of these files; a scenario may have it here instead of in files."""
    users: Users = 16
    """Users in all processes together."""
    force_delete: bool = False
    """Delete pods with a grace period of zero, so that they are gone before their containers have
    stopped."""

    @pydantic.model_validator(mode="after")
    def _require_objects(self) -> Self:
        if not self.sets:
            raise ValueError(
                'objects: expected files of manifests, as in objects = ["job.yaml"], got none'
            )
        return self


TimedTraffic: TypeAlias = ChurnTraffic | SharedTraffic | ObjectsTraffic
"""Traffic that goes on for a time; the other profiles create a number of pods."""
LoadTraffic: TypeAlias = (
    AllAtOnceTraffic | ChurnTraffic | SharedTraffic | LimitTraffic | ObjectsTraffic
)
"""Traffic of Locust's users."""
TrafficSpec: TypeAlias = Annotated[
    AllAtOnceTraffic
    | ChurnTraffic
    | SharedTraffic
    | LimitTraffic
    | ObjectsTraffic
    | script_specs.ScriptTraffic,
    pydantic.Field(discriminator="profile"),
]
