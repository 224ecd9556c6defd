"""A small world in one run: objects in a new store, an API server, and the parts under test.

A world is data: its parts, and the oracles that judge it. Those with actors of their own are
classes below this one.
"""

import dataclasses
import functools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from harness import concurrency
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.cluster.dra import node_claims
from harness.cluster.fake_nodes import kubelets
from harness.explore.runtime import scheduler
from harness.explore.worlds import (
    actions,
    api_server,
    chosen_parts,
    moments,
    parts,
    world_fixtures,
    world_specs,
)
from harness.explore.worlds.oracles import device_oracles, preparations, rest_judges, states
from harness.model.objects import Object
from harness.scenario import driver_specs
from harness.subject.claim_control import claim_controllers
from harness.subject.extended_resources import extended_claims
from harness.subject.scheduling import node_search, schedulers

_O = TypeVar("_O")
BACKOFF_S = 0.1
"""Wait of a pod after each failed attempt, in seconds."""
WORKERS = 2
"""Number of workers of the claim controller, and of the kubelets."""
TERMINATION_S = 0.1
"""Duration of the end of containers, in seconds."""
GENERAL: Sequence[world_specs.Judge] = (
    rest_judges.without_claims,
    rest_judges.stuck,
    rest_judges.differing_books,
    rest_judges.left_by_controller,
    rest_judges.without_devices,
)
"""The judges of a world at rest."""


