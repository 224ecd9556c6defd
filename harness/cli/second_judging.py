"""`flake-hunt check --second-judge`: exclusivity is counted in SQL, too, and both must agree.

The comparison is an item of the certificate that is shown; a difference makes the verdict UNKNOWN.
"""

import contextlib
import dataclasses
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from harness.checks import judging, verdict_files
    from harness.tables import second_judge

_QUESTION = "Does SQL, which folds the holds by itself, count the same double allocations?"


def judged_twice(examination: "judging.Examination") -> "judging.Examination":
    """Return the examination with the second judge's item, and its verdict after it.

    Raises UsageError without DuckDB.
    """
    from harness.tables import second_judge

    compared = second_judge.compare(examination.history.directory, _counted(examination))
    judgement = _with_item(examination.judgement, compared)
    return dataclasses.replace(examination, judgement=judgement)


def said(judgement: "verdict_files.Judgement") -> str:
    """Return what the second judge's item says, in a line."""
    item = judgement.certificate[-1]
    return f"{item.name}: {item.reason}"


def _counted(examination: "judging.Examination") -> "second_judge.Count":
    """Return what the check counts in all observations, also in those that are in doubt."""
    from harness.checks import device_exclusivity
    from harness.checks.consumption import declared_devices
    from harness.checks.observed import folders, observations
    from harness.model import quantities
    from harness.tables import second_judge

    declared = declared_devices.DeclaredDevices()
    body = examination.history.observations()
    # After such an object the verdict is UNKNOWN already: the fold of the check ended there, too.
    with contextlib.suppress(observations.ObjectError, quantities.QuantityError):
        folders.fold(() if body is None else body, declared)
    found = device_exclusivity.check(examination.folded, declared.is_shareable)
    return second_judge.Count(found.examined_count, found.violation_count)


def _with_item(
    judgement: "verdict_files.Judgement", compared: "second_judge.Comparison"
) -> "verdict_files.Judgement":
    from harness.checks import verdicts
    from harness.checks.certificate import certificate_items
    from harness.tables import second_judge

    item = certificate_items.Item(
        name=second_judge.NAME, question=_QUESTION, ok=compared.ok, reason=compared.reason
    )
    shown = msgspec.structs.replace(judgement, certificate=[*judgement.certificate, item])
    if compared.ok:
        return shown
    return msgspec.structs.replace(
        shown, verdict=verdicts.Verdict.UNKNOWN, reason=f"{second_judge.NAME}: {compared.reason}"
    )
