"""A drawn world in one run: its objects, its actors, what happens, and its oracles."""

import copy
import dataclasses
import functools
from collections.abc import Iterable, Sequence

from harness import concurrency
from harness.client import apis
from harness.cluster.dra import node_claims
from harness.cluster.fake_nodes import kubelets
from harness.explore.runtime import scheduler
from harness.explore.worlds import (
    api_server,
    small_world,
    world_fixtures,
    world_specs,
)
from harness.explore.worlds.oracles import (
    asked_devices,
    claim_entries,
    device_exclusivity,
    device_shares,
    granted_devices,
    leftovers,
    preparations,
    protocol,
    reservations,
    runnable_pods,
)
from harness.explore.worlds.random_worlds import (
    action_drawing,
    actions,
    drawings,
    known_hazards,
    pod_drawing,
)
from harness.explore.worlds.scheduling import tried_devices
from harness.model.objects import Object
from harness.scenario import driver_specs
from harness.subject.claim_control import claim_controllers
from harness.subject.scheduling import node_search, schedulers
from harness.subject.slice_tracking import slice_trackers

WORKERS = 2
"""Number of workers of the claim controller, and of the kubelets."""
UNPREPARE_S, TERMINATION_S = 0.05, 0.1
"""Duration of an unpreparation, and of the end of containers, in seconds."""
JUDGED_S = 4.0
"""Virtual seconds after which timers may be cut off, so that nothing is expected any more."""


