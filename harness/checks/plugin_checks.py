"""The plug-in checks that a run owes by its plan, each judged in a process of its own."""

import dataclasses
import pathlib
from collections.abc import Collection
from typing import Any

import msgspec

from harness import errors
from harness.checks import check_registry, findings, protocol, verdicts
from harness.extensions import contracts, discovery, entry_points, isolation, loading
from harness.history import histories, plans


def of_plan(plan: plans.Plan) -> list[protocol.Check]:
    return [_planned(used) for used in plan.plugins if used.kind == "checks"]


def _planned(used: plans.UsedPlugin) -> protocol.Check:
    promise = f"the guarantee {used.name} of {used.package} holds"
    check = protocol.Check(
        name=used.name, promise=promise, judge=lambda evidence: _ask(used, check, evidence)
    )
    return check


def installed() -> list[entry_points.Plugin]:
    """Return the plug-in checks that a new run owes: all that are installed.

    Raises PluginError if one cannot be used by its name.
    """
    return discovery.require_all("checks", shipped=_shipped())


def _shipped() -> Collection[str]:
    return {check.name for check in check_registry.CHECKS}


def _ask(
    used: plans.UsedPlugin, check: protocol.Check, evidence: protocol.Evidence
) -> verdicts.Answer:
    directory = str(evidence.history.directory.path.resolve())
    try:
        plugin = _installed(used)
        message = Message(plugin=plugin, directory=directory)
        content = isolation.ask(__name__, [], msgspec.msgpack.encode(message), plugin=str(plugin))
        answer = findings.decode_plain(content, str(plugin))
    except errors.UsageError as error:
        return check.unknown(f"{used.name}: {error}")
    named = msgspec.structs.replace(check, promise=answer.promise)
    return findings.of_plain(named, answer, _origin(used, plugin))


def _installed(used: plans.UsedPlugin) -> entry_points.Plugin:
    """Return the installed check. Raises PluginError if another package or none has it."""
    plugin = discovery.named("checks", used.name, shipped=_shipped())
    if plugin is None or plugin.package != used.package:
        other = f", only {plugin}" if plugin else ""
        raise errors.PluginError(
            f"the run owes this check of {used.package} {used.version}, which is not installed "
            f"here{other}: install it, and judge the run again"
        )
    return plugin


def _origin(used: plans.UsedPlugin, plugin: entry_points.Plugin) -> str:
    planned = f"; planned with {used.version}" if used.version != plugin.version else ""
    return f"plug-in of {plugin.package} {plugin.version}{planned}"


# --------------------------------------------------------------------------- the process
class Message(msgspec.Struct, frozen=True, kw_only=True):
    """The question to the process."""

    plugin: entry_points.Plugin
    directory: str


def _judge(content: bytes) -> bytes:
    message = msgspec.msgpack.decode(content, type=Message)
    plugin = message.plugin
    check = _check(plugin)
    try:
        answer = _answer(check, pathlib.Path(message.directory))
    except (Exception, SystemExit) as error:
        raise errors.PluginError(
            f"expected {plugin} to judge the run, but it failed: {loading.told(error)}"
        ) from error
    if not isinstance(answer, contracts.CheckAnswer):
        raise errors.PluginError(
            f"expected {plugin} to return a harness.api.CheckAnswer, got {type(answer).__name__}"
        )
    try:
        return msgspec.json.encode({**dataclasses.asdict(answer), "promise": check.promise})
    except (TypeError, ValueError, RecursionError) as error:
        raise errors.PluginError(
            f"expected numbers and text in the answer of {plugin}: {loading.told(error)}"
        ) from error


def _answer(check: protocol.Check, directory: pathlib.Path) -> Any:
    history = histories.load(directory)
    if not check.applies(history.plan):
        return contracts.CheckAnswer(examined=0, reason="the plan does not ask for it")
    return check.judge(protocol.read(history, check.needs).of(check))


def _check(plugin: entry_points.Plugin) -> protocol.Check:
    """Return a check. Raises PluginError if the plug-in is none, or has another name."""
    found = loading.load(plugin)
    if not isinstance(found, protocol.Check):
        raise errors.PluginError(
            f"expected {plugin} to be a harness.api.Check, got {type(found).__name__}"
        )
    if found.name != plugin.name:
        raise errors.PluginError(
            f"expected the name {plugin.name} in {plugin}, got {found.name}: change one of them"
        )
    return found


if __name__ == "__main__":
    isolation.answer(_judge)
