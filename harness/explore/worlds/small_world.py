"""A small world: objects in a new store, an API server, and the scheduler under test.

Every world is a class that says which objects it has, which actors besides the scheduler, what
happens, and which oracles judge it.
"""

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from harness import concurrency
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.explore.runtime import scheduler
from harness.explore.worlds import (
    api_server,
    chosen_parts,
    world_fixtures,
    world_specs,
)
from harness.explore.worlds.oracles import (
    device_exclusivity,
    protocol,
    runnable_pods,
    scheduler_books,
)
from harness.model.objects import Object
from harness.subject.scheduling import schedulers

BACKOFF_S = 0.1
"""Wait of a pod after each failed attempt, in seconds."""


class SmallWorld:
    """One world, created for a single run; with one scheduler and no other actor."""

    device_count, claim_count = 1, 1
    """Number of devices of the node, and of claims, where the world has no size for it."""
    schedulers_named: Sequence[str] = (world_fixtures.SCHEDULER,)
    """Names of the schedulers, one for each."""
    judged_by: Sequence[Callable[[], protocol.Oracle]] = (device_exclusivity.DeviceExclusivity,)
    """The oracles that judge every commit."""

    def __init__(
        self,
        spec: world_specs.WorldSpec,
        runtime: scheduler.ControlledRuntime,
        *,
        defects: Sequence[str],
        remedies: Sequence[str] = (),
    ) -> None:
        self.sizes, self.runtime = spec.values, runtime
        self.is_known_to_fail = spec.is_known_to_fail(remedies)
        self._past = world_fixtures.past(list(self.objects()))
        self.store = self.new_store(self._past)
        self._judges = protocol.Oracles(self.oracles(), runtime.finish)
        self.listen(self._judges.on_commit)
        self.server = api_server.LocalServer(
            self.store,
            runtime,
            faults=spec.faults,
            faults_max=self.sizes.get("faults_max", 0),
            answers_first=spec.answers_first,
            spared=self.spared_writes(),
            prompt=self.prompt_writes(),
            related=self.related_resources(),
        )
        self.api = apis.Api(self.server)
        """The API as users see it, and everyone else who is no part under test."""
        """How many schedulers of each name were made."""
        self.parts = chosen_parts.of(defects, remedies)
        self.schedulers = [self.new_scheduler(name) for name in self.scheduler_names()]

    # ----------------------------------------------------------------- what is in the world

    def objects(self) -> Iterable[Object]:
        """Return the initial objects, in the order of their creation.

        They are a node with devices, and claims: as many as the sizes of the world say, or these
        attributes.
        """
        return world_fixtures.one_node(
            self.sizes.get("devices", self.device_count),
            claims=self.sizes.get("claims", self.claim_count),
        )

    def scheduler_names(self) -> Sequence[str]:
        return self.schedulers_named

    def oracles(self) -> Iterable[protocol.Oracle]:
        """Return the oracles that judge every commit."""
        return [make() for make in self.judged_by]

    def spared_writes(self) -> str | None:
        """Return the end of the paths whose writes have no fault; None: none has."""
        return None

    def prompt_writes(self) -> str | None:
        """Return the end of the paths whose writes are committed when they are sent; None: none."""
        return None

    def related_resources(self) -> Collection[str] | None:
        """Return the resources between whose commits the order matters; None: all of them.

        It matters to an oracle that looks at several resources, and to a world that goes by what it
        has seen of them. Returned are plural names.
        """
        return None

    def new_store(self, past: watch_cache.Past) -> stores.Store:
        """Return the store of the API server."""
        return stores.Store(
            now=lambda: world_fixtures.NOW,
            stream=random.Random(2),
            past=past,
            track_managers=False,  # no one reads managedFields here
        )

    def new_scheduler(self, name: str) -> schedulers.Scheduler:
        """Return a scheduler that is not started."""
        return self.scheduler_of(name, self.parts.scheduler)

    def scheduler_of(self, name: str, parts: schedulers.SchedulerParts) -> schedulers.Scheduler:
        """Return a scheduler of these parts that is not started, a client of its own."""
        api = apis.Api(self.server)
        return schedulers.Scheduler(api, self.scheduler_options(name), parts)

    def scheduler_options(self, name: str) -> schedulers.SchedulerOptions:
        return schedulers.SchedulerOptions(
            scheduler_name=name,
            binders=self.sizes["binders"],
            idle_binders_max=0,
            backoff_initial_s=BACKOFF_S,
            backoff_max_s=BACKOFF_S,
        )

    # ------------------------------------------------------------------------- what happens

    def start(self) -> None:
        """Start all parts and let them come to rest, without choices."""
        for subject in self.schedulers:
            concurrency.spawn("start", subject.start)
            self.runtime.run(explore=False)

    def begin(self) -> None:
        """Let the first things happen; the following run is explored."""
        raise NotImplementedError

    def go_on(self) -> bool:
        """Let happen what comes when all is at rest; return False if nothing is left."""
        return False

    def create(self, document: Object) -> None:
        """Create an object of the namespace as another client, at once."""
        resource = world_fixtures.resource_of(document)
        self.store.create(resource, world_fixtures.NAMESPACE, document)

    def start_successor(self) -> None:
        """Replace the first scheduler, which was stopped, by one of the same name.

        The old one takes no new pod but continues what it has begun; the new one starts from a
        list.
        """
        successor = self.new_scheduler(self.scheduler_names()[0])
        self.schedulers[:] = [successor]
        successor.start()

    def stop_scheduler(self) -> None:
        """Stop the first scheduler, as when its process ends."""
        self.schedulers[0].stop()

    # ------------------------------------------------------------------------- what is judged

    def state(self) -> runnable_pods.State:
        """Return what the API server has, for the oracles that judge it at rest."""
        return runnable_pods.State(
            pods=list(self.documents(resources.PODS)),
            claims=list(self.documents(resources.CLAIMS)),
            slices=list(self.documents(resources.SLICES)),
            nodes=list(self.documents(resources.NODES)),
        )

    @property
    def finding(self) -> str | None:
        """Description of the first violation in a commit; None if there is none."""
        return self._judges.finding

    def unfinished(self) -> str | None:
        """Describe what is wrong although nothing moves; None if all is as it should be.

        Every pod must be bound, and the books of all schedulers must agree with the API. Where the
        subject is known to fail, nothing of that is expected.
        """
        if self.is_known_to_fail:
            return None
        return self.unbound() or self.differing_books()

    def unbound(self) -> str | None:
        """Return which pods are not bound; None if all are."""
        pods = self.documents(resources.PODS)
        waiting = [pod["metadata"]["name"] for pod in pods if "nodeName" not in pod["spec"]]
        return f"stuck: {', '.join(waiting)} not bound" if waiting else None

    def differing_books(self) -> str | None:
        """Return how the books of a scheduler differ from the API; None if none do."""
        claims = list(self.documents(resources.CLAIMS))
        for subject in self.schedulers:
            difference = scheduler_books.difference(subject.write_books, claims)
            if difference is not None:
                return difference
        return None

    def documents(self, resource: resources.ResourceType) -> Iterator[Object]:
        """Yield the objects of a resource, ordered by namespace and name."""
        selection = watch_cache.Selection(resource=resource)
        for stored in self.store.select(selection):
            yield stored.document()

    def names(self) -> dict[str, str]:
        """Return names by uid, of claims and pods that no commit shows: none."""
        return {}

    def listen(self, listener: world_specs.Listener) -> None:
        """Call the listener for every commit, beginning with those that created the world."""
        for resource, stored in self._past.objects:
            listener(
                watch_cache.Commit(resource=resource, type="ADDED", object=stored, previous=None)
            )
        self.store.listen(listener)
