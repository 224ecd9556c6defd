"""The parts of scheduler and claim controller for chosen defects, remedies and a release."""

from collections.abc import Iterable

from harness.subject import defects, releases, remedies, replacements
from harness.subject.claim_control import controller_parts
from harness.subject.defects import claim_controller_defects
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
    return replacements.parts(
        defects.CATALOGUE.chosen(_without(chosen_defects, claim_controller_defects.CATALOGUE))
        | remedies.CATALOGUE.chosen(chosen_remedies)
        | releases.replacements_of(release)
    )


def claim_controller_parts(
    chosen_defects: Iterable[str] = (),
    chosen_remedies: Iterable[str] = (),
    release: str | None = None,
) -> controller_parts.ControllerParts:
    """Return the claim controller's parts with these defects and remedies, as of a release.

    Those of the scheduler do not change it. `release` None: the default. Raises UsageError for an
    unknown name, or if two of them override the same method.
    """
    of_controller = _without(chosen_defects, defects.CATALOGUE)
    chosen = claim_controller_defects.CATALOGUE.chosen(of_controller)
    chosen |= remedies.CATALOGUE.chosen(chosen_remedies)
    chosen |= releases.replacements_of(release)
    return replacements.replaced(controller_parts.ControllerParts(), chosen)


def _without(names: Iterable[str], others: replacements.Catalogue) -> list[str]:
    """Return the names that do not belong to another part."""
    return [name for name in names if name not in others.names()]
