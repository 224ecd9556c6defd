"""Nominated nodes: `status.nominatedNodeName` of pods whose binding may take long.

After bindingCycle in pkg/scheduler/schedule_one.go with the feature gate
NominatedNodeNameForExpectation (KEP-5278). Others, such as an autoscaler, then know the node while
the pod is not bound. kube-scheduler writes it for every pod for which PreBind has something to do;
here only pods that have to wait for binding conditions are worth a write.

It is best effort: a pod is bound also if its node could not be written.
"""

from harness import concurrency
from harness.client import apis, transports
from harness.model.objects import Object
from harness.subject.objects import claims
from harness.subject.plugin import binding_conditions, scheduling_attempts


class Nominations:
    """Writes and clears the nominated nodes of pods."""

    def __init__(self, api: apis.Api) -> None:
        self._api = api

    def nominate(self, attempt: scheduling_attempts.Attempt, node_name: str) -> bool:
        """Write the node if the pod will have to wait, and return whether it will."""
        is_needed = any(map(binding_conditions.has_conditions, _planned_claims(attempt)))
        if is_needed:
            self._write(attempt.pod, node_name)
        return is_needed

    def clear(self, pod: Object) -> None:
        """Remove the node of a pod that could not be bound."""
        self._write(pod, None)

    def _write(self, pod: Object, node_name: str | None) -> None:
        """Patch the status; a conflict says that this is another pod of the same name."""
        meta = pod["metadata"]
        patch = {"metadata": {"uid": meta["uid"]}, "status": {"nominatedNodeName": node_name}}
        try:
            self._api.patch(
                apis.PODS,
                meta["name"],
                patch,
                namespace=meta["namespace"],
                subresource="status",
            )
        except (apis.ApiError, transports.TransportError) as error:
            concurrency.step("nominate.failed", pod=meta["uid"], reason=str(error))


def _planned_claims(attempt: scheduling_attempts.Attempt) -> list[Object]:
    """Return the attempt's claims as they are once they are allocated as planned."""
    return [
        claims.with_status(claim, allocation=attempt.planned[index])
        if index in attempt.planned
        else claim
        for index, claim in enumerate(attempt.claims)
    ]
