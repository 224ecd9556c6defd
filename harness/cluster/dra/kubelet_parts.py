"""The classes that the kubelets' work on claims is made of; known defects replace some of them."""

import dataclasses

from harness.cluster.dra import claim_infos, claim_managers, drivers


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class KubeletParts:
    """The parts; the defaults are the correct ones."""

    manager: type[claim_managers.ClaimManager] = claim_managers.ClaimManager
    checkpoint: type[claim_infos.Checkpoint] = claim_infos.Checkpoint
    driver: type[drivers.Driver] = drivers.Driver


CORRECT = KubeletParts()
"""No known defect."""
