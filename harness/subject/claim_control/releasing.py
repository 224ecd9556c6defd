"""Releases claims whose pods have ended: reservations, allocations, and generated claims.

After syncClaim in pkg/controller/resourceclaim/controller.go.
"""

from collections.abc import Container
from typing import Any

from harness import concurrency
from harness.client import apis, informers
from harness.subject import claims

Object = dict[str, Any]


class Releaser:
    """Drops reservations, deallocates claims, and deletes generated claims."""

    def __init__(self, api: apis.Api, pods: informers.Informer, gone: Container[str]) -> None:
        """`gone` contains the UIDs of pods that are known to be deleted."""
        self._api, self._pods, self._gone = api, pods, gone

    def sync(self, claim: Object) -> None:
        """Drop reservations of ended pods, and delete the claim if it was generated for one."""
        reservations = claims.reservations_of(claim)
        valid = [entry for entry in reservations if self._is_valid(claim, entry)]
        if len(valid) < len(reservations) or (not valid and claims.is_deleting(claim)):
            claim = self._release(claim, valid)
        if not valid and not claims.is_deleting(claim) and self._is_orphan(claim):
            meta = claim["metadata"]
            with apis.if_there():
                self._api.delete(
                    apis.CLAIMS, meta["name"], namespace=meta["namespace"], uid=meta["uid"]
                )

    def _is_valid(self, claim: Object, entry: Object) -> bool:
        """Return whether the consumer that the claim is reserved for may still run."""
        if entry.get("resource") != "pods" or entry.get("apiGroup"):
            return True  # only pods are handled here
        if entry["uid"] in self._gone:
            return False
        namespace = claim["metadata"]["namespace"]
        pod = self._pods.get(f"{namespace}/{entry['name']}")
        if pod is None:
            pod = self._live_pod(entry["name"], namespace)
        return pod is not None and claims.uid_of(pod) == entry["uid"] and not claims.is_done(pod)

    def _live_pod(self, name: str, namespace: str) -> Object | None:
        """Return the pod from the API server, or None if it is gone.

        The informer may lag behind, so that a pod missing there may still exist.
        """
        try:
            return self._api.get(apis.PODS, name, namespace=namespace)
        except apis.ApiError as error:
            if error.is_not_found:
                return None
            raise

    def _release(self, claim: Object, valid: list[Object]) -> Object:
        """Drop reservations; with the last one also the allocation, and then the finalizer."""
        if valid or not claims.has_finalizer(claim):
            if len(valid) == len(claims.reservations_of(claim)):
                return claim
            return self._api.update_status(
                apis.CLAIMS, claims.with_status(claim, reservedFor=valid or None)
            )
        if claims.allocation_of(claim) or claims.reservations_of(claim):
            claim = self._api.update_status(
                apis.CLAIMS,
                claims.with_status(claim, reservedFor=None, allocation=None, devices=None),
            )
            concurrency.step("controller.deallocated", claim=claims.uid_of(claim))
        finalizers = [name for name in claim["metadata"]["finalizers"] if name != claims.FINALIZER]
        return self._api.update(apis.CLAIMS, claims.with_metadata(claim, finalizers=finalizers))

    def _is_orphan(self, claim: Object) -> bool:
        """Return whether the claim was generated for a pod that has ended or was replaced."""
        owner = claims.controller_uid(claim)
        if owner is None or claims.POD_CLAIM_NAME not in claim["metadata"].get("annotations", {}):
            return False
        reference = next(
            item for item in claim["metadata"]["ownerReferences"] if item.get("controller")
        )
        pod = self._pods.get(f"{claim['metadata']['namespace']}/{reference['name']}")
        return pod is not None and (claims.uid_of(pod) != owner or claims.is_done(pod))
