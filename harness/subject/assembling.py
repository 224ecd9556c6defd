"""The scheduler's parts for the chosen known defects and remedies."""

from collections.abc import Iterable

from harness.subject import defects, remedies, replacements, schedulers


def parts(
    chosen_defects: Iterable[str] = (), chosen_remedies: Iterable[str] = ()
) -> schedulers.SchedulerParts:
    """Return the scheduler's parts with these defects and remedies.

    Raises UsageError for an unknown name, or if two of them override the same method.
    """
    return replacements.parts(
        defects.CATALOGUE.chosen(chosen_defects) | remedies.CATALOGUE.chosen(chosen_remedies)
    )
