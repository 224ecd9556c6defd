"""The ResourceClaim controller: generates claims, drops reservations, deallocates claims.

After pkg/controller/resourceclaim/controller.go. Several workers process the keys
`pod:namespace/name` and `claim:namespace/name`. Every sync starts from the informers' state; a
failed sync is retried.
"""

import collections
import dataclasses
from typing import Any

from harness import concurrency
from harness.client import apis, informers, transports
from harness.subject import claims
from harness.subject.claim_control import created_claims, generating, releasing, work_queues

Object = dict[str, Any]
FIELD_MANAGER = "ResourceClaimController"
"""Field manager of the server-side apply of `status.resourceClaimStatuses`, as upstream."""
SYNC_TIMEOUT_S = 30.0
"""Time limit for the initial list of each informer, in seconds."""
DELETED_PODS_MAX = 500
"""Number of UIDs of deleted pods to remember, as upstream."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """Options of the controller."""

    namespace: str | None = None
    """None: all namespaces."""
    workers: int = 4


class ClaimController:
    """The controller with its informers, its work queue and its worker threads."""

    def __init__(self, api: apis.Api, options: ControllerOptions) -> None:
        self._api, self._options = api, options
        self._queue = work_queues.WorkQueue("claim-controller.queue")
        self._guard = concurrency.lock("claim-controller.indexes")
        self._users: dict[str, set[str]] = collections.defaultdict(set)
        self._deleted_pods: collections.OrderedDict[str, None] = collections.OrderedDict()
        self._created = created_claims.CreatedClaims()
        self._threads: list[concurrency.Thread] = []
        self._templates = self._informer(apis.CLAIM_TEMPLATES, _TemplateEvents(self))
        self._claims = self._informer(apis.CLAIMS, self._created, _ClaimEvents(self))
        self._pods = self._informer(apis.PODS, _PodEvents(self))
        self._releaser = releasing.Releaser(api, self._pods, self._deleted_pods)

    def start(self) -> None:
        """Start the informers, then the workers.

        Raises ClusterError if the API server does not answer.
        """
        for informer in (self._templates, self._claims, self._pods):
            informer.start()
            informer.wait_synced(timeout_s=SYNC_TIMEOUT_S)
        for index in range(self._options.workers):
            self._threads.append(concurrency.spawn(f"controller-{index}", self._work))

    def stop(self) -> None:
        """Finish the keys being processed and end every thread."""
        self._queue.close()
        for thread in self._threads:
            thread.join()
        for informer in (self._pods, self._claims, self._templates):
            informer.stop()

    def _informer(
        self, resource: apis.Resource, *handlers: informers.EventHandler
    ) -> informers.Informer:
        return informers.Informer(
            self._api,
            resource,
            name=f"informer-{resource.plural}",
            handlers=handlers,
            namespace=self._options.namespace,
        )

    # ---------------------------------------------------------------------- events

    def on_pod(self, pod: Object) -> None:
        """Index a new or changed pod with claims, and enqueue it if it needs work."""
        if not claims.entries_of(pod):
            return
        key = informers.key_of(pod)
        with self._guard:
            for claim_key in claims.known_claim_keys(pod):
                self._users[claim_key].add(key)
        if claims.is_done(pod) or claims.is_deleting(pod):
            self._enqueue_claims_of(pod)
        if self._needs_work(pod):
            self._queue.add(f"pod:{key}")

    def on_pod_gone(self, pod: Object) -> None:
        """Remember the UID of a deleted pod, and enqueue its claims to drop its reservations."""
        with self._guard:
            self._deleted_pods[claims.uid_of(pod)] = None
            while len(self._deleted_pods) > DELETED_PODS_MAX:
                self._deleted_pods.popitem(last=False)
            for claim_key in claims.known_claim_keys(pod):
                self._users[claim_key].discard(informers.key_of(pod))
                if not self._users[claim_key]:
                    del self._users[claim_key]
        self._enqueue_claims_of(pod)

    def on_claim(self, key: str) -> None:
        """Enqueue a claim that was added, changed or deleted, and its pods that need work."""
        self._queue.add(f"claim:{key}")
        with self._guard:
            users = sorted(self._users.get(key, ()))
        for pod_key in users:
            pod = self._pods.get(pod_key)
            if pod is not None and self._needs_work(pod):
                self._queue.add(f"pod:{pod_key}")

    def on_template(self) -> None:
        """Enqueue all pods that need work; they may have waited for the new template."""
        for pod in self._pods.objects():
            self.on_pod(pod)

    def _enqueue_claims_of(self, pod: Object) -> None:
        for key in claims.known_claim_keys(pod):
            self._queue.add(f"claim:{key}")

    def _needs_work(self, pod: Object) -> bool:
        """Return whether a claim is missing, or a bound pod has no reservation.

        Pods that are bound without a scheduler (by `spec.nodeName`) have no reservations at first.
        """
        if claims.is_done(pod) or claims.is_deleting(pod):
            return False
        recorded = claims.recorded_names(pod)
        for entry in claims.entries_of(pod):
            if "resourceClaimName" in entry:
                continue
            if entry["name"] not in recorded or self._is_lost(pod, recorded[entry["name"]]):
                return True
        return bool(pod["spec"].get("nodeName")) and any(self._unreserved_claims(pod))

    def _is_lost(self, pod: Object, name: str | None) -> bool:
        """Return whether the recorded claim is missing or belongs to another pod."""
        if name is None:
            return False
        claim = self._created.get(f"{pod['metadata']['namespace']}/{name}")
        return claim is None or not claims.is_for(claim, pod)

    # --------------------------------------------------------------------- workers

    def _work(self) -> None:
        while True:
            try:
                key = self._queue.get()
            except concurrency.Closed:
                return
            self._queue.done(key, failed=not self._sync(key))

    def _sync(self, key: str) -> bool:
        kind, _, name = key.partition(":")
        try:
            if kind == "pod":
                self._sync_pod(name)
            elif (claim := self._claims.get(name)) is not None:
                self._releaser.sync(claim)
        except (apis.ApiError, transports.TransportError) as error:
            concurrency.step("controller.failed", key=key, reason=str(error))
            return False
        return True

    # ------------------------------------------------------------------------ pods

    def _sync_pod(self, key: str) -> None:
        """Create missing claims of the pod, record them, and reserve claims if the pod is bound."""
        pod = self._pods.get(key)
        if pod is None or claims.is_done(pod) or claims.is_deleting(pod):
            return
        recorded = claims.recorded_names(pod)
        names = {
            entry["name"]: self._claim_for(pod, entry, recorded.get(entry["name"]))
            for entry in claims.entries_of(pod)
            if "resourceClaimTemplateName" in entry
        }
        if names and names != recorded:
            self._record(pod, names)
        if pod["spec"].get("nodeName"):
            for claim in self._unreserved_claims(pod):
                self._api.update_status(apis.CLAIMS, claims.with_reservation(claim, pod))

    def _claim_for(self, pod: Object, entry: Object, recorded: str | None) -> str:
        """Return the name of the claim generated for an entry; create it if there is none."""
        if recorded is not None and not self._is_lost(pod, recorded):
            return recorded
        claim = self._find_generated(pod, entry["name"]) or self._create(pod, entry)
        return str(claim["metadata"]["name"])

    def _find_generated(self, pod: Object, entry_name: str) -> Object | None:
        """Return a claim that an earlier sync created but failed to record in the pod's status."""
        for claim in self._created.owned_by(claims.uid_of(pod)):
            annotations = claim["metadata"].get("annotations", {})
            if annotations.get(claims.POD_CLAIM_NAME) == entry_name:
                return claim
        return None

    def _create(self, pod: Object, entry: Object) -> Object:
        """Create the claim for an entry of the pod; raises ApiError if its template is missing."""
        namespace = pod["metadata"]["namespace"]
        key = f"{namespace}/{entry['resourceClaimTemplateName']}"
        template = self._templates.get(key)
        if template is None:
            raise apis.ApiError(404, "NotFound", f"resourceclaimtemplate {key} not found")
        claim = self._api.create(
            apis.CLAIMS,
            generating.generated_claim(pod, entry["name"], template),
            namespace=namespace,
        )
        self._created.add(claim)
        concurrency.step(
            "controller.claim.created", claim=claims.uid_of(claim), pod=claims.uid_of(pod)
        )
        return claim

    def _record(self, pod: Object, names: dict[str, str]) -> None:
        """Record all claims of the pod in one forced apply; the field has no other owner."""
        meta = pod["metadata"]
        statuses = [{"name": name, "resourceClaimName": claim} for name, claim in names.items()]
        patch = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {key: meta[key] for key in ("name", "namespace", "uid")},
            "status": {"resourceClaimStatuses": statuses},
        }
        self._api.patch(
            apis.PODS,
            meta["name"],
            patch,
            namespace=meta["namespace"],
            kind=apis.PatchKind.APPLY,
            subresource="status",
            field_manager=FIELD_MANAGER,
            force=True,
        )

    def _unreserved_claims(self, pod: Object) -> list[Object]:
        """Return the allocated claims of a bound pod that are not reserved for it."""
        known = [self._claims.get(key) for key in claims.known_claim_keys(pod)]
        return [
            claim
            for claim in known
            if claim is not None
            and claims.allocation_of(claim)
            and not claims.is_deleting(claim)
            and not claims.is_reserved_for(claim, pod)
        ]