class World:
    """A world, created for a single run."""

    def __init__(
        self,
        spec: world_specs.WorldSpec,
        runtime: scheduler.ControlledRuntime,
        *,
        defects: Sequence[str],
        remedies: Sequence[str] = (),
    ) -> None:
        self.spec, self.sizes, self.runtime = spec, spec.values, runtime
        self.setting = spec.setting(self.sizes)
        self._is_known_to_fail = spec.is_known_to_fail(remedies)
        self._unremedied = [
            hazard for hazard in spec.drawn_hazards(self.setting) if hazard.remedy not in remedies
        ]
        self.moments = moments.Moments(self.setting, self.perform)
        self._actions = actions.Actions(self)
        self._waiting_for_rest = [p for p in self.setting.parts if p.when == parts.AT_REST]
        self._was_controlled = False
        self.controller: claim_controllers.ClaimController | None = None
        self._past = world_fixtures.past([*self.objects()])
        self.store = stores.Store(
            now=lambda: world_fixtures.NOW,
            stream=random.Random(2),
            past=self._past,
            track_managers=False,  # no one reads managedFields here
        )
        self._oracles = [make() for make in spec.oracles]
        self._known = states.Known()
        self.prepared = self.oracle(preparations.Preparations)
        self.granted = self.oracle(device_oracles.GrantedDevices)
        self.listen(self._judge)
        self._faults = [part.name for part in self.setting.of_kind("fault")]
        is_first = bool(self.sizes.get("answers_first"))
        self.server = self._new_server(self._faults, answers_first=is_first)
        self.api = apis.Api(self.server)
        """The API as users see it who suffer from its faults."""
        self.parts = chosen_parts.of(defects, [*dict.fromkeys([*remedies, *spec.remedies])])
        self.schedulers = [self.new_scheduler(name) for name in self.scheduler_names()]

    # ----------------------------------------------------------------- what is in the world

    def objects(self) -> Iterable[Object]:
        """Return the nodes, and everything that is there from the start."""
        # Where no claim asks for admin access, the API server must refuse it.
        asked = self.setting.of_kind("claim")
        is_admin = any("adminAccess" in str(part.documents) for part in asked)
        yield world_fixtures.namespace(is_admin=is_admin)
        yield world_fixtures.device_class()
        for node in self.setting.nodes:
            yield world_fixtures.node(node)
        for part in self.setting.parts:
            if part.when == parts.START:
                yield from part.documents

    def _new_server(
        self, faults: Sequence[str], *, answers_first: bool = False
    ) -> api_server.LocalServer:
        is_prompt = self.setting.does("fail_over") and api_server.OF_BINDINGS not in faults
        return api_server.LocalServer(
            self.store,
            self.runtime,
            faults=faults,
            faults_max=self.sizes.get("faults_max", 0),
            answers_first=answers_first,
            has_prompt_bindings=is_prompt,
            related=self.spec.related(self.setting),
        )

    @functools.cached_property
    def clients(self) -> apis.Api:
        """The API as other clients see it: their deletions only have faults."""
        faults = [name for name in self._faults if name == api_server.OVERLOOKED]
        return apis.Api(self._new_server(faults))

    def scheduler_names(self) -> Sequence[str]:
        is_second = self.setting.has((parts.SECOND_SCHEDULER,))
        return (*self.setting.schedulers, *([world_fixtures.OTHER_SCHEDULER] if is_second else []))

    def new_scheduler(
        self, name: str, api: apis.Api | None = None, *, backoff_s: float = BACKOFF_S
    ) -> schedulers.Scheduler:
        """Return a scheduler that is not started, a client of its own."""
        options = schedulers.SchedulerOptions(
            scheduler_name=name,
            binders=self.sizes.get("binders", 0),
            idle_binders_max=0,
            backoff_initial_s=backoff_s,
            backoff_max_s=backoff_s,
            reserve_by="patch" if self.sizes.get("patch") else "update",
            search=node_search.SearchOptions(parallelism=self.sizes.get("threads", 1)),
        )
        known = self._actions.knowing_rules(self.parts.scheduler)
        return schedulers.Scheduler(api or apis.Api(self.server), options, known)

    # ------------------------------------------------------------------------- what happens

    def start(self) -> None:
        """Start all actors that are there from the start, and let them come to rest."""
        starting: list[Callable[[], None]] = [subject.start for subject in self.schedulers]
        actors = [p for p in self.setting.of_kind("actor") if p.when == parts.START]
        starting += [functools.partial(self.perform, part) for part in actors]
        for start in starting:
            concurrency.spawn("start", start)
            self.runtime.run(explore=False)

    def begin(self) -> None:
        """Create what comes at the beginning, and start a task for all that comes later."""
        if self.moments.are_awaited:
            self.store.listen(self.moments.on_commit)
        self.granted.rested()
        for part in self.setting.parts:
            if part.when == parts.BEGIN:
                self.perform(part)
            elif part.is_at_once:
                self.moments.perform_at(part)
            elif part.when not in (parts.START, parts.AT_REST):
                concurrency.spawn(f"client-{part.name}", functools.partial(self._later, part))
        if self.setting.has((parts.DEVICE_DRIVER,)):
            concurrency.spawn("device-driver", self._actions.report_devices)

    def _later(self, part: parts.Part) -> None:
        """Wait for the moments of a part, then let it happen."""
        if part.when != parts.ANY_TIME:
            for moment in part.when.split(", "):
                self.moments.wait(moment)
        self.runtime.point()
        self.perform(part)

    def perform(self, part: parts.Part) -> None:
        """Let a part happen, at once."""
        if part.name == parts.CONTROLLER:
            self._start_controller(part)
        elif part.name == parts.KUBELETS:
            self._start_kubelets(part)
        elif part.does:
            getattr(self._actions, part.does)(part.target)
        else:
            for document in part.documents:
                self.create(document)

    def _start_controller(self, part: parts.Part) -> None:
        self._was_controlled = True
        options = claim_controllers.ControllerOptions(
            workers=WORKERS, evicts=part.target == parts.EVICTING
        )
        api = apis.Api(self.server)
        self.controller = claim_controllers.ClaimController(api, options, self.parts.controller)
        self.controller.start()

    def _start_kubelets(self, part: parts.Part) -> None:
        driver = preparations.observed(self.parts.kubelet.driver, self.prepared)
        options = node_claims.NodeClaimsOptions(
            driver=driver_specs.DriverSpec(
                exclusivity=part.target != parts.UNGUARDED,
                termination_s=TERMINATION_S,
                unprepare=driver_specs.CallSpec(delay_s=preparations.UNPREPARE_S),
            ),
            parts=dataclasses.replace(self.parts.kubelet, driver=driver),
        )
        api = apis.Api(self.server)
        kubelets.Kubelets(
            api,
            node_claims.NodeClaims(api, options),
            namespace=None,
            now=lambda: world_fixtures.NOW,
            workers=WORKERS,
        ).start()

    def go_on(self) -> bool:
        """Have the watches deliver everything, then let the next part happen that waits.

        Return False if nothing is left.
        """
        if self.server.deliver_all():
            return True
        if self.controller is None and self._was_controlled:
            [part] = [p for p in self.setting.parts if p.name == parts.CONTROLLER]
            concurrency.spawn("start", lambda: self._start_controller(part))
            return True
        if not self._waiting_for_rest or self._time_is_over():
            return False
        self.granted.rested()
        part = self._waiting_for_rest.pop(0)
        if part.kind == "actor" or part.does:
            concurrency.spawn(f"client-{part.name}", lambda: self.perform(part))
        else:
            self.perform(part)
        return True

    def create(self, document: Object) -> None:
        """Create an object as another client, at once."""
        copied = msgspec.json.decode(msgspec.json.encode(document))  # faster than deepcopy
        with self.runtime.atomically():
            world_fixtures.create(self.store, copied)

    def start_successor(self) -> None:
        """Replace the first scheduler, which was stopped, by one of the same name.

        The old one takes no new pod but continues what it has begun; the new one starts from a
        list.
        """
        successor = self.new_scheduler(self.scheduler_names()[0])
        self.schedulers[:] = [successor]
        successor.start()

    # ------------------------------------------------------------------------- what is judged

    def oracle(self, kind: type[_O]) -> _O:
        """Return the oracle of this kind, or one that judges nothing."""
        return next((item for item in self._oracles if isinstance(item, kind)), kind())

    def listen(self, listener: world_specs.Listener) -> None:
        """Call the listener for every commit, beginning with those that created the world."""
        for commit in self._past.objects:
            listener(commit)
        self.store.listen(listener)

    def _judge(self, commit: watch_cache.Commit) -> None:
        seen = self._known.see(commit)
        for oracle in self._oracles:
            if seen is not None:
                oracle.on_seen(seen)
            if oracle.finding is not None:
                self.runtime.finish()

    @property
    def finding(self) -> str | None:
        """Description of the first violation in a commit; None if there is none.

        Its first word is the kind of the finding, which shrinking keeps.
        """
        found = (oracle.finding for oracle in self._oracles)
        return self._named(next(filter(None, found), None))

    def unfinished(self) -> str | None:
        """Describe what is wrong although nothing moves; None if all is as it should be."""
        if self._time_is_over():
            return None
        self.granted.rested()
        judges = self.spec.at_rest
        if judges is None:
            judges = () if self._is_known_to_fail else GENERAL
        state = states.State(
            pods=list(self.documents(resources.PODS)),
            claims=list(self.documents(resources.CLAIMS)),
            slices=list(self.documents(resources.SLICES)),
            nodes=list(self.documents(resources.NODES)),
            schedulers=self.scheduler_names(),
            books=[subject.write_books for subject in self.schedulers],
            is_controlled=self.controller is not None,
            tainted=frozenset(self.granted.tainted_drivers),
        )
        return self._named(next(filter(None, (judge(state) for judge in judges)), None))

    def _named(self, finding: str | None) -> str | None:
        """Return the finding with the names of the hazards that are not remedied."""
        if finding is None or not self._unremedied:
            return finding
        known = ", ".join(f"{it.id} without {it.remedy}" for it in self._unremedied)
        return f"{finding} (the world has known hazards: {known})"

    def _time_is_over(self) -> bool:
        return self.runtime.monotonic_ns() > self.spec.judged_s * 1e9

    def documents(self, resource: resources.ResourceType) -> Iterator[Object]:
        """Yield the objects of a resource, ordered by namespace and name."""
        selection = watch_cache.Selection(resource=resource)
        for stored in self.store.select(selection):
            yield stored.document()

    def names(self) -> dict[str, str]:
        """Return names by uid, of claims that no commit shows: a pod's for extended resources."""
        return {
            extended_claims.in_memory(pod)["metadata"]["uid"]: f"the claim of {name}"
            for pod in self.documents(resources.PODS)
            if states.extended_claims(pod)
            for name in [pod["metadata"]["name"]]
        }
