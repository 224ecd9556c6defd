"""Users who create, run and delete pods in turn, with the claim controller and the kubelets."""

from collections.abc import Sequence

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.cluster.fake_nodes import kubelets
from harness.explore.runtime import scheduler
from harness.explore.worlds import world_fixtures, world_specs
from harness.explore.worlds.lifecycles import controlled_world

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
        """Start the claim controller and the kubelets."""
        super().start_others()
        self.store.listen(self._on_commit)
        kubelets.Kubelets(self.api, namespace=None, now=lambda: world_fixtures.NOW).start()

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


WORLDS: dict[str, world_specs.WorldSpec] = {
    "two-users-one-device": controlled_world.spec(
        TemplateUsers,
        "two users create, run and delete pods in turn, with claim controller and kubelet",
        devices=(1, 1),
        binders=world_specs.ANY_BINDERS,
        users=(2, 1),
        rounds=(2, 1),
    ),
}
