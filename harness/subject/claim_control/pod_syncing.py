"""Creates and records the claims of pods, and reserves claims for pods bound without a scheduler.

After syncPod and handleClaim in pkg/controller/resourceclaim/controller.go.
"""

from harness import concurrency, errors
from harness.client import apis, transports
from harness.model.objects import Object
from harness.subject.claim_control import controller_contexts, feature_gates, generating
from harness.subject.objects import claims
from harness.subject.telemetry import klog

FIELD_MANAGER = "ResourceClaimController"
"""Field manager of the server-side apply of `status.resourceClaimStatuses`, as upstream."""
FAILED_CREATION = "FailedResourceClaimCreation"
"""Reason of the event on a pod whose claim could not be created, as upstream."""


FAILURES = (apis.ApiError, transports.TransportError)
"""The errors of API calls."""


class ClaimCreationError(errors.HarnessError):
    """A claim of a pod could not be created; the sync is retried."""


class PodSyncer:
    """Works on pods that need a claim, or a reservation."""

    def __init__(
        self,
        context: controller_contexts.ControllerContext,
        generator: generating.ClaimGenerator,
    ) -> None:
        self._context, self._generator = context, generator

    # -------------------------------------------------------------------- is there work?

    def needs_work(self, pod: Object) -> bool:
        """Return whether a claim must be created or recorded, or reserved for a bound pod.

        Pods that are bound without a scheduler (by `spec.nodeName`) have no reservations at first.
        A named claim that is missing must be created by its user.
        """
        if self._is_over(pod):
            return False
        try:
            return self._entry_needs_work(pod)
        except generating.NotRecorded:
            return True

    def _entry_needs_work(self, pod: Object) -> bool:
        for entry in claims.entries_of(pod):
            name = generating.name_of(pod, entry)
            if name is None:
                continue
            claim = self._context.created.get(generating.key_of(pod, name))
            if claim is None:
                if generating.has_template(entry):
                    return True
                continue
            if generating.has_template(entry) and not claims.is_for(claim, pod):
                return False  # someone has to remove the other claim first
            if pod["spec"].get("nodeName") and generating.needs_reservation(claim, pod):
                return True
        return False

    def _is_over(self, pod: Object) -> bool:
        """Return whether the pod needs no more claims: it is being deleted, or has ended.

        Without the second condition a finished pod gets new claims and reservations.
        """
        return claims.is_deleting(pod) or claims.is_done(pod)

    # ----------------------------------------------------------------------------- a sync

    def sync(self, key: str) -> None:
        """Create and record missing claims of the pod, and reserve its claims if it is bound.

        Raises ClaimCreationError, ApiError or TransportError if it must be retried.
        """
        pod = self._context.pods.get(key)
        if pod is None or self._is_over(pod):
            return
        made: dict[str, str] = {}
        for entry in claims.entries_of(pod):
            claim = self._claim_for(pod, entry)
            if claim is not None:
                made[entry["name"]] = claim["metadata"]["name"]
        if made:
            self._record(pod, made)
        if pod["spec"].get("nodeName"):
            self._reserve_claims(pod)

    def _claim_for(self, pod: Object, entry: Object) -> Object | None:
        """Return the claim to record for an entry; create it if there is none.

        None: the entry has its claim, or needs none. Raises ClaimCreationError, and says so in an
        event.
        """
        if not generating.has_template(entry):
            return None
        if self._is_provided(pod, entry):
            klog.info(5, "Claim already created", pod=pod, podClaim=entry["name"])
            return None
        found = self._find_generated(pod, entry["name"])
        if found is not None:
            return found
        try:
            return self._create(pod, entry)
        except ClaimCreationError as error:
            message = f"PodResourceClaim {entry['name']}: {error}"
            self._context.events.warn(pod, "Pod", reason=FAILED_CREATION, message=message)
            raise

    def _is_provided(self, pod: Object, entry: Object) -> bool:
        """Return whether the pod's status names a claim of the pod, or says that none is needed."""
        recorded = claims.recorded_names(pod)
        if entry["name"] not in recorded:
            return False
        name = recorded[entry["name"]]
        if name is None:
            return True
        claim = self._context.created.get(generating.key_of(pod, name))
        return claim is not None and claims.is_for(claim, pod)

    def _find_generated(self, pod: Object, entry_name: str) -> Object | None:
        """Return a claim that an earlier sync created but failed to record in the pod's status."""
        for claim in self._context.created.owned_by(claims.uid_of(pod)):
            annotations = claim["metadata"].get("annotations", {})
            if annotations.get(claims.POD_CLAIM_NAME) == entry_name:
                return claim
        return None

    def _create(self, pod: Object, entry: Object) -> Object:
        """Create the claim for an entry of the pod. Raises ClaimCreationError."""
        template = self._template(pod, entry["resourceClaimTemplateName"])
        reason = feature_gates.refusal(self._context.gates, template)
        if reason is not None:
            raise ClaimCreationError(reason)
        wanted = self._generator.generated_claim(pod, entry["name"], template)
        claim = self._send(wanted, pod)
        klog.info(4, "Created ResourceClaim", claim=claim, pod=pod)
        self._context.created.add(claim)
        concurrency.step(
            "controller.claim.created", claim=claims.uid_of(claim), pod=claims.uid_of(pod)
        )
        return claim

    def _template(self, pod: Object, name: str) -> Object:
        template = self._context.templates.get(generating.key_of(pod, name))
        if template is None:
            raise ClaimCreationError(
                f'resource claim template "{name}": '
                f'resourceclaimtemplate.resource.k8s.io "{name}" not found'
            )
        return template

    def _send(self, wanted: Object, pod: Object) -> Object:
        """Create a claim for the pod. Raises ClaimCreationError."""
        admin_access = feature_gates.needs_admin_access(wanted)
        namespace = pod["metadata"]["namespace"]
        try:
            claim = self._context.api.create(apis.CLAIMS, wanted, namespace=namespace)
        except FAILURES as error:
            self._context.metrics.count_creation("failure", admin_access=admin_access)
            text = error.message if isinstance(error, apis.ApiError) else str(error)
            raise ClaimCreationError(f"create ResourceClaim : {text}") from error
        self._context.metrics.count_creation("success", admin_access=admin_access)
        return claim

    # ------------------------------------------------------------------ status and reservations

    def _record(self, pod: Object, made: dict[str, str]) -> None:
        """Record all claims of the pod in one write, with those recorded before.

        A server-side apply removes what its manager applied before and does not repeat.
        """
        recorded = claims.recorded_names(pod)
        names: dict[str, str] = {}
        for entry in filter(generating.has_template, claims.entries_of(pod)):
            name = made.get(entry["name"]) or recorded.get(entry["name"])
            if name is not None:
                names[entry["name"]] = name
        self._apply(pod, names)

    def _apply(self, pod: Object, names: dict[str, str]) -> None:
        meta = pod["metadata"]
        statuses = [{"name": name, "resourceClaimName": claim} for name, claim in names.items()]
        patch = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {key: meta[key] for key in ("name", "namespace", "uid")},
            "status": {"resourceClaimStatuses": statuses},
        }
        self._context.api.patch(
            apis.PODS,
            meta["name"],
            patch,
            namespace=meta["namespace"],
            kind=apis.PatchKind.APPLY,
            subresource="status",
            field_manager=FIELD_MANAGER,
            force=True,
        )

    def _reserve_claims(self, pod: Object) -> None:
        """Reserve the claims of a bound pod that can be reserved.

        The event that makes another one usable enqueues the pod again.
        """
        for entry in claims.entries_of(pod):
            claim = self._claim_of(pod, entry)
            if claim is not None and generating.needs_reservation(claim, pod):
                self._context.api.update_status(apis.CLAIMS, claims.with_reservation(claim, pod))
                klog.info(5, "Reserved claim for pod", pod=pod, resourceClaim=claim)

    def _claim_of(self, pod: Object, entry: Object) -> Object | None:
        """Return the informer's claim of an entry, None if the pod cannot use it yet."""
        try:
            name = generating.name_of(pod, entry)
        except generating.NotRecorded:
            return None
        claim = self._context.claims.get(generating.key_of(pod, name)) if name else None
        if claim is None or (generating.has_template(entry) and not claims.is_for(claim, pod)):
            return None
        return claim