class RandomWorld(small_world.SmallWorld):
    """The world that a drawing describes, without the parts whose size is 0."""

    def __init__(
        self,
        spec: world_specs.WorldSpec,
        runtime: scheduler.ControlledRuntime,
        *,
        defects: Sequence[str],
        remedies: Sequence[str] = (),
        drawing: drawings.Drawing,
    ) -> None:
        self.drawing = drawing.included(spec.values)
        self.moments = drawings.Moments()
        self._trackers: list[slice_trackers.SliceTracker] = []
        """Those of all schedulers, also of the ones that have stopped."""
        self._rules: list[Object] = []
        """The DeviceTaintRules; the API server of the worlds does not keep them."""
        self._granted = granted_devices.GrantedDevices()
        self._prepared = preparations.Preparations(unprepare_s=UNPREPARE_S)
        self._was_controlled = False
        self.controller: claim_controllers.ClaimController | None = None
        faults = tuple(part.name for part in self.drawing.of_kind("fault"))
        is_first = bool(spec.values.get("answers_first"))
        with tried_devices.list_attributes():
            super().__init__(
                dataclasses.replace(spec, faults=faults, answers_first=is_first),
                runtime,
                defects=defects,
                remedies=remedies,
            )
        self.clients = apis.Api(api_server.LocalServer(self.store, runtime))
        """The API as other clients see it, without faults."""
        self._actions = actions.Actions(self)
        self._waiting_for_rest = [
            part for part in self.drawing.parts if part.when == drawings.AT_REST
        ]
        self._unremedied = [
            hazard for hazard in known_hazards.of(self.drawing) if hazard.remedy not in remedies
        ]

    # ----------------------------------------------------------------- what is in the world

    def objects(self) -> Iterable[Object]:
        """Return the nodes, and everything that is there from the start."""
        yield world_fixtures.admin_namespace()
        yield world_fixtures.device_class()
        for node in self.drawing.nodes:
            yield world_fixtures.node(node)
        for part in self.drawing.parts:
            if part.when == drawings.START:
                yield from part.documents

    def scheduler_names(self) -> Sequence[str]:
        is_second = self.drawing.has(("scheduler-2",))
        return (world_fixtures.SCHEDULER, *([pod_drawing.SECOND_SCHEDULER] if is_second else []))

    def scheduler_options(self, name: str) -> schedulers.SchedulerOptions:
        return dataclasses.replace(
            super().scheduler_options(name),
            reserve_by="patch" if self.sizes.get("patch") else "update",
            search=node_search.SearchOptions(parallelism=self.sizes.get("threads", 1)),
        )

    def new_scheduler(self, name: str) -> schedulers.Scheduler:
        """Return a scheduler whose slice tracker learns of rules."""
        parts = actions.with_known_tracker(self.parts.scheduler, self._know_tracker)
        return self.scheduler_of(name, parts)

    def add_rule(self, rule: Object) -> None:
        """Let a DeviceTaintRule for all devices of a driver come, as from the informer of rules."""
        self._granted.taint_driver(rule["spec"]["deviceSelector"]["driver"])
        self._rules.append(rule)
        for tracker in tuple(self._trackers):
            tracker.rules.on_add(rule, initial=False)

    def _know_tracker(self, tracker: slice_trackers.SliceTracker) -> None:
        """Give a new scheduler's tracker the rules that there are, as its first list would."""
        self._trackers.append(tracker)
        for rule in self._rules:
            tracker.rules.on_add(rule, initial=True)

    def oracles(self) -> Iterable[protocol.Oracle]:
        """Return all oracles of allocations, reservations and generated claims."""
        return (
            device_exclusivity.DeviceExclusivity(),
            device_shares.DeviceShares(),
            self._granted,
            reservations.Reservations(),
            claim_entries.ClaimEntries(),
            reservations.AllocationFinalizers(exempt=(action_drawing.HOLDER,)),
            asked_devices.ReadyDevices(),
            self._prepared,
        )

    def spared_writes(self) -> str:
        """Return the path of bindings: without an answer to one, H10 shows."""
        return "/binding"

    def prompt_writes(self) -> str | None:
        """Return the path of bindings where a scheduler is restarted: a late one shows H19."""
        return "/binding" if self.drawing.does("fail_over") else None

    # ------------------------------------------------------------------------- what happens

    def start(self) -> None:
        """Start the schedulers, then the actors that are there from the start."""
        super().start()
        for part in self.drawing.of_kind("actor"):
            if part.when == drawings.START:
                concurrency.spawn("start", functools.partial(self.start_actor, part.name))
                self.runtime.run(explore=False)

    def start_actor(self, name: str) -> None:
        """Start the claim controller or the kubelets; the others are there already."""
        if name == pod_drawing.CONTROLLER:
            self._was_controlled = True
            options = claim_controllers.ControllerOptions(workers=WORKERS)
            self.controller = claim_controllers.ClaimController(
                apis.Api(self.server), options, self.parts.controller
            )
            self.controller.start()
        elif name == "kubelets":
            self._start_kubelets()

    def _start_kubelets(self) -> None:
        driver = preparations.observed(self.parts.kubelet.driver, self._prepared)
        options = node_claims.NodeClaimsOptions(
            driver=driver_specs.DriverSpec(
                exclusivity=True,
                termination_s=TERMINATION_S,
                unprepare=driver_specs.CallSpec(delay_s=UNPREPARE_S),
            ),
            parts=dataclasses.replace(self.parts.kubelet, driver=driver),
        )
        api = apis.Api(self.server)
        kubelets.Kubelets(
            api,
            namespace=None,
            now=lambda: world_fixtures.NOW,
            claims=node_claims.NodeClaims(api, options),
            workers=WORKERS,
        ).start()

    def begin(self) -> None:
        """Create what comes at the beginning, and start a task for all that comes later."""
        self.store.listen(self.moments.on_commit)
        self._granted.rested()
        for part in self.drawing.parts:
            if part.when == drawings.BEGIN:
                self._actions.perform(part)
            elif part.when not in (drawings.START, drawings.AT_REST):
                concurrency.spawn(f"client-{part.name}", functools.partial(self._later, part))
        if self.drawing.has(("device-driver",)):
            concurrency.spawn("device-driver", self._actions.report_devices)

    def _later(self, part: drawings.Part) -> None:
        """Wait for the moment of a part, then let it happen."""
        if part.when != drawings.ANY_TIME:
            self.moments.wait(part.when)
        self.runtime.point()
        self._actions.perform(part)

    def go_on(self) -> bool:
        """Have the watches deliver everything, then let the next part happen that waits."""
        if self.server.deliver_all():
            return True
        if self.controller is None and self._was_controlled:
            concurrency.spawn("start", lambda: self.start_actor(pod_drawing.CONTROLLER))
            return True
        if not self._waiting_for_rest or self._time_is_over():
            return False
        self._granted.rested()
        part = self._waiting_for_rest.pop(0)
        if part.kind == "actor" or part.does:
            concurrency.spawn(f"client-{part.name}", lambda: self._actions.perform(part))
        else:
            self._actions.perform(part)
        return True

    def create(self, document: Object) -> None:
        """Create an object as another client, at once."""
        resource = world_fixtures.resource_of(document)
        namespace = world_fixtures.NAMESPACE if resource.namespaced else ""
        with self.runtime.atomically():
            self.store.create(resource, namespace, copy.deepcopy(document))

    # ------------------------------------------------------------------------- what is judged

    @property
    def finding(self) -> str | None:
        """Description of the first violation in a commit; None if there is none."""
        return self._named(super().finding)

    def unfinished(self) -> str | None:
        """Describe what is wrong at rest: a pod that could run, wrong books, things left behind."""
        if self._time_is_over():
            return None
        self._granted.rested()
        return self._named(
            self._stuck() or self.differing_books() or self._left_behind() or self._not_granted()
        )

    def _named(self, finding: str | None) -> str | None:
        """Return the finding with the names of the hazards that are not remedied."""
        if finding is None or not self._unremedied:
            return finding
        known = ", ".join(
            f"{hazard.hypothesis} without {hazard.remedy}" for hazard in self._unremedied
        )
        return f"{finding} (the world has known hazards: {known})"

    def _time_is_over(self) -> bool:
        return self.runtime.monotonic_ns() > JUDGED_S * 1e9

    def state(self) -> runnable_pods.State:
        """Return what the API server has, and which drivers have tainted devices."""
        tainted = frozenset(self._granted.tainted_drivers)
        return dataclasses.replace(super().state(), tainted=tainted)

    def _stuck(self) -> str | None:
        return runnable_pods.stuck(self.state(), self.scheduler_names())

    def _left_behind(self) -> str | None:
        if self.controller is None:
            return None
        state = self.state()
        return leftovers.of_controller(state) or leftovers.without_claims(state)

    def _not_granted(self) -> str | None:
        return leftovers.of_extended_pods(self.state())
