"""Writes a scenario as TOML: the keys that differ from their defaults, and no path of a machine."""

from collections.abc import Callable, Mapping
from typing import Any

import pydantic

from harness.report.redaction import texts
from harness.scenario import specs, subject_specs

FILE = "scenario.toml"
"""Name of the scenario's file in the folder."""
_TAGS = ("kind", "profile")
"""Keys that select a kind of table: they are always written."""
_FOUND = ("imported",)
"""Keys that follow from files when the scenario is loaded."""
_BINARIES = (subject_specs.KubeScheduler, subject_specs.KubeControllerManager)


def text(scenario: specs.Scenario) -> str:
    """Return the content of the scenario's file; loading it gives the scenario again.

    Exceptions: programs of Kubernetes are looked for in the usual places, and those of other
    schedulers on PATH.
    """
    import tomli_w  # machines that only judge lack it: there, issues are about runs

    subject = without_binaries(scenario.subject, lambda _: True)
    for index, item in enumerate(subject.schedulers):
        if isinstance(item, subject_specs.CommandScheduler):
            words = {
                key: [texts.program(word) for word in getattr(item, key)]
                for key in ("command", "version_command")
            }
            subject.schedulers[index] = item.model_copy(update=words)
    described = {key: texts.clean(getattr(scenario, key)) for key in ("title", "description")}
    portable = scenario.model_copy(update={"subject": subject, **described})
    content: str = tomli_w.dumps(_plain(portable), multiline_strings=True)
    return content


def without_binaries(
    subject: subject_specs.SubjectSpec, is_gone: Callable[[str], bool]
) -> subject_specs.SubjectSpec:
    """Return a subject whose binaries of Kubernetes are looked for in the usual places."""

    def usual(part: Any) -> Any:
        found = isinstance(part, _BINARIES) and is_gone(part.binary)
        return part.model_copy(update={"binary": ""}) if found else part

    schedulers = [usual(item) for item in subject.schedulers]
    parts = {"schedulers": schedulers, "claim_controller": usual(subject.claim_controller)}
    return subject.model_copy(update=parts)


def _plain(value: Any) -> Any:
    """Return values as TOML has them; of tables the keys that are not their defaults."""
    if isinstance(value, pydantic.BaseModel):
        return {
            field.alias or key: _plain(found)
            for key, field in type(value).model_fields.items()
            if (found := getattr(value, key)) is not None
            and key not in _FOUND
            and (
                field.is_required()
                or key in _TAGS
                or found != field.get_default(call_default_factory=True)
            )
        }
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value
