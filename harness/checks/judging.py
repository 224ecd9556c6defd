"""From a run directory to its verdict: fold the observations, certify the evidence, run the checks.

Deterministic: judging a directory twice gives the same bytes. A check that raises is UNKNOWN with
the exception as its reason, and so is damaged evidence.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import msgspec

from harness import errors, writing
from harness.checks import (
    certificate,
    check_inputs,
    conclusions,
    device_exclusivity,
    fault_attribution,
    fault_records,
    figures,
    hold_history,
    observed_runs,
    pool_changes,
    preparations,
    verdicts,
)
from harness.checks.claim_control import controller_records, reservations
from harness.checks.consumption import device_consumption
from harness.checks.nodes import (
    container_parameters,
    device_readiness,
    extended_claims,
    leftover_preparations,
    prepared_devices,
)
from harness.checks.progress import (
    claim_progress,
    resource_leaks,
    scheduler_books,
    written_books,
)
from harness.checks.schedulers import (
    scheduler_attribution,
    scheduler_exclusivity,
    scheduler_identities,
)
from harness.checks.taints import attempt_views, tainted_devices
from harness.history import directories, files, histories, plans

SCHEMA_VERSION = 5
"""Schema of verdict.json."""


def _always(plan: plans.Plan) -> bool:
    del plan
    return True


@dataclasses.dataclass(frozen=True, slots=True)
class Check:
    """A guarantee and the pure function that checks it."""

    name: str
    promise: str
    """The guarantee as a clause."""
    run: Callable[[check_inputs.CheckInput], verdicts.Answer]
    applies: Callable[[plans.Plan], bool] = _always
    """Return True if a run with this plan owes the guarantee; others have no result of it."""


CHECKS: tuple[Check, ...] = (
    Check(
        device_exclusivity.NAME,
        device_exclusivity.PROMISE,
        lambda given: device_exclusivity.check(given.folded, given.declared.is_shareable),
    ),
    Check(
        device_consumption.NAME,
        device_consumption.PROMISE,
        lambda given: device_consumption.check(given.folded, given.declared),
        applies=device_consumption.applies,
    ),
    Check(
        scheduler_exclusivity.NAME,
        scheduler_exclusivity.PROMISE,
        lambda given: scheduler_exclusivity.check(given.folded, given.schedulers),
        applies=scheduler_identities.are_several,
    ),
    Check(
        leftover_preparations.NAME,
        leftover_preparations.PROMISE,
        lambda given: leftover_preparations.check(given.prepared, given.final, given.phases),
        applies=leftover_preparations.applies,
    ),
    Check(
        controller_records.NAME,
        controller_records.PROMISE,
        lambda given: controller_records.check(given.controller, given.plan, given.faults),
        applies=controller_records.applies,
    ),
    Check(
        reservations.NAME,
        reservations.PROMISE,
        lambda given: reservations.check(given.reserved),
        applies=reservations.applies,
    ),
    Check(
        tainted_devices.NAME,
        tainted_devices.PROMISE,
        lambda given: tainted_devices.check(given.folded, given.taints, given.views),
        applies=tainted_devices.applies,
    ),
    Check(
        claim_progress.NAME,
        claim_progress.PROMISE,
        claim_progress.check,
        applies=claim_progress.applies,
    ),
    Check(
        resource_leaks.NAME,
        resource_leaks.PROMISE,
        resource_leaks.check,
        applies=resource_leaks.applies,
    ),
    Check(
        prepared_devices.NAME,
        prepared_devices.PROMISE,
        lambda given: prepared_devices.check(given.prepared, given.folded.holds),
        applies=prepared_devices.applies,
    ),
    Check(
        device_readiness.NAME,
        device_readiness.PROMISE,
        lambda given: device_readiness.check(given.readiness),
        applies=device_readiness.applies,
    ),
    Check(
        container_parameters.NAME,
        container_parameters.PROMISE,
        lambda given: container_parameters.check(given.plan, given.started, given.parameters),
        applies=container_parameters.applies,
    ),
    Check(
        extended_claims.NAME,
        extended_claims.PROMISE,
        lambda given: extended_claims.check(given.plan.settings, given.extended),
        applies=extended_claims.applies,
    ),
    Check(
        scheduler_books.NAME,
        scheduler_books.PROMISE,
        scheduler_books.check,
        applies=scheduler_books.applies,
    ),
)
"""All checks; verdict.json, the report, JUnit and the terminal show their results in this order."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict about a run and everything it rests on: the content of verdict.json."""

    schema: int = SCHEMA_VERSION
    run_id: str
    scenario: str
    subject: str
    defects: list[str]
    remedies: list[str]
    seed: int
    verdict: verdicts.Verdict
    reason: str
    certificate: list[certificate.Item]
    checks: list[verdicts.CheckResult]
    not_examined: list[verdicts.NotExamined]
    """The guarantees about which the run says nothing, also those that its plan does not owe."""
    figures: figures.Figures
    evidence: dict[str, str]
    """Name of every judged file -> its SHA-256."""

    @property
    def subject_title(self) -> str:
        """The subject for titles: its defects and remedies, or its kind."""
        kind = "python" if self.remedies else "correct subject"
        base = self.subject if self.subject != "python" else kind
        return " + ".join([", ".join(self.defects) or base, *self.remedies])

    def violations_of(self, check: str) -> int:
        """Return the number of violations that a check found; 0 if it did not run."""
        return sum(item.violation_count for item in self.checks if item.check == check)

    @property
    def exit_code(self) -> int:
        """Exit code of a command that ends with this judgement."""
        return self.verdict.exit_code


