"""The plug-in checks that a run owes by its plan, in the form of the registry's checks."""

from collections.abc import Collection

import msgspec

from harness import errors
from harness.checks import check_registry, plain_answers, protocol, verdicts
from harness.checks.plugin_checks import check_process
from harness.extensions import discovery, entry_points, isolation
from harness.history import plans


def of_plan(plan: plans.Plan) -> list[protocol.Check]:
    """Return the plug-in checks of a run's plan, each judged in a process of its own."""
    return [_planned(used) for used in plan.plugins if used.kind == "checks"]


def _planned(used: plans.UsedPlugin) -> protocol.Check:
    check = protocol.Check(
        name=used.name,
        promise=f"the guarantee {used.name} of {used.package} holds",
        judge=lambda evidence: _ask(used, check, evidence),
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
        message = check_process.Message(plugin=plugin, directory=directory)
        content = isolation.ask(
            check_process.__name__, [], msgspec.msgpack.encode(message), plugin=str(plugin)
        )
        answer = plain_answers.decode(content, str(plugin))
    except errors.UsageError as error:
        return check.unknown(f"{used.name}: {error}")
    named = msgspec.structs.replace(check, promise=answer.promise)
    return plain_answers.result(named, answer, _origin(used, plugin))


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
