"""The plug-in checks that a run owes by its plan, in the form of the registry's checks."""

import functools
from collections.abc import Collection, Iterable

import msgspec

from harness import errors
from harness.checks import check_inputs, check_registry, verdicts
from harness.checks.plugin_checks import check_answers, check_process
from harness.extensions import contracts, discovery, entry_points, isolation
from harness.history import histories, plans


def of_history(history: histories.History) -> list[check_registry.Check]:
    """Return the plug-in checks of a run's plan."""
    path = str(history.directory.path.resolve())
    return [
        check_registry.Check(used.name, _promise(used), functools.partial(_run, used, path))
        for used in history.plan.plugins
        if used.kind == "checks"
    ]


def installed() -> list[entry_points.Plugin]:
    """Return the plug-in checks that a new run owes: all that are installed.

    Raises PluginError if one cannot be used by its name.
    """
    return discovery.require_all("checks", shipped=_shipped())


def _shipped() -> Collection[str]:
    return {check.name for check in check_registry.CHECKS}


def _promise(used: plans.UsedPlugin) -> str:
    return f"the guarantee {used.name} of {used.package} holds"


def _run(used: plans.UsedPlugin, directory: str, given: check_inputs.CheckInput) -> verdicts.Answer:
    """Return the answer of a check, or UNKNOWN with the reason why there is none."""
    try:
        plugin = _installed(used)
        message = check_process.Message(
            plugin=plugin, directory=directory, holds=list(_holds(given))
        )
        content = isolation.ask(
            check_process.__name__, [], msgspec.msgpack.encode(message), plugin=str(plugin)
        )
        answer = check_answers.decode(content, str(plugin))
    except errors.UsageError as error:
        return verdicts.NotExamined(
            check=used.name, promise=_promise(used), reason=f"{used.name}: {error}"
        ).as_unknown()
    return check_answers.result(used.name, answer, _origin(used, plugin))


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


def _holds(given: check_inputs.CheckInput) -> Iterable[contracts.Hold]:
    for hold in given.observed.folded.holds:
        yield contracts.Hold(
            device=hold.device,
            namespace=hold.namespace,
            claim=hold.name,
            uid=hold.uid,
            pods=sorted(hold.pods),
            exclusive=hold.exclusive,
            shared=hold.shared,
            from_rv=hold.from_rv,
            until_rv=hold.until_rv,
        )