@dataclasses.dataclass(frozen=True, slots=True)
class Examination:
    """A judgement together with the history it was made from."""

    history: histories.History
    folded: hold_history.HoldHistory
    faults: fault_records.FaultRecords
    judgement: Judgement


def judge(directory: directories.RunDirectory) -> Judgement:
    """Return the judgement of a run directory. Damaged evidence gives UNKNOWN.

    Raises RunDirectoryError if it is not a run directory.
    """
    return examine(directory).judgement


def examine(directory: directories.RunDirectory) -> Examination:
    """Judge a run directory and keep the history.

    Raises RunDirectoryError if it is not a run directory.
    """
    history = histories.load(directory.path)
    faults = fault_records.read(history)
    observed = observed_runs.observe(history)
    folded = observed.folded
    schedulers = scheduler_identities.SchedulersOfHolds(
        scheduler_identities.planned(history.plan), observed.writers
    )
    prepared = preparations.read(history)
    changed = pool_changes.read(history)
    items, operations = certificate.certify(history, observed, faults, prepared, changed)
    given = check_inputs.CheckInput(
        plan=history.plan,
        folded=folded,
        final=observed.final,
        reserved=observed.reserved,
        controller=observed.controller,
        faults=faults,
        prepared=prepared.prepared,
        started=prepared.started,
        parameters=observed.parameters,
        extended=observed.extended,
        readiness=observed.readiness,
        schedulers=schedulers,
        declared=observed.declared,
        phases=tuple(history.phases),
        books=_books(history),
        taints=observed.taints,
        views=_views(history),
    )
    doubt, demanded = _doubt(history), history.plan.requirements.examined
    answers = (_answer(check, given, doubt) for check in CHECKS)
    found, others = conclusions.divided(answers, demanded)
    items = conclusions.require_examined(items, found, demanded)
    results = fault_attribution.attribute(found, folded, faults)
    if scheduler_identities.are_several(history.plan):
        results = scheduler_attribution.attribute(
            results, folded, schedulers, are_elected=_are_elected(history.plan)
        )
    measured = figures.measure(
        history, folded, operations, results, prepared.totals, changed.totals
    )
    verdict, reason = conclusions.conclude(items, results, measured)
    plan = history.plan
    judgement = Judgement(
        run_id=plan.run_id,
        scenario=plan.scenario,
        subject=plan.subject,
        defects=plan.defects,
        remedies=plan.remedies,
        seed=plan.seed,
        verdict=verdict,
        reason=reason,
        certificate=items,
        checks=results,
        not_examined=others,
        figures=measured,
        evidence=history.digests(),
    )
    return Examination(history, folded, faults, judgement)


