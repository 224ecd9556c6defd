"""The files that a restart leaves on a node: those of the kubelet, and of its driver."""

import dataclasses

from harness.cluster.dra import claim_infos
from harness.cluster.driver import drivers, prepared_claims


@dataclasses.dataclass(slots=True)
class KeptFiles:
    """The files of nodes, in memory."""

    checkpoint: bytes | None = None
    """The content of the checkpoint; None: there is none."""
    prepared: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    """Node and uid of the claims for which the driver has files."""


def checkpoint(kind: type[claim_infos.Checkpoint], files: KeptFiles) -> claim_infos.Checkpoint:
    """Return a checkpoint in these files."""

    class KeptCheckpoint(kind):  # type: ignore[misc,valid-type]
        def _content(self) -> bytes | None:
            return files.checkpoint

        def _replace(self, content: bytes) -> None:
            files.checkpoint = content

        def _append(self, content: bytes) -> None:
            files.checkpoint = (files.checkpoint or b"") + content

    return KeptCheckpoint(None)


def driver(kind: type[drivers.Driver], files: KeptFiles) -> type[drivers.Driver]:
    """Return the class of a driver with these files."""

    class KeptDriver(kind):  # type: ignore[misc,valid-type]
        def _configure(self, claim: prepared_claims.PreparedClaim) -> None:
            super()._configure(claim)
            files.prepared.add((claim.node, claim.uid))

        def _unconfigure(self, claim: prepared_claims.PreparedClaim) -> None:
            super()._unconfigure(claim)
            files.prepared.discard((claim.node, claim.uid))

        def _was_prepared(self, claim: prepared_claims.PreparedClaim) -> bool:
            return (claim.node, claim.uid) in files.prepared

    return KeptDriver
