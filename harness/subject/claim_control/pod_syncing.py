"""Creates and records the claims of pods, and reserves claims for pods bound without a scheduler.

After syncPod and handleClaim in pkg/controller/resourceclaim/controller.go.
"""

from harness import concurrency, errors
from harness.client import apis, transports
from harness.model.objects import Object
from harness.subject.claim_control import controller_contexts, generating
from harness.subject.objects import claims, pod_groups

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
        group = self._group_of(pod)
        for entry in claims.entries_of(pod):
            name = generating.name_of(pod, entry)
            if name is None:
                continue
            is_of_group = pod_groups.has_entry(group, entry)
            claim = self._context.created.get(generating.key_of(pod, name))
            if claim is None:
                if generating.has_template(entry) and not is_of_group:
                    return True
                continue
            if generating.has_template(entry) and not claims.is_for(claim, pod):
                return False  # someone has to remove the other claim first
            user = group if group and is_of_group else pod
            if pod["spec"].get("nodeName") and generating.needs_reservation(claim, user):
                return True
        return False

    def _lacks_group(self, pod: Object, group: Object | None) -> bool:
        return group is None and pod_groups.key_of(pod) is not None

    def _group_of(self, pod: Object) -> Object | None:
        """Return the PodGroup of a pod, None if it has none, or none that is known yet."""
        key = pod_groups.key_of(pod)
        return self._context.groups.get(key) if key else None

    def _is_over(self, pod: Object) -> bool:
        """Return whether the pod needs no more claims: it is being deleted, or has ended."""
        return claims.is_deleting(pod) or claims.is_done(pod)

    # ----------------------------------------------------------------------------- a sync

    def sync(self, key: str) -> None:
        """Create and record missing claims of the pod, and reserve its claims if it is bound."""
        pod = self._context.pods.get(key)
        if pod is None or self._is_over(pod):
            return
        group = self._group_of(pod)
        if self._lacks_group(pod, group):
            return  # the event of the group enqueues the pod again
        self._provide(pod, group)
        if pod["spec"].get("nodeName"):
            self._reserve_claims(pod, group)

    def sync_group(self, key: str) -> None:
        group = self._context.groups.get(key)
        if group is not None and not claims.is_deleting(group):
            self._provide(group, None)

    def _provide(self, owner: Object, group: Object | None) -> None:
        """Create and record the missing claims of a pod (`group`: its group's, too) or PodGroup."""
        made: dict[str, str] = {}
        for entry in claims.entries_of(owner):
            if pod_groups.has_entry(group, entry):
                claim = self._claim_of_group(owner, group, entry)
            else:
                claim = self._claim_for(owner, entry)
            if claim is not None:
                made[entry["name"]] = claim["metadata"]["name"]
        if made:
            self._record(owner, made)

    def _claim_of_group(self, pod: Object, group: Object | None, entry: Object) -> Object | None:
        """Return the claim of the pod's group to record; None: there is none to record now."""
        if group is None or not generating.has_template(entry) or self._is_provided(pod, entry):
            return None
        return self._find_generated(group, entry["name"])

    def _claim_for(self, owner: Object, entry: Object) -> Object | None:
        """Return the claim to record for an entry, made if there is none; None: it needs none."""
        if not generating.has_template(entry) or self._is_provided(owner, entry):
            return None
        found = self._find_generated(owner, entry["name"])
        if found is not None:
            return found
        try:
            return self._create(owner, entry)
        except ClaimCreationError as error:
            kind = generating.resource_of(owner).kind
            message = f"{kind}ResourceClaim {entry['name']}: {error}"
            self._context.events.warn(owner, kind, reason=FAILED_CREATION, message=message)
            raise

    def _is_provided(self, owner: Object, entry: Object) -> bool:
        recorded = claims.recorded_names(owner)
        if entry["name"] not in recorded:
            return False
        name = recorded[entry["name"]]
        if name is None:
            return True
        claim = self._context.created.get(generating.key_of(owner, name))
        return claim is not None and claims.is_for(claim, owner)

    def _find_generated(self, owner: Object, entry_name: str) -> Object | None:
        """Return a claim that an earlier sync created but failed to record in the status."""
        for claim in self._context.created.owned_by(claims.uid_of(owner)):
            annotations = claim["metadata"].get("annotations", {})
            if annotations.get(claims.POD_CLAIM_NAME) == entry_name:
                return claim
        return None

    def _create(self, pod: Object, entry: Object) -> Object:
        template = self._template(pod, entry["resourceClaimTemplateName"])
        wanted = self._generator.generated_claim(pod, entry["name"], template)
        claim = self._send(wanted, pod)
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
        namespace = pod["metadata"]["namespace"]
        try:
            return self._context.api.create(apis.CLAIMS, wanted, namespace=namespace)
        except FAILURES as error:
            text = error.message if isinstance(error, apis.ApiError) else str(error)
            raise ClaimCreationError(f"create ResourceClaim : {text}") from error

    # ------------------------------------------------------------------ status and reservations

    def _record(self, pod: Object, made: dict[str, str]) -> None:
        """Record all claims at once: an apply removes what it does not repeat."""
        recorded = claims.recorded_names(pod)
        names: dict[str, str] = {}
        for entry in filter(generating.has_template, claims.entries_of(pod)):
            name = made.get(entry["name"]) or recorded.get(entry["name"])
            if name is not None:
                names[entry["name"]] = name
        self._apply(pod, names)

    def _apply(self, owner: Object, names: dict[str, str]) -> None:
        meta, resource = owner["metadata"], generating.resource_of(owner)
        statuses = [{"name": name, "resourceClaimName": claim} for name, claim in names.items()]
        patch = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {key: meta[key] for key in ("name", "namespace", "uid")},
            "status": {"resourceClaimStatuses": statuses},
        }
        self._context.api.patch(
            resource,
            meta["name"],
            patch,
            namespace=meta["namespace"],
            kind=apis.PatchKind.APPLY,
            subresource="status",
            field_manager=FIELD_MANAGER,
            force=True,
        )

    def _reserve_claims(self, pod: Object, group: Object | None) -> None:
        for entry in claims.entries_of(pod):
            claim = self._claim_of(pod, entry)
            user = group if group and pod_groups.has_entry(group, entry) else pod
            if claim is not None and generating.needs_reservation(claim, user):
                self._context.api.update_status(apis.CLAIMS, claims.with_reservation(claim, user))

    def _claim_of(self, pod: Object, entry: Object) -> Object | None:
        try:
            name = generating.name_of(pod, entry)
        except generating.NotRecorded:
            return None
        claim = self._context.claims.get(generating.key_of(pod, name)) if name else None
        if claim is None or (generating.has_template(entry) and not claims.is_for(claim, pod)):
            return None
        return claim