def _are_elected(plan: plans.Plan) -> bool:
    return bool((plan.settings.get("subject") or {}).get("leader_election"))


def _views(history: histories.History) -> dict[str, attempt_views.View]:
    """Return what the scheduler knew in its attempts, if a check asks for it."""
    if not tainted_devices.applies(history.plan):
        return {}
    return attempt_views.read(history, tainted_devices.SCHEDULER)


def _books(history: histories.History) -> dict[str, written_books.Books | None]:
    """Return the schedulers' books if a check asks for them; steps of another form are no books."""
    if not scheduler_books.applies(history.plan):
        return {}
    return written_books.read_all(history, but=scheduler_books.CONTROLLER)


def encode(judgement: Judgement) -> bytes:
    """Return the content of verdict.json, indented."""
    return msgspec.json.format(msgspec.json.encode(judgement), indent=2) + b"\n"


def write(directory: directories.RunDirectory, judgement: Judgement) -> None:
    """Replace verdict.json atomically."""
    writing.replace(directory.verdict, encode(judgement))


def read(directory: directories.RunDirectory) -> dict[str, Any]:
    """Return the document in verdict.json.

    Raises VerdictError if it is missing, damaged, or has another schema.
    """
    try:
        content = files.read_small(directory.verdict)
        schema = msgspec.json.decode(content, type=_Head).schema
        document: dict[str, Any] = msgspec.json.decode(content)
    except (errors.HistoryError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _reject(directory, f"expected the verdict of a run ({error})") from error
    if schema != SCHEMA_VERSION:
        raise _reject(directory, f"expected schema {SCHEMA_VERSION}, got {schema}")
    return document


class _Head(msgspec.Struct):
    schema: int
    evidence: dict[str, str] = {}


def require_own(directory: directories.RunDirectory, judgement: Judgement) -> None:
    """Reject a verdict.json that differs from this judgement of the evidence beside it.

    Raises VerdictError if the evidence was changed, or if the verdict was edited, copied from
    another run, or written by another version of the judges.
    """
    document = read(directory)
    run_id = document.get("run_id")
    if run_id != judgement.run_id:
        raise _reject(
            directory, f"expected the verdict on run {judgement.run_id}, got that on {run_id!r:.60}"
        )
    evidence = document.get("evidence", {})
    changed = sorted(
        name
        for name in evidence.keys() | judgement.evidence.keys()
        if evidence.get(name) != judgement.evidence.get(name)
    )
    if changed:
        raise _reject(directory, f"the evidence has changed since ({', '.join(changed)} differ)")
    if document != msgspec.to_builtins(judgement):
        raise _reject(directory, "it was edited, or written by another version of Flake Hunt")


def _reject(directory: directories.RunDirectory, why: str) -> errors.VerdictError:
    return errors.VerdictError(
        f"{directory.verdict}: {why}. Judge the run again: flake-hunt check {directory.path}"
    )


def _doubt(history: histories.History) -> str:
    """Return why no check can be run; empty if nothing is against it.

    Every check reads the plan. A changed journal is treated as a damaged one, so that only the
    checks which read it have nothing to examine.
    """
    change = history.compared.changes.get(history.directory.plan.name)
    return f"plan.json {change}, so nothing was checked" if change else ""


def _answer(check: Check, given: check_inputs.CheckInput, doubt: str) -> verdicts.Answer:
    if not check.applies(given.plan):
        return verdicts.NotExamined(
            check=check.name, promise=check.promise, reason="the plan does not ask for it"
        )
    if doubt:
        return _unknown(check, doubt)
    try:
        return check.run(given)
    except Exception as error:  # noqa: BLE001 - no error of a check is a verdict about the subject
        return _unknown(check, f"the check failed: {error!r}")


def _unknown(check: Check, reason: str) -> verdicts.CheckResult:
    return verdicts.CheckResult(
        check=check.name,
        promise=check.promise,
        verdict=verdicts.Verdict.UNKNOWN,
        examined_count=0,
        violation_count=0,
        violations=[],
        others=[],
        reason=reason,
    )