class _PodEvents:
    def __init__(self, controller: ClaimController) -> None:
        self._controller = controller

    def on_add(self, obj: Object, *, initial: bool) -> None:
        del initial
        self._controller.on_pod(obj)

    def on_update(self, old: Object, new: Object) -> None:
        del old
        self._controller.on_pod(new)

    def on_delete(self, last: Object) -> None:
        self._controller.on_pod_gone(last)


class _ClaimEvents:
    def __init__(self, controller: ClaimController) -> None:
        self._controller = controller

    def on_add(self, obj: Object, *, initial: bool) -> None:
        del initial
        self._controller.on_claim(informers.key_of(obj))

    def on_update(self, old: Object, new: Object) -> None:
        del old
        self._controller.on_claim(informers.key_of(new))

    def on_delete(self, last: Object) -> None:
        self._controller.on_claim(informers.key_of(last))


class _TemplateEvents:
    def __init__(self, controller: ClaimController) -> None:
        self._controller = controller

    def on_add(self, obj: Object, *, initial: bool) -> None:
        del obj
        if not initial:
            self._controller.on_template()

    def on_update(self, old: Object, new: Object) -> None:
        """Ignore the update: the spec of a template is immutable."""

    def on_delete(self, last: Object) -> None:
        """Ignore the deletion: claims generated from the template remain."""
