"""Asks all questions of the certificate.

A run is not asked about what its plan does not have: contention, faults, preparations, changes of
pools, dense revisions, an audit log.
"""

import dataclasses
from collections.abc import Callable

from harness.checks.certificate import (
    certificate_items,
    journal_items,
    observation_items,
    run_course,
)
from harness.checks.evidence import contention, pool_changes
from harness.checks.faults import fault_records
from harness.checks.pods import unbound_pods
from harness.checks.witness import testimony
from harness.history import last_words
from harness.model import naming


def _always(given: certificate_items.Evidence) -> bool:
    del given
    return True


@dataclasses.dataclass(frozen=True, slots=True)
class _Question:
    """An item before it is answered."""

    name: str
    text: str
    answer: Callable[[certificate_items.Evidence], certificate_items.ItemResult]
    applies: Callable[[certificate_items.Evidence], bool] = _always


_FILES = _Question("files", "Is every file undamaged and part of this run?", journal_items.files)
"""The first item, answered last: the other answers read the files and find the damage."""
_QUESTIONS = (
    _Question("manifest", "Is every file as the run left it?", journal_items.unchanged),
    _Question(
        "recorder", "Was the recorder stopped in an orderly way?", observation_items.recorder
    ),
    _Question(
        "first-lists",
        "Was every resource listed before it was watched?",
        observation_items.first_lists,
    ),
    _Question("no-gaps", "Were the watches free of gaps?", observation_items.gaps),
    _Question("order", "Did resourceVersions only increase?", observation_items.order),
    _Question(
        "final-lists",
        "Does the final list match the state that the events add up to?",
        observation_items.final_lists,
    ),
    _Question("records", "Does each record agree with its object?", observation_items.agreement),
    _Question("lives", "Were the lives of all objects lawful?", observation_items.lives),
    _Question("lists", "Do the lists fit the events around them?", observation_items.lists),
    _Question(
        "final-objects",
        "Is each object of the final list as it was last observed?",
        observation_items.final_objects,
    ),
    _Question(
        "references",
        "Was everything observed that pods and claims name?",
        observation_items.named_objects,
    ),
    _Question(
        "revisions",
        "Was every revision of the cluster observed?",
        observation_items.dense_revisions,
        lambda given: given.plan.dense_revisions,
    ),
    _Question(
        "operations",
        "Was every API call of the load journaled to completion?",
        journal_items.operations,
    ),
    _Question(
        "writes",
        "Is the record of the subject's writes complete?",
        journal_items.writes,
        lambda given: bool(given.plan.expected_writes),
    ),
    _Question(
        "acknowledged",
        "Was every acknowledged write observed at its version?",
        observation_items.acknowledged,
    ),
    _Question("steps", "Is the record of the scheduler's steps complete?", journal_items.steps),
    _Question(
        "processes",
        "Did every planned process run until it was stopped?",
        lambda given: run_course.processes(given.history),
    ),
    _Question(
        "in-time",
        "Did the run come to its end, and every phase within its time limit?",
        lambda given: run_course.phases(given.history),
    ),
    _Question("load", "Was there enough load for a meaningful verdict?", journal_items.load),
    _Question(
        "contention",
        "Did claims compete for devices?",
        lambda given: contention.answer(
            given.observed.folded, given.observed.waiting, given.plan.requirements.reuse_min
        ),
        lambda given: contention.applies(given.plan),
    ),
    _Question(
        "preparations",
        "Is the record of the claims prepared on nodes complete?",
        journal_items.preparations,
        lambda given: bool(given.plan.expected_preparations),
    ),
    _Question(
        "pool-changes",
        "Did every change of the pools that the scenario demands happen?",
        lambda given: pool_changes.answer(given.changed, given.plan.pool_changes),
        lambda given: bool(given.plan.pool_changes),
    ),
    _Question(
        "faults",
        "Did every fault that the scenario demands take effect?",
        lambda given: fault_records.answer(given.faults),
        lambda given: given.faults.is_expected,
    ),
    _Question(
        testimony.NAME,
        testimony.QUESTION,
        lambda given: testimony.answer(given.told),
        lambda given: given.told is not None,
    ),
)


def certify(given: certificate_items.Evidence) -> list[certificate_items.Item]:
    """Answer all questions."""
    asked = [question for question in _QUESTIONS if question.applies(given)]
    answers = {question.name: question.answer(given) for question in asked}
    cause = _name_cause(answers, given)
    answers[_FILES.name] = journal_items.files(given)
    items = [_item(question, *answers[question.name]) for question in (_FILES, *asked)]
    return sorted(items, key=lambda item: item.name != cause)


def _item(question: _Question, ok: bool, reason: str) -> certificate_items.Item:  # noqa: FBT001
    return certificate_items.Item(name=question.name, question=question.text, ok=ok, reason=reason)


def _name_cause(
    answers: dict[str, certificate_items.ItemResult], given: certificate_items.Evidence
) -> str:
    """Name the cause of what is missing, if it is known; return the item that explains most.

    That is a scheduler that has ended, or pods that were not bound; otherwise, the most frequent
    API error usually is the cause of missing load or of a failed load process.
    """
    if run_course.scheduler_failed(given.history):
        return "processes"
    short = [name for name in ("load", "contention") if not answers.get(name, (True, ""))[0]]
    reasons = _why_unbound(given) if short else []
    if reasons:
        answers[short[0]] = False, "; ".join([*reasons, answers[short[0]][1]])
        return short[0]
    failed = ["processes"] if run_course.traffic_failed(given.history) else []
    for name in [*short, *failed]:
        ok, reason = answers[name]
        if not ok and given.operations.most_frequent_error:
            answers[name] = ok, f"{reason}; {given.operations.most_frequent_error}"
            break
    return ""


def _why_unbound(given: certificate_items.Evidence) -> list[str]:
    """Return why pods were not bound; with a panic that a scheduler has survived."""
    reasons = unbound_pods.reasons(given.history)
    said = last_words.of_log(given.history.directory.log(naming.scheduler(0)), or_last_line=False)
    return [*reasons, f"its log has: {said}"] if reasons and said else reasons
