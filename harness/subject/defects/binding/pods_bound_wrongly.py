"""Mutants of the plugin: pods are bound where, or before, they can use their claims. None was
shipped.
"""

from harness.model.objects import Object
from harness.subject.plugin import claim_binding, dynamic_resources, scheduling_attempts


class NodeSelectorNotAskedPlugin(dynamic_resources.DynamicResources):
    """Filter does not ask where the devices of an allocated claim can be reached.

    The second pod of a shared claim is bound to the first node with room, where its kubelet cannot
    prepare the claim. A mutant; no release is known to be affected.
    """

    def _misplaced(self, attempt: scheduling_attempts.Attempt, node: Object) -> set[int]:
        del node
        return set(attempt.given_up)


class BoundBeforeReservedBinder(claim_binding.ClaimBinder):
    """PreBind does not reserve a claim that has an allocation; the pod is bound all the same.

    The claim controller reserves the claim later, because it does so for pods that were bound by
    hand. Until then the claim may be deallocated under the pod. A mutant; no release is known to be
    affected.
    """

    def _bind_claim(self, attempt: scheduling_attempts.Attempt, index: int) -> Object:
        if index in attempt.planned:
            return super()._bind_claim(attempt, index)
        return attempt.claims[index]
