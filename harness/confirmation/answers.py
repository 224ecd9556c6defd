"""The answer of one play of a script: confirmed, refuted, or not followed."""

import collections
import dataclasses
import enum
import pathlib
from collections.abc import Iterator, Sequence

from harness.checks import run_course, verdict_files, verdicts
from harness.checks.witness import audit_history
from harness.client import transports
from harness.history import directories, histories, records
from harness.model import naming
from harness.scenario import loading, script_specs

LAST_CALLS = 4
"""Number of calls that an answer names."""
_READING = frozenset({"get", "list", "watch"})
_HARNESS = frozenset({"", transports.USER_AGENT})
"""User agents of users, and of those who clean up."""
_IDLE = frozenset({"events", "leases"})
"""Resources whose writes say nothing about a script."""


class Answer(enum.StrEnum):
    """The finding after a play."""

    CONFIRMED = "confirmed"
    """One of the checks that the script expects has found a violation."""
    OTHER = "another violation"
    """A check that the script does not expect has found one."""
    REFUTED = "refuted"
    """The whole script was followed, and what it expects was examined and not violated."""
    NOT_FOLLOWED = "not followed"
    """A step did not happen in its time."""
    UNKNOWN = "unknown"
    """The script was followed, and the verdict is UNKNOWN: what it expects examined nothing, or
    evidence is missing."""

    @property
    def exit_code(self) -> int:
        codes = {Answer.CONFIRMED: 10, Answer.OTHER: 10, Answer.REFUTED: 0}
        return codes.get(self, 20)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One play of a script."""

    script: str
    answer: Answer
    sentence: str
    """The answer with its reason."""
    directory: pathlib.Path
    late_step: int | None = None
    """Number of the step that did not happen, counted from 1; None: all have."""
    last_calls: Sequence[str] = ()
    """The last writes of that play before it gave up, oldest first."""

    @property
    def page(self) -> pathlib.Path:
        return directories.RunDirectory(self.directory).report


def of_all(played: Sequence[Played]) -> Answer:
    """Return the answer of several plays.

    One that confirms is enough; refuted are scripts that were followed every time.
    """
    found = {item.answer for item in played}
    for answer in (Answer.CONFIRMED, Answer.OTHER, Answer.NOT_FOLLOWED):
        if answer in found:
            return answer
    return Answer.REFUTED if found == {Answer.REFUTED} else Answer.UNKNOWN


def of_run(
    loaded: loading.Loaded,
    judgement: verdict_files.Judgement,
    directory: directories.RunDirectory,
) -> Played:
    """Return the answer of a run. Raises TypeError if its scenario makes load."""
    script = loaded.scenario.traffic
    if not isinstance(script, script_specs.ScriptTraffic):
        raise TypeError(f"expected a script, got {script.profile}")
    steps = run_course.script_steps(histories.load(directory.path))
    late = next((item.step for item in steps if item.late), None)
    violated = [item.check for item in judgement.checks if item.verdict is verdicts.Verdict.INVALID]
    answer = _answer(script, judgement, violated, is_followed=_followed(judgement).ok)
    is_late = late is not None and answer is Answer.NOT_FOLLOWED
    return Played(
        script=judgement.scenario,
        answer=answer,
        sentence=_sentence(answer, script, judgement, steps),
        directory=directory.path,
        late_step=late,
        last_calls=last_calls(directory) if is_late else (),
    )


def _answer(
    script: script_specs.ScriptTraffic,
    judgement: verdict_files.Judgement,
    violated: Sequence[str],
    *,
    is_followed: bool,
) -> Answer:
    if violated:
        is_expected = not script.expects or bool({*script.expects} & {*violated})
        return Answer.CONFIRMED if is_expected else Answer.OTHER
    if not is_followed:
        return Answer.NOT_FOLLOWED
    is_valid = judgement.verdict is verdicts.Verdict.VALID
    return Answer.REFUTED if is_valid else Answer.UNKNOWN


def _followed(judgement: verdict_files.Judgement) -> verdicts.CertificateItem:
    return next(item for item in judgement.certificate if item.name == run_course.SCRIPT)


def _sentence(
    answer: Answer,
    script: script_specs.ScriptTraffic,
    judgement: verdict_files.Judgement,
    steps: Sequence[records.ScriptStep],
) -> str:
    subject = judgement.subject_name
    about = f"{answer} ({'the correct subject' if subject == 'correct' else subject})"
    if answer is Answer.NOT_FOLLOWED:
        return f"{about}: {_followed(judgement).reason}"
    if answer is Answer.REFUTED:
        met = "; ".join([f"all {len(script.steps)} steps happened", *_met(script, steps)])
        return f"{about}: {met}; nothing is violated; {_examined(script, judgement)}"
    if answer is Answer.OTHER:
        expected = " or ".join(script.expects)
        return f"{about}: expected {expected} to be violated, but {judgement.reason}"
    late = [item.step for item in steps if item.late]
    without = f", although step {late[0]} did not happen" if late else ""
    return f"{about}{without}: {judgement.reason}"


def _met(script: script_specs.ScriptTraffic, steps: Sequence[records.ScriptStep]) -> Iterator[str]:
    """Yield whether each state was reached for which the script waits a while only.

    These are steps that a program without the defect need not come to.
    """
    for step, record in zip(script.steps, steps, strict=False):
        if isinstance(step, script_specs.Await) and step.at_most_s:
            late = "" if record.seen else f" in {step.at_most_s:g} s"
            yield f"{step.object} was {'not ' * bool(late)}{step.state}{late}"


def _examined(script: script_specs.ScriptTraffic, judgement: verdict_files.Judgement) -> str:
    names = script.expects or [item.check for item in judgement.checks]
    examined = [item for item in judgement.checks if item.check in names]
    return "; ".join(f"{item.check}: {item.reason}" for item in examined)


def last_calls(directory: directories.RunDirectory) -> list[str]:
    found = collections.deque(_writes(directory), maxlen=LAST_CALLS)
    return list(found)


def _writes(directory: directories.RunDirectory) -> Iterator[str]:
    for event in audit_history.AuditReader(directory.audit_logs()):
        reference = event.objectRef
        if event.verb in _READING or reference is None or reference.resource in _IDLE:
            continue
        agent = event.userAgent.partition(" ")[0]
        if event.stage != "ResponseComplete" or agent in _HARNESS:
            continue
        parts = (reference.resource, reference.name, reference.subresource)
        target = "/".join(part for part in parts if part)
        code = event.responseStatus.code if event.responseStatus else "no answer"
        yield f"{event.verb} {target} by {naming.process_of(agent) or agent} ({code})"
