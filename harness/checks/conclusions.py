"""The conclusion of a run: its verdict in one sentence, from its checks and its certificate.

Guarantees about which a run says nothing take no part in the verdict, unless the run owes them:
device exclusivity, or what a script expects, and what its scenario demands (`load.examined`,
`limits.progress_s`). A VALID run names those that it could not judge, and those about what it used
(`used_features`) of which it judged nothing, or not all; of exclusivity it always says so.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from harness.checks import (
    certification,
    device_exclusivity,
    findings,
    plan_facts,
    protocol,
    run_figures,
    threshold_results,
    verdict_files,
    verdicts,
)
from harness.checks.evidence import used_features
from harness.checks.progress import claim_progress, resource_leaks
from harness.history import plans, records, subject_names

ALWAYS = frozenset({device_exclusivity.CHECK.name})
"""Checks without whose answer no run is VALID, but scripts that are about others."""
_AT_REST = (claim_progress.CHECK.name, resource_leaks.RESOURCE_LEAKS.name)
_LOAD = "load"
"""Name of the certificate's item about the load."""
_OWED_AT_THE_END = frozenset({_LOAD, "contention", "pool-changes", "faults"})
"""Items that ask for amounts of what the scenario demands, which only a run to its planned end
owes."""
_FOUND = "found"
"""Name of the phase in which a run ends because its violation was found."""


def judgement(
    evidence: protocol.Evidence, answers: Iterable[verdicts.Answer], measured: run_figures.Figures
) -> verdict_files.Judgement:
    history, plan = evidence.history, evidence.plan
    answers = _without_vacuous(answers, plan) if plan_facts.is_scripted(plan) else answers
    results, not_examined = divided(answers, owed(plan, _AT_REST))
    items = require_examined(
        evidence[certification.Certificate], results, plan.requirements.examined
    )
    digests = history.digests()
    asked = evidence[used_features.UsedFeatures].asked
    unseen = [*_unseen(results, not_examined, asked)]
    is_certified = all(item.ok for item in items)
    bounds = threshold_results.of_run(plan.thresholds, measured, is_certified=is_certified)
    verdict, reason = conclude(items, results, measured, bounds, unseen=unseen)
    was_ended = was_ended_as_planned(verdict, plan, history.phases)
    return verdict_files.Judgement(
        run_id=plan.run_id,
        scenario=plan.scenario,
        subject=plan.subject,
        subject_name=subject_names.of_plan(plan),
        defects=plan.defects,
        remedies=plan.remedies,
        seed=plan.seed,
        verdict=verdict,
        reason=reason,
        ended_by_violation=was_ended,
        certificate=excuse(items) if was_ended else items,
        checks=results,
        not_examined=not_examined,
        unexamined=unseen,
        thresholds=bounds,
        campaign_figures=threshold_results.for_campaign(
            plan.thresholds, measured, is_certified=is_certified
        ),
        figures=measured,
        evidence=digests,
        manifest=digests.get(history.directory.manifest.name, ""),
        judges=verdict_files.present(),
    )


def owed(plan: plans.Plan, at_rest: Iterable[str]) -> frozenset[str]:
    """Return the names of the checks that a plan asks for: none of its runs is VALID without them.

    `at_rest` are those of what is so at the end, for which a plan gives its `progress_s`.
    """
    asked = at_rest if plan.progress_s is not None else ()
    about = plan_facts.expected(plan) or ALWAYS
    return frozenset((*plan.requirements.examined, *asked, *about))


def _unseen(
    results: Iterable[verdicts.CheckResult],
    others: Iterable[verdicts.NotExamined],
    asked: Collection[str],
) -> Iterator[str]:
    """Yield the guarantees that were not examined, or not for all that they are about.

    `asked` are the names of the checks about what the run used; of others, those count that the run
    could not judge, although it had what they are about.
    """
    asked = {*asked, *ALWAYS}
    for item in others:
        is_idle = item.reason == findings.NOT_ASKED or item.is_vacuous
        if item.check in asked or not is_idle:
            yield item.check
    for result in results:
        if result.unexamined_count and result.check in asked:
            yield f"{result.check} ({verdicts.times(result.unexamined_count)})"
        elif not result.examined_count and result.check in asked:
            yield result.check


def _without_vacuous(
    answers: Iterable[verdicts.Answer], plan: plans.Plan
) -> Iterator[verdicts.Answer]:
    """Yield the answers about a script; it is short, and many guarantees are not touched by it."""
    for answer in answers:
        is_about_it = plan_facts.expects(plan, answer.check)
        if isinstance(answer, verdicts.CheckResult) and answer.is_vacuous and not is_about_it:
            yield answer.as_not_examined()
        else:
            yield answer


