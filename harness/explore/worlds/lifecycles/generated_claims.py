"""The claim controller generates claims: exactly one for each entry of a pod, which uses it."""

from collections.abc import Iterable, Sequence

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.cluster.fake_nodes import kubelets
from harness.explore.runtime import scheduler
from harness.explore.worlds import world_fixtures, world_specs
from harness.explore.worlds.lifecycles import controlled_world
from harness.model.objects import Object

RUNNING = b'"phase":"Running"'


class TemplateUsers(controlled_world.ControlledWorld):
    """Users who each create a pod with a claim template, wait until it runs, delete it, and wait
    until it is gone, in several rounds."""

    claim_count = 0

    def __init__(
        self,
        spec: world_specs.WorldSpec,
        runtime: scheduler.ControlledRuntime,
        *,
        defects: Sequence[str],
        remedies: Sequence[str] = (),
    ) -> None:
        super().__init__(spec, runtime, defects=defects, remedies=remedies)
        self._waiting: dict[tuple[str, str], concurrency.Event] = {}
        self._done = 0
        """Number of users who have finished all rounds."""

    def start_others(self) -> None:
        super().start_others()
        self.store.listen(self._on_commit)
        kubelets.Kubelets(
            apis.Api(self.server), namespace=None, now=lambda: world_fixtures.NOW
        ).start()

    def begin(self) -> None:
        """Start the users."""
        for number in range(self.sizes["users"]):
            self._spawn(number + 1)

    def _spawn(self, number: int) -> None:
        concurrency.spawn(f"user-{number}", lambda: self._use(number))

    def _use(self, number: int) -> None:
        for turn in range(self.sizes["rounds"]):
            name = f"pod-{number}-{turn + 1}"
            running, gone = self._event(name, "Running"), self._event(name, "gone")
            self.api.create(
                apis.PODS, world_fixtures.pod_of_template(name), namespace=world_fixtures.NAMESPACE
            )
            running.wait()
            self.api.delete(apis.PODS, name, namespace=world_fixtures.NAMESPACE)
            gone.wait()
        self._done += 1

    def _event(self, name: str, goal: str) -> concurrency.Event:
        event = self._waiting[name, goal] = concurrency.Event(f"user.{goal}")
        return event

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        if commit.resource is not resources.PODS:
            return
        goal = "gone" if commit.type == "DELETED" else "Running"
        if goal == "gone" or RUNNING in commit.object.data:
            event = self._waiting.pop((commit.object.name, goal), None)
            if event is not None:
                event.set()

    def unfinished(self) -> str | None:
        """Return whether a user is not done."""
        if self._done >= self.sizes["users"]:
            return None
        return f"stuck: {self._done} users are done, expected {self.sizes['users']}"


CONTROLLER_FAULTS = ("lose-response", "lose-request", "delay-request")


class GeneratedClaims(controlled_world.ControlledWorld):
    """A pod with several entries, a controller with two workers, and no scheduler.

    Events are late wherever the informers' threads are.
    """

    schedulers_named = ()

    def objects(self) -> Iterable[Object]:
        """Return nothing: no claim is allocated here."""
        return ()

    def begin(self) -> None:
        """Create the pod."""
        pod = world_fixtures.pod_of_template("pod-1")
        entry = pod["spec"]["resourceClaims"][0]
        pod["spec"]["resourceClaims"] = [
            {**entry, "name": f"entry-{number}"} for number in range(1, self.sizes["entries"] + 1)
        ]
        self.create(pod)

    def unfinished(self) -> str | None:
        """Return whether an entry has no claim, or is not recorded with it."""
        return None if self.is_known_to_fail else self.without_claim()


class AnnotatedTemplate(GeneratedClaims):
    """Pods whose claims come from one template with annotations, each for an entry of its own."""

    def new_template(self) -> Object:
        template = super().new_template()
        template["spec"]["metadata"] = {"annotations": {"example.com/team": "a"}}
        return template

    def begin(self) -> None:
        """Create the pods."""
        for number in range(1, self.sizes["pods"] + 1):
            pod = world_fixtures.pod_of_template(f"pod-{number}")
            pod["spec"]["resourceClaims"][0]["name"] = f"entry-{number}"
            self.create(pod)


WORLDS: dict[str, world_specs.WorldSpec] = {
    "one-claim-per-entry": controlled_world.spec(
        GeneratedClaims,
        "a controller with two workers generates the claims of a pod; events are late",
        faults=("touch-objects",),
        entries=(2, 1),
        faults_max=(2, 0),
    ),
    "annotated-template": controlled_world.spec(
        AnnotatedTemplate,
        "two workers generate claims from one template that has annotations",
        pods=(2, 2),
    ),
    "creation-without-answer": controlled_world.spec(
        GeneratedClaims,
        "H8: the answer to the creation of a claim is lost, and its event is late",
        faults=CONTROLLER_FAULTS,
        entries=(1, 1),
        faults_max=(1, 0),
    ),
    "two-users-one-device": controlled_world.spec(
        TemplateUsers,
        "two users create, run and delete pods in turn, with claim controller and kubelet",
        devices=(1, 1),
        binders=world_specs.ANY_BINDERS,
        users=(2, 1),
        rounds=(2, 1),
    ),
}
