"""The ResourceClaim controller: generates claims, drops reservations, deallocates claims.

After pkg/controller/resourceclaim/controller.go of Kubernetes 1.36. Several workers process the
keys `pod:namespace/name`, `podgroup:…` and `claim:…`. Every sync starts from the informers' state;
a failed sync is retried.

Where the newest release is known to be wrong, this controller has answers of its own: `defects` and
`releases` have what Kubernetes does instead.
"""

import dataclasses
import functools

from harness import concurrency
from harness.client import apis, event_recording, informers, served_informers, transports
from harness.model.objects import Object
from harness.subject.claim_control import (
    controller_contexts,
    created_claims,
    enqueuing,
    generating,
    pod_syncing,
    releasing,
    taint_evictors,
    work_queues,
)
from harness.subject.objects import change_handlers


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ControllerParts:
    """The parts; the defaults are the correct ones."""

    created: type[created_claims.CreatedClaims] = created_claims.CreatedClaims
    generator: type[generating.ClaimGenerator] = generating.ClaimGenerator
    pod_syncer: type[pod_syncing.PodSyncer] = pod_syncing.PodSyncer
    releaser: type[releasing.Releaser] = releasing.Releaser
    enqueuer: type[enqueuing.Enqueuer] = enqueuing.Enqueuer
    evictor: type[taint_evictors.TaintEvictor] = taint_evictors.TaintEvictor


SYNC_TIMEOUT_S = 30.0
"""Time limit for the initial list of each informer, in seconds."""
_RETRIED = (
    pod_syncing.ClaimCreationError,
    releasing.UnsettledError,
    apis.ApiError,
    transports.TransportError,
)
COMPONENT = "resource_claim"
"""The component that its events name, as upstream."""
WORKERS = 4
"""Default number of workers. Upstream has 50, but threads of one interpreter share one core."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """Options of the controller."""

    namespace: str | None = None
    """None: all namespaces."""
    workers: int = WORKERS
    pod_groups: bool = False
    """Make the claims of PodGroups, if the API server serves them."""
    evicts: bool = False
    """Evict pods by NoExecute taints of their devices; it costs a watch of all slices."""


class ClaimController:
    """The controller with its informers, its work queue and its worker threads."""

    def __init__(
        self,
        api: apis.Api,
        options: ControllerOptions,
        parts: ControllerParts | None = None,
    ) -> None:
        parts = parts or ControllerParts()
        self._api, self._options = api, options
        self._threads: list[concurrency.Thread] = []
        self._context = self._new_context(parts.created())
        self._syncer = parts.pod_syncer(self._context, parts.generator())
        self._releaser = parts.releaser(self._context)
        self._enqueuer = parts.enqueuer(self._context, self._syncer)
        self._evictor = parts.evictor(self._context) if options.evicts else None

    def start(self) -> None:
        """Start the informers, then the workers. Raises ClusterError."""
        for informer in (self._context.templates, self._context.claims, self._context.pods):
            if informer is self._context.pods and self._options.pod_groups:
                self._context.groups.start(timeout_s=SYNC_TIMEOUT_S)
            informer.start()
            informer.wait_synced(timeout_s=SYNC_TIMEOUT_S)
        for index in range(self._options.workers):
            work = functools.partial(self._context.queue.work, self._sync)
            self._threads.append(concurrency.spawn(f"controller-{index}", work))
        if self._evictor is not None:
            self._evictor.start(timeout_s=SYNC_TIMEOUT_S)

    def stop(self) -> None:
        """Finish the keys being processed and end every thread."""
        if self._evictor is not None:
            self._evictor.stop()
        self._context.queue.close()
        for thread in self._threads:
            thread.join()
        for informer in (self._context.pods, self._context.claims, self._context.templates):
            informer.stop()
        self._context.groups.stop()

    # --------------------------------------------------------------------- putting together

    def _new_context(
        self, created: created_claims.CreatedClaims
    ) -> controller_contexts.ControllerContext:
        changes = change_handlers.Changes
        on_template = changes(
            self._on_template,
            ignores_first=True,  # those of the first list come before all pods
        )
        return controller_contexts.ControllerContext(
            api=self._api,
            queue=work_queues.WorkQueue("claim-controller.queue"),
            templates=self._informer(apis.CLAIM_TEMPLATES, on_template),
            claims=self._informer(apis.CLAIMS, created, changes(self._on_claim)),
            pods=self._informer(apis.PODS, changes(self._on_pod)),
            groups=served_informers.ServedInformer(
                self._api,
                [apis.POD_GROUPS],
                [changes(self._on_group)],
                namespace=self._options.namespace,
            ),
            created=created,
            deleted_pods=controller_contexts.DeletedPods(),
            events=event_recording.EventRecorder(self._api, component=COMPONENT),
        )

    def _on_claim(self, old: Object | None, new: Object | None) -> None:
        if new:
            self._enqueuer.on_claim(informers.key_of(new))
            if self._evictor is not None:
                self._evictor.on_claim(new)
        elif old:
            self._enqueuer.on_claim_deleted(informers.key_of(old))

    def _on_pod(self, old: Object | None, new: Object | None) -> None:
        if new:
            self._enqueuer.on_pod(new, old)
            if self._evictor is not None:
                self._evictor.on_pod(new)
        elif old:
            self._enqueuer.on_pod_deleted(old)

    def _on_group(self, old: Object | None, new: Object | None) -> None:
        if new:
            self._enqueuer.on_group(new, old)
        elif old:
            self._enqueuer.on_pod_deleted(old)  # what is reserved for it is free

    def _on_template(self, _: Object | None, new: Object | None) -> None:
        if new:  # one that was deleted and created again looks like a changed one
            self._enqueuer.on_template(new)

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

    # ------------------------------------------------------------------------------ workers

    def _sync(self, key: str) -> bool:
        kind, _, name = key.partition(":")
        try:
            match kind:
                case "pod":
                    self._syncer.sync(name)
                case "podgroup":
                    self._syncer.sync_group(name)
                case _:
                    self._releaser.sync(name)
        except _RETRIED as error:
            concurrency.step("controller.failed", key=key, reason=str(error))
            return False
        return True
