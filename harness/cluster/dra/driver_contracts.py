"""The calls that the DRA manager of a kubelet makes of drivers, wherever they are.

`in_process_drivers` and `socket_drivers` are implementations.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from harness.cluster.dra import claim_infos
from harness.cluster.kubelet_api import preparations
from harness.model.objects import Object

PrepareAnswers = Mapping[str, preparations.Prepared | preparations.PreparationError]
"""uid of a claim -> its devices, or why they could not be prepared."""
UnprepareAnswers = Mapping[str, preparations.PreparationError | None]
"""uid of a claim -> why it could not be unprepared; None: it is."""


class Plugin(Protocol):
    """One driver on one node. An answer should have an entry for each claim, and no others."""

    def prepare(self, claims: Sequence[Object]) -> PrepareAnswers:
        """Prepare claims, given as the API server has them; one that is prepared stays so.

        Raises CallFailedError if there is no answer.
        """

    def unprepare(self, claims: Sequence[claim_infos.ClaimInfo]) -> UnprepareAnswers:
        """Unprepare claims; one that is not prepared stays so.

        Raises CallFailedError if there is no answer.
        """


class Drivers(Protocol):
    """The drivers that kubelets can call. Thread-safe."""

    def plugin(self, driver: str, node: str) -> Plugin:
        """Return a driver, by its name, on a node.

        Raises PreparationError if it is not registered.
        """

    def is_prepared(self, info: claim_infos.ClaimInfo, node: str) -> bool:
        """Return whether a claim may still be prepared that an earlier kubelet has noted."""

    @property
    def keeps_endings(self) -> bool:
        """True if it has to be known that drivers were called to unprepare a claim: another
        kubelet cannot know how far they came."""

    def stop(self) -> None:
        """End the waits of all calls."""


class CallFailedError(preparations.PreparationError):
    """A call of a driver had no answer: whether it took effect is unknown."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__("CallFailed", message)
        self.code = code
        """Status code of gRPC: `Unavailable`, `DeadlineExceeded`, …"""


def not_registered(driver: str) -> preparations.PreparationError:
    return preparations.PreparationError("NotRegistered", f"DRA driver {driver} is not registered")
