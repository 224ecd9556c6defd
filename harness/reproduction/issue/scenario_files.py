"""Writes a scenario as TOML: the keys that differ from their defaults, and no path of a machine."""

from collections.abc import Mapping
from typing import Any

import pydantic
import tomli_w

from harness.report.redaction import texts
from harness.scenario import specs, subject_specs

_TAGS = ("kind", "profile")
"""Keys that select a kind of table: they are always written."""

_FOUND = ("imported",)
"""Keys that follow from files when the scenario is loaded."""


def text(scenario: specs.Scenario) -> str:
    """Return the content of the scenario's file; loading it gives the scenario again.

    Exceptions: programs of Kubernetes are looked for in the usual places, and those of other
    schedulers on PATH.
    """
    document = _table(_portable(scenario))
    content: str = tomli_w.dumps(document, multiline_strings=True)
    return content


def _portable(scenario: specs.Scenario) -> specs.Scenario:
    schedulers = [_portable_scheduler(item) for item in scenario.subject.schedulers]
    controller = _portable_controller(scenario.subject.claim_controller)
    parts = {"schedulers": schedulers, "claim_controller": controller}
    subject = scenario.subject.model_copy(update=parts)
    described = {key: texts.clean(getattr(scenario, key)) for key in ("title", "description")}
    return scenario.model_copy(update={"subject": subject, **described})


def _portable_scheduler(scheduler: subject_specs.AnyScheduler) -> subject_specs.AnyScheduler:
    match scheduler:
        case subject_specs.KubeScheduler():
            return scheduler.model_copy(update={"binary": ""})
        case subject_specs.CommandScheduler():
            changes = {
                "command": [texts.program(word) for word in scheduler.command],
                "version_command": [texts.program(word) for word in scheduler.version_command],
            }
            return scheduler.model_copy(update=changes)
        case _:
            return scheduler


def _portable_controller(
    controller: subject_specs.AnyClaimController,
) -> subject_specs.AnyClaimController:
    if isinstance(controller, subject_specs.KubeControllerManager):
        return controller.model_copy(update={"binary": ""})
    return controller


def _table(table: pydantic.BaseModel) -> dict[str, Any]:
    """Return the keys of a table, in the order of its class, without those with their defaults."""
    fields = type(table).model_fields
    kept = {}
    for key, field in fields.items():
        if key in _FOUND:
            continue
        value = getattr(table, key)
        default = field.get_default(call_default_factory=True)
        if value is not None and (field.is_required() or key in _TAGS or value != default):
            kept[field.alias or key] = _plain(value)
    return _scalars_first(kept)


def _plain(value: Any) -> Any:
    if isinstance(value, pydantic.BaseModel):
        return _table(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _scalars_first(table: dict[str, Any]) -> dict[str, Any]:
    """Return the table with its own keys before its tables, as TOML needs and people expect."""
    own = {key: value for key, value in table.items() if not isinstance(value, dict)}
    return own | table
