"""The parts of scheduler, claim controller and kubelets in a world, with defects and remedies."""

import dataclasses
from collections.abc import Iterable

from harness.cluster.dra import claim_managers, kubelet_defects
from harness.subject import assembling
from harness.subject.claim_control import claim_controllers
from harness.subject.scheduling import schedulers


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChosenParts:
    """The classes that the actors of a world are made of."""

    scheduler: schedulers.SchedulerParts
    controller: claim_controllers.ControllerParts
    kubelet: claim_managers.KubeletParts


def of(defects: Iterable[str] = (), remedies: Iterable[str] = ()) -> ChosenParts:
    """Return the parts with these defects of any actor, and these remedies.

    Raises UsageError for an unknown name, or if two of them change the same method.
    """
    chosen = list(defects)
    of_kubelet = [name for name in chosen if kubelet_defects.CATALOGUE.find(name)]
    others = [name for name in chosen if name not in of_kubelet]
    return ChosenParts(
        scheduler=assembling.parts(others, remedies),
        controller=assembling.claim_controller_parts(others, remedies),
        kubelet=kubelet_defects.parts(of_kubelet),
    )