def divided(
    answers: Iterable[verdicts.Answer], owed: Collection[str]
) -> tuple[list[verdicts.CheckResult], list[verdicts.NotExamined]]:
    """Return the results of a run, and the guarantees about which it says nothing.

    A check that must examine something and did not is UNKNOWN. `owed` are names of checks.
    """
    results: list[verdicts.CheckResult] = []
    others: list[verdicts.NotExamined] = []
    answers = list(answers)
    gone = set(owed).difference(answer.check for answer in answers)
    missing = [
        verdicts.NotExamined(check=name, promise="", reason=f"no check {name} took part")
        for name in sorted(gone)
    ]
    for answer in (*answers, *missing):
        if isinstance(answer, verdicts.CheckResult):
            results.append(answer)
        elif answer.check in owed:
            results.append(answer.as_unknown())
        else:
            others.append(answer)
    return results, others


def require_examined(
    items: Sequence[verdicts.CertificateItem],
    results: Iterable[verdicts.CheckResult],
    demanded: Sequence[str],
) -> list[verdicts.CertificateItem]:
    """Return the certificate, without "yes" for the load if a demanded check examined nothing."""
    counts = {result.check: result.examined_count for result in results}
    missing = [name for name in demanded if not counts.get(name)]
    if not missing:
        return list(items)
    why = f"nothing was examined by {', '.join(missing)}"
    return [_without(item, why) if item.name == _LOAD else item for item in items]


def _without(item: verdicts.CertificateItem, why: str) -> verdicts.CertificateItem:
    reason = why if item.ok else f"{item.reason}; {why}"
    return msgspec.structs.replace(item, ok=False, reason=reason)


def was_ended_as_planned(
    verdict: verdicts.Verdict, plan: plans.Plan, phases: Iterable[records.Phase]
) -> bool:
    """Return whether a violation ended the run, as planned: it owes no full load, and no rest.

    Only an INVALID verdict excuses it: without a violation, an item that does not hold is missing.
    """
    was_found = plan.until_found and any(phase.name == _FOUND for phase in phases)
    return was_found and verdict is verdicts.Verdict.INVALID


def excuse(items: Iterable[verdicts.CertificateItem]) -> list[verdicts.CertificateItem]:
    return [
        msgspec.structs.replace(item, needed=item.ok or item.name not in _OWED_AT_THE_END)
        for item in items
    ]


def conclude(
    items: Iterable[verdicts.CertificateItem],
    results: Sequence[verdicts.CheckResult],
    measured: run_figures.Figures,
    bounds: Sequence[threshold_results.Result] = (),
    *,
    unseen: Sequence[str] = (),
) -> tuple[verdicts.Verdict, str]:
    """Return the worst verdict of checks and thresholds, with its reason in one sentence.

    An incomplete certificate turns VALID into UNKNOWN; it does not weaken INVALID. `unseen` are
    guarantees that were not examined, as the sentence names them.
    """
    of_checks = verdicts.worst(result.verdict for result in results)
    verdict = verdicts.worst([of_checks, threshold_results.worst(bounds)])
    missing = [item for item in items if not item.ok]
    if verdict is verdicts.Verdict.INVALID:
        broken = [_violated(results)] if of_checks is verdict else []
        return verdict, "; ".join([*broken, *threshold_results.sentences(bounds, verdict)])
    if missing:
        told = "; ".join(f"{item.name}: {item.reason}" for item in missing)
        return verdicts.Verdict.UNKNOWN, told
    if verdict is verdicts.Verdict.UNKNOWN:
        left = [f"{item.check}: {item.reason}" for item in results if item.verdict is verdict]
        reasons = [*left, *threshold_results.sentences(bounds, verdict)]
        return verdict, "; ".join(reasons) or "no guarantee was examined"
    return verdict, _kept(results, measured, bounds, unseen)


def _violated(results: Iterable[verdicts.CheckResult]) -> str:
    broken = [item for item in results if item.verdict is verdicts.Verdict.INVALID]
    names = " and ".join(
        f"{item.check} ({verdicts.times(item.violation_count)})" for item in broken
    )
    verb = "is" if len(broken) == 1 else "are"
    return f"{names} {verb} violated: {broken[0].reason}"


def _kept(
    results: Sequence[verdicts.CheckResult],
    measured: run_figures.Figures,
    bounds: Sequence[threshold_results.Result],
    unseen: Sequence[str],
) -> str:
    allocations = verdicts.counted(measured.allocations, "allocation")
    devices = verdicts.counted(measured.devices, "device")
    pods = verdicts.counted(measured.pods_running, "pod")
    held = f"{verdicts.counted(len(results), 'guarantee')} hold{'s' * (len(results) == 1)}"
    claims = verdicts.counted(measured.claims, "claim")
    parts = [f"{held}: {allocations} of {devices}, {claims}, {pods} that ran"]
    if bounds:
        parts.append(f"{verdicts.counted(len(bounds), 'threshold')} met")
    if unseen:
        parts.append(f"not examined: {', '.join(unseen)}")
    left = [item for item in results if item.reason.endswith(verdicts.LEFT_OUT)]
    return "; ".join([*parts, *(f"{item.check}: {item.reason}" for item in left)])
