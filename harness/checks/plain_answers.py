"""Answers of checks in plain values, as plug-ins give them: validated, and turned into results."""

import dataclasses
from typing import Annotated, TypeAlias

import msgspec

from harness import errors
from harness.checks import findings, protocol, verdicts
from harness.extensions import contracts

NOT_ASKED = "the plan does not ask for it"
VIOLATIONS_MAX = 10_000
"""Violations in one answer; a check that finds more may leave some out."""
Line: TypeAlias = Annotated[
    str, msgspec.Meta(min_length=1, max_length=400, pattern=r"^[^\n\r]*\S[^\n\r]*$")
]
Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=20_000)]
Word: TypeAlias = Annotated[str, msgspec.Meta(max_length=400)]
Version: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Object(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An API object in a violation."""

    kind: Line
    name: Line
    namespace: Word
    uid: Word


class Found(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A violation that a plug-in reports."""

    summary: Line
    text: Text
    resource_versions: list[Version]
    objects: list[Object]


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer of a plug-in check, with its promise."""

    promise: Line
    examined: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    violations: Annotated[list[Found], msgspec.Meta(max_length=VIOLATIONS_MAX)]
    reason: Annotated[str, msgspec.Meta(max_length=2000)]


def decode(content: bytes, plugin: str) -> Answer:
    """Return an answer. Raises PluginError if it is none, or contradicts itself."""
    try:
        answer = msgspec.json.decode(content, type=Answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise errors.PluginError(
            f"expected {plugin} to return a harness.api.CheckAnswer with proper fields ({error})"
        ) from error
    if answer.violations and not answer.examined:
        raise errors.PluginError(
            f"expected {plugin} to have examined what it found violations in, got "
            f"{len(answer.violations)} violations in nothing examined"
        )
    return answer


def judged(check: protocol.Check, evidence: protocol.Evidence) -> verdicts.Answer:
    """Return what a check says of the evidence. Raises what the check raises."""
    if not check.applies(evidence.plan):
        return check.not_examined(NOT_ASKED)
    answer = check.judge(evidence.of(check))
    if not isinstance(answer, contracts.CheckAnswer):
        return answer
    content = msgspec.json.encode({**dataclasses.asdict(answer), "promise": check.promise})
    return result(check, decode(content, check.name))


def result(check: protocol.Check, answer: Answer, origin: str = "") -> verdicts.Answer:
    """Return the result of a check; `origin` says as text whose it is."""
    whose = f" ({origin})" if origin else ""
    if not answer.examined:
        return check.not_examined(f"{answer.reason or 'it examined nothing'}{whose}")
    count = len(answer.violations)
    figures = f"{verdicts.counted(count, 'violation')} in {answer.examined:,} examined"
    return findings.of_many(
        check,
        count,
        lambda index: _violation(check.name, answer.violations[index]),
        summary=lambda index: answer.violations[index].summary,
        examined=answer.examined,
        reason=f"{answer.reason or figures}{whose}",
    )


def _violation(check: str, found: Found) -> verdicts.Violation:
    return verdicts.Violation(
        guarantee=check,
        summary=found.summary,
        text=found.text or found.summary,
        resource_versions=sorted(set(found.resource_versions)),
        objects=[
            verdicts.InvolvedObject(
                kind=item.kind, namespace=item.namespace, name=item.name, uid=item.uid
            )
            for item in found.objects
        ],
    )
