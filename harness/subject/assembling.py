"""The parts of scheduler and claim controller for chosen defects, remedies and a release."""

from collections.abc import Iterable

from harness.subject import defects, releases, remedies, replacements, schedulers
from harness.subject.claim_control import controller_parts
from harness.subject.defects import claim_controller_defects


def parts(
    chosen_defects: Iterable[str] = (),
    chosen_remedies: Iterable[str] = (),
    release: str | None = None,
) -> schedulers.SchedulerParts:
    """Return the scheduler's parts with these defects and remedies, as of a release.

    `release` None: the default. Raises UsageError for an unknown name, or if two of them override
    the same method.
    """
    return replacements.parts(
        defects.CATALOGUE.chosen(chosen_defects)
        | remedies.CATALOGUE.chosen(chosen_remedies)
        | releases.replacements_of(release)
    )


def claim_controller_parts(
    chosen_defects: Iterable[str] = (), release: str | None = None
) -> controller_parts.ControllerParts:
    """Return the claim controller's parts with these defects of it, as of a release.

    `release` None: the default. Raises UsageError for an
    unknown name, or if two of them override the same method.
    """
    of_controller = claim_controller_defects.CATALOGUE.chosen(chosen_defects)
    chosen = of_controller | releases.replacements_of(release)
    return replacements.replaced(controller_parts.ControllerParts(), chosen)
