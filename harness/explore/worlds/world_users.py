"""Users of a world, with the claim controller and the kubelets that they need, both unchanged."""

from typing import Any

from harness import concurrency
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.client import apis, transports
from harness.cluster.fixtures import kubelets
from harness.explore.worlds import world_fixtures
from harness.subject.claim_control import claim_controllers

Object = dict[str, Any]
TEMPLATE = "template"
RUNNING = b'"phase":"Running"'


class Users:
    """Users who each create a pod, wait until it runs, delete it, and wait until it is gone."""

    def __init__(
        self, transport: transports.Transport, store: stores.Store, *, rounds: int
    ) -> None:
        self._transport, self._store, self._rounds = transport, store, rounds
        self._waiting: dict[tuple[str, str], concurrency.Event] = {}
        self.done = 0
        """Number of users who have finished all rounds."""

    def start_others(self) -> None:
        """Start the claim controller and the kubelets."""
        self._store.create(resources.CLAIM_TEMPLATES, world_fixtures.NAMESPACE, _template())
        self._store.listen(self._on_commit)
        chosen = claim_controllers.ControllerOptions(workers=2)
        claim_controllers.ClaimController(apis.Api(self._transport), chosen).start()
        kubelets.Kubelets(
            apis.Api(self._transport), namespace=None, now=lambda: world_fixtures.NOW
        ).start()

    def spawn(self, number: int) -> None:
        """Start a user."""
        concurrency.spawn(f"user-{number}", lambda: self._use(number))

    def _use(self, number: int) -> None:
        api = apis.Api(self._transport)
        for turn in range(self._rounds):
            name = f"pod-{number}-{turn + 1}"
            running, gone = self._event(name, "Running"), self._event(name, "gone")
            api.create(apis.PODS, _pod(name), namespace=world_fixtures.NAMESPACE)
            running.wait()
            api.delete(apis.PODS, name, namespace=world_fixtures.NAMESPACE)
            gone.wait()
        self.done += 1

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


def _template() -> Object:
    request = {"name": "device", "exactly": {"deviceClassName": world_fixtures.DEVICE_CLASS}}
    return {
        "apiVersion": apis.CLAIM_TEMPLATES.api_version,
        "kind": apis.CLAIM_TEMPLATES.kind,
        "metadata": {"name": TEMPLATE},
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }


def _pod(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": world_fixtures.SCHEDULER,
            "containers": [{"name": "work", "image": "none"}],
            "resourceClaims": [{"name": "device", "resourceClaimTemplateName": TEMPLATE}],
        },
    }
