"""Defects of the ResourceClaim controller that were reported."""

from typing import Any

from harness import concurrency
from harness.client import apis
from harness.model.objects import Object
from harness.subject.claim_control import enqueuing, generating, releasing
from harness.subject.objects import claims


class SharedAnnotationsGenerator(generating.ClaimGenerator):
    """The annotation of a generated claim is put into the template's own map (kubernetes#141104).

    All workers share the template, if it has annotations: between writing the name of an entry and
    sending the claim, another worker can write the name of another entry. In Go that can also end
    the process. Open.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._guard = concurrency.lock("template-annotations")
        """Protects single accesses to the map, so that they interleave as those of goroutines."""

    def _annotations(self, entry_name: str, from_template: Object) -> dict[str, str]:
        annotations: dict[str, str] = from_template.get("annotations") or {}
        with self._guard:
            annotations[claims.POD_CLAIM_NAME] = entry_name
        concurrency.step("controller.annotated", entry=entry_name)
        with self._guard:
            return dict(annotations)


class PodsOnlyReleaser(releasing.Releaser):
    """A consumer that is no pod stops the whole cleanup of its claim (kubernetes#136406).

    Stale reservations of pods beside it stay for ever. Fixed in 1.36: the consumer is kept, and the
    others are cleaned up.
    """

    def _may_run(self, entry: Object) -> bool:
        raise apis.ApiError(501, "NotImplemented", f"unsupported ReservedFor entry: {entry}")


class UnseenPodDroppedReleaser(releasing.Releaser):
    """A reservation for a pod that the informer does not know is dropped without asking the server.

    The informer of pods may lag behind that of claims: the scheduler has bound a pod, and the
    controller has not heard of it yet. Its claim is deallocated while it runs. kube-controller-
    manager asks the API server for such a pod. A mutant; no release is known to be affected.
    """

    def _live_pod(self, claim: Object, name: str) -> Object | None:
        del claim, name
        return None


class ExtendedClaimsIgnoredEnqueuer(enqueuing.Enqueuer):
    """Claims of extended resources are not those of a pod: only `spec.resourceClaims` counts.

    A finished pod keeps the devices of its extended resources until it is deleted. As in 1.34.2;
    1.36.2 also looks at `status.extendedResourceClaimStatus` (kubernetes#133302 brought these
    claims).
    """

    def _claim_keys(self, pod: Object) -> list[str]:
        return list(claims.known_claim_keys(pod))
