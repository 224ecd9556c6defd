"""The questions to every release: findings by their scripts, the two races, and regressions."""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from harness import errors, suggestions
from harness.campaign.releases import programs
from harness.checks import device_exclusivity
from harness.run.defects import known_defects
from harness.scenario import hazards, loading, script_specs

RACES = "kubernetes#136269"
"""The finding that loads show, and no script: the order of two locks cannot be commanded."""
RACING = ("uses-all-resources", "pod-churn")
"""The scenarios that show it."""
Group = Literal["hazard", "race", "regress"]
_OF_PARTS: dict[str, programs.Program] = {
    "scheduler": programs.SCHEDULER,
    "claim-controller": programs.CONTROLLER,
}


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario that shows a finding in one program."""

    finding: str
    """The id of its page, such as `H1`; of a regression, the name of the scenario."""
    title: str
    scenario: str
    program: programs.Program
    group: Group
    checks: list[str]
    """Checks one of which finds the violation; empty: any."""
    is_script: bool


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A finding about which no release is asked."""

    finding: str
    title: str
    reason: str


def every() -> list[Question]:
    """Return all questions, each scenario once for a program.

    Raises ScenarioError if a shipped scenario cannot be loaded.
    """
    questions = [*_of_hazards(), *_of_races(), *_of_regress()]
    first = {(item.scenario, item.program): item for item in reversed(questions)}
    return [item for item in questions if item is first[item.scenario, item.program]]


def chosen(only: Sequence[str]) -> list[Question]:
    """Return the questions about these findings, scenarios or groups; all, if `only` is empty.

    Raises UsageError for a name that is none.
    """
    questions = every()
    if not only:
        return questions
    wanted = {name.casefold() for name in only}
    known = {alias: item for item in questions for alias in _aliases(item)}
    for name in only:
        if name.casefold() not in known:
            raise _unknown(name, questions)
    return [item for item in questions if wanted & set(_aliases(item))]


def left_out() -> list[LeftOut]:
    """Return the findings about which no release is asked, with the reason."""
    asked = {item.finding for item in every()}
    pages = (page.hazard for page in hazards.pages().values())
    return [
        LeftOut(finding=hazard.id, title=hazard.title, reason=_why_not(hazard))
        for hazard in pages
        if hazard.id not in asked
    ]


def _why_not(hazard: hazards.Hazard) -> str:
    if not hazard.parts:
        return hazard.status
    if not any(part in (*programs.PLAYED, programs.API_SERVER) for part in hazard.parts):
        return f"it is one of {', '.join(hazard.parts)}, of which there are no releases"
    return "no script and no scenario shows it on a real program"


def _aliases(question: Question) -> Iterator[str]:
    yield from (question.finding.casefold(), question.title.casefold(), question.scenario)
    yield question.group


def _unknown(name: str, questions: Sequence[Question]) -> errors.UsageError:
    missing = next(
        (item for item in left_out() if item.finding.casefold() == name.casefold()), None
    )
    if missing is not None:
        return errors.UsageError(
            f"--only: no release can be asked about {missing.finding}: {missing.reason}"
        )
    known = list(dict.fromkeys(item.finding for item in questions))
    listed = suggestions.listed(name, known, title="Findings", where="docs/findings")
    return errors.UsageError(
        f"--only: expected a finding, a scenario, or one of the groups hazard, race and regress, "
        f"got {name!r}.{listed}"
    )


def _of_hazards() -> Iterator[Question]:
    """Yield a question for each script; for a hazard that has none, for each load that shows it."""
    scripts = {name: loading.load(name).scenario.known_to_fail for name in loading.script_names()}
    for page in hazards.pages().values():
        program = _program(page.hazard)
        if program is None or page.hazard.id == RACES:
            continue
        shown = [name for name, cause in scripts.items() if hazards.find(cause) == page]
        if program == programs.API_SERVER:  # its own order of events cannot be commanded
            shown = []
        for name in shown or _loads(page.hazard):
            yield _of_hazard(page.hazard, name, program)


def _loads(hazard: hazards.Hazard) -> list[str]:
    """Return the scenarios of loads that show a hazard, or else the known defects that it is."""
    of_defects = (
        name
        for name in loading.every_name()
        if set(loading.load(name).scenario.controls) & set(hazard.defects)
    )
    return hazards.scenarios(hazard) or list(of_defects)


def _program(hazard: hazards.Hazard) -> programs.Program | None:
    """Return the first program that has a hazard; None: it is not one of Kubernetes."""
    order = (*programs.PLAYED, programs.API_SERVER)
    return next((name for name in order if name in hazard.parts), None)


def _of_hazard(hazard: hazards.Hazard, name: str, program: programs.Program) -> Question:
    traffic = loading.load(name).scenario.traffic
    script = traffic if isinstance(traffic, script_specs.ScriptTraffic) else None
    return Question(
        finding=hazard.id,
        title=hazard.title,
        scenario=name,
        program=program,
        group="hazard",
        checks=list(script.expects) if script else _of_load(hazard, program),
        is_script=script is not None,
    )


def _of_load(hazard: hazards.Hazard, program: programs.Program) -> list[str]:
    """Return the checks that find a hazard under load."""
    if hazards.DOUBLE_ALLOCATION in hazard.kinds:
        return [device_exclusivity.CHECK.name]
    return sorted(_checks(hazard.defects, program))


def _of_races() -> Iterator[Question]:
    for name in RACING:
        yield Question(
            finding=RACES,
            title=hazards.pages()[RACES].hazard.title,
            scenario=name,
            program=programs.SCHEDULER,
            group="race",
            checks=[device_exclusivity.CHECK.name],
            is_script=False,
        )


def _of_regress() -> Iterator[Question]:
    """Yield the scenarios of known defects that a program of Kubernetes can have."""
    for name in loading.regress_names():
        scenario = loading.load(name).scenario
        parts = {_OF_PARTS.get(known_defects.actor(item)) for item in scenario.controls}
        for program in programs.PLAYED:
            if program in parts:
                yield Question(
                    finding=name,
                    title=scenario.title,
                    scenario=name,
                    program=program,
                    group="regress",
                    checks=sorted(_checks(scenario.controls, program)),
                    is_script=False,
                )


def _checks(defects: Sequence[str], program: programs.Program) -> set[str]:
    """Return the checks that catch those of the defects that a program can have."""
    return {
        known_defects.named(name).facts.check
        for name in defects
        if _OF_PARTS.get(known_defects.actor(name)) == program
    }
