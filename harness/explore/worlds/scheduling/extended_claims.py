"""Pods that ask for an extended resource: the scheduler creates their claims itself.

Such a claim changes its UID while its devices are in flight, and the informer does not know it when
its allocation is to be assumed (kubernetes#133302).
"""

import functools
from collections.abc import Iterable

from harness.apiserver.scheme import resources
from harness.explore.worlds import world_fixtures, world_specs
from harness.explore.worlds.scheduling import competing_pods
from harness.model.objects import Object
from harness.subject.extended_resources import extended_claims

RESOURCE = f"deviceclass.resource.kubernetes.io/{world_fixtures.DEVICE_CLASS}"
"""The extended resource that the class of all devices backs."""


def pod(name: str) -> Object:
    """Return a pod that asks for one device by the extended resource, and names no claim."""
    made = world_fixtures.pod(name, "")
    ask_by_resource(made["spec"])
    return made


def ask_by_resource(spec: Object) -> None:
    """Change the spec of a pod: it asks for one device by the extended resource, not by claims."""
    del spec["resourceClaims"]
    spec["containers"][0]["resources"] = {"limits": {RESOURCE: "1"}}


class ExtendedClaims(competing_pods.CompetingPods):
    """Pods that compete for devices and name no claim; the size `claims` is their number."""

    def objects(self) -> Iterable[Object]:
        """Return a node with devices, and their class; there are no claims."""
        return (item for item in super().objects() if item["kind"] != "ResourceClaim")

    def create(self, document: Object) -> None:
        """Create an object; a pod asks for one of the extended resource and names no claim."""
        ask_by_resource(document["spec"])
        super().create(document)

    def unfinished(self) -> str | None:
        """Return what is wrong; an allocated claim that no pod names is wrong, too."""
        return super().unfinished() or self._unnamed()

    def names(self) -> dict[str, str]:
        """Return the names of claims in memory by uid: each comes from its pod."""
        return {
            extended_claims.in_memory(pod)["metadata"]["uid"]: f"the claim of {name}"
            for pod in self.documents(resources.PODS)
            for name in [pod["metadata"]["name"]]
        }

    def _unnamed(self) -> str | None:
        """Return which claim its pod does not name; None if there is none."""
        statuses = [
            pod["status"].get("extendedResourceClaimStatus") or {}
            for pod in self.documents(resources.PODS)
        ]
        named = {status.get("resourceClaimName") for status in statuses}
        unnamed = [
            claim["metadata"]["name"]
            for claim in self.documents(resources.CLAIMS)
            if "allocation" in claim.get("status", {}) and claim["metadata"]["name"] not in named
        ]
        if self.is_known_to_fail or not unnamed:
            return None
        return f"leaked: no pod names the claim {', '.join(unnamed)}"


WORLDS: dict[str, world_specs.WorldSpec] = {
    "extended-claims": world_specs.spec(
        functools.partial(ExtendedClaims, late_pods=1),
        "two pods ask for an extended resource, and a third one when a claim is allocated",
        **competing_pods.sizes(claims=3, devices=2, late_pods=1),
    ),
}
