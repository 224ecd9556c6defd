"""The classes that the controller is made of; releases and known defects replace some of them."""

import dataclasses

from harness.subject.claim_control import (
    created_claims,
    enqueuing,
    generating,
    pod_syncing,
    releasing,
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ControllerParts:
    """The parts; the defaults are the correct ones."""

    created: type[created_claims.CreatedClaims] = created_claims.CreatedClaims
    generator: type[generating.ClaimGenerator] = generating.ClaimGenerator
    pod_syncer: type[pod_syncing.PodSyncer] = pod_syncing.PodSyncer
    releaser: type[releasing.Releaser] = releasing.Releaser
    enqueuer: type[enqueuing.Enqueuer] = enqueuing.Enqueuer
