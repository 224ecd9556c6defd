"""The parts of scheduler and claim controller for chosen defects, remedies and a release."""

from collections.abc import Iterable

from harness.extensions import replacements
from harness.subject import defects, releases, remedies
from harness.subject.claim_control import claim_controllers
from harness.subject.scheduling import schedulers


def parts(
    chosen_defects: Iterable[str] = (),
    chosen_remedies: Iterable[str] = (),
    release: str | None = None,
) -> schedulers.SchedulerParts:
    """Return the scheduler's parts with these defects and remedies, as of a release.

    Those of the claim controller do not change it. `release` None: the default. Raises UsageError
    for an unknown name, or if two of them override the same method.
    """
    chosen = _chosen(chosen_defects, chosen_remedies, release)
    return replacements.replaced(schedulers.SchedulerParts(), chosen)


def claim_controller_parts(
    chosen_defects: Iterable[str] = (),
    chosen_remedies: Iterable[str] = (),
    release: str | None = None,
) -> claim_controllers.ControllerParts:
    """Return the claim controller's parts, likewise; those of the scheduler do not change it."""
    chosen = _chosen(chosen_defects, chosen_remedies, release)
    return replacements.replaced(claim_controllers.ControllerParts(), chosen)


def _chosen(
    chosen_defects: Iterable[str], chosen_remedies: Iterable[str], release: str | None
) -> dict[str, replacements.Replacement]:
    return (
        defects.CATALOGUE.chosen(chosen_defects)
        | remedies.CATALOGUE.chosen(chosen_remedies)
        | releases.replacements_of(release)
    )
