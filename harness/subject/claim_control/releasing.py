"""Releases claims whose pods have ended: reservations, allocations, and generated claims.

After syncClaim in pkg/controller/resourceclaim/controller.go.
"""

from harness import concurrency
from harness.client import apis
from harness.model.objects import Object
from harness.subject.claim_control import controller_contexts, generating
from harness.subject.objects import claim_writes, claims, pod_groups


class UnsettledError(Exception):
    """A claim that has to be synced again, although no request failed."""


class Releaser:
    """Drops reservations, deallocates claims, and deletes generated claims."""

    def __init__(self, context: controller_contexts.ControllerContext) -> None:
        self._context = context

    def sync(self, key: str) -> None:
        """Drop reservations of ended pods, and delete the claim if it was generated for one.

        Deallocation follows from the change from "in use" to "not in use": a claim that is
        allocated but was never reserved stays allocated. Raises ApiError or TransportError if the
        sync must be retried; every write fails if the claim has changed meanwhile.
        """
        claim = self._context.claims.get(key)
        if claim is None:
            return
        reservations = claims.reservations_of(claim)
        valid = [entry for entry in reservations if self._is_valid(claim, entry)]
        if len(valid) < len(reservations):
            claim = self._drop_reservations(claim, valid)
        elif not valid and claims.is_deleting(claim) and claims.has_finalizer(claim):
            claim = self._release_deleted(claim)
        if not valid and not claims.is_deleting(claim) and self._is_orphan(claim):
            self._delete(claim)

    def _is_valid(self, claim: Object, entry: Object) -> bool:
        if pod_groups.is_reservation(entry) and self._context.groups.is_started:
            return self._has_group(claim, entry)
        if entry.get("resource") != "pods" or entry.get("apiGroup"):
            return self._may_run(entry)
        if entry["uid"] in self._context.deleted_pods:
            return False
        key = generating.key_of(claim, entry["name"])
        pod = self._context.pods.get(key) or self._live_pod(claim, entry["name"])
        return pod is not None and claims.uid_of(pod) == entry["uid"] and not claims.is_done(pod)

    def _may_run(self, entry: Object) -> bool:
        """Return whether a consumer that is no pod may still run: another controller knows."""
        del entry
        return True

    def _has_group(self, claim: Object, entry: Object) -> bool:
        """Return whether the PodGroup exists that the claim is reserved for."""
        if entry["uid"] in self._context.deleted_pods:
            return False
        key = generating.key_of(claim, entry["name"])
        group = self._context.groups.get(key) or self._live(apis.POD_GROUPS, claim, entry["name"])
        return group is not None and claims.uid_of(group) == entry["uid"]

    def _live_pod(self, claim: Object, name: str) -> Object | None:
        """Return the pod from the API server: the informer may lag behind."""
        return self._live(apis.PODS, claim, name)

    def _live(self, resource: apis.Resource, claim: Object, name: str) -> Object | None:
        try:
            namespace = claim["metadata"]["namespace"]
            return self._context.api.get(resource, name, namespace=namespace)
        except apis.ApiError as error:
            if error.is_not_found:
                return None
            raise

    def _drop_reservations(self, claim: Object, valid: list[Object]) -> Object:
        """Keep valid reservations; with the last one goes the allocation, then the finalizer."""
        changed = claims.with_status(claim, reservedFor=valid or None)
        if valid or not claims.has_finalizer(claim):
            return self._context.api.update_status(apis.CLAIMS, changed)
        return self._remove_finalizer(self._deallocate(changed))

    def _release_deleted(self, claim: Object) -> Object:
        """Deallocate a deleted claim that is not in use, and let it go."""
        if claims.allocation_of(claim) is not None:
            claim = self._deallocate(claim)
        return self._remove_finalizer(claim)

    def _deallocate(self, claim: Object) -> Object:
        """Write the claim without its allocation; the API server drops `status.devices` itself."""
        changed = claims.with_status(claim, allocation=None)
        claim = self._context.api.update_status(apis.CLAIMS, changed)
        concurrency.step("controller.deallocated", claim=claims.uid_of(claim))
        return claim

    def _remove_finalizer(self, claim: Object) -> Object:
        if not claims.has_finalizer(claim):
            return claim
        return claim_writes.remove_finalizer(self._context.api, claim)

    def _is_orphan(self, claim: Object) -> bool:
        """Return whether a pod that has ended or was replaced controls the claim.

        A pod that is not found may not be known yet: the garbage collector handles that.
        """
        owner = generating.owning_pod(claim)
        if owner is None:
            return False
        name, uid = owner
        pod = self._context.pods.get(generating.key_of(claim, name))
        return pod is not None and (claims.uid_of(pod) != uid or claims.is_done(pod))

    def _delete(self, claim: Object) -> None:
        meta = claim["metadata"]
        with apis.if_there():
            self._context.api.delete(
                apis.CLAIMS, meta["name"], namespace=meta["namespace"], uid=meta["uid"]
            )
