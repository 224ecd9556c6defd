"""The process in which a check of another package judges a run."""

import dataclasses
import pathlib
from typing import Any

import msgspec

from harness import errors
from harness.checks import protocol
from harness.checks.plugin_checks import run_views
from harness.extensions import contracts, entry_points, isolation, loading
from harness.history import histories


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """The question to the process."""

    plugin: entry_points.Plugin
    directory: str


def _judge(content: bytes) -> bytes:
    """Return the answer of the check as JSON. Raises PluginError if it has none."""
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
    """Return a check. Raises PluginError if the plug-in is none, or has another name.

    An object, or a class without arguments, with `promise` and `check(run)` is one, too.
    """
    found = loading.load(plugin)
    if isinstance(found, protocol.Check):
        if found.name != plugin.name:
            raise errors.PluginError(
                f"expected the name {plugin.name} in {plugin}, got {found.name}: change one of them"
            )
        return found
    try:
        made = found() if isinstance(found, type) else found
        check, promise = made.check, made.promise
    except (Exception, SystemExit) as error:
        raise errors.PluginError(
            f"expected {plugin} to be a harness.api.Check: {loading.told(error)}"
        ) from error
    return protocol.Check(
        name=plugin.name,
        promise=promise,
        needs=(run_views.RunView,),
        judge=lambda evidence: check(evidence[run_views.RunView]),
    )


if __name__ == "__main__":
    isolation.answer(_judge)
