"""The process in which a plug-in check judges a run."""

import dataclasses
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from harness import errors
from harness.extensions import contracts, entry_points, isolation, loading
from harness.history import histories, journal_reader


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """The question to the process."""

    plugin: entry_points.Plugin
    directory: str
    holds: list[contracts.Hold]


def _judge(content: bytes) -> bytes:
    """Return the answer of the check as JSON. Raises PluginError if it has none."""
    message = msgspec.msgpack.decode(content, type=Message)
    plugin = message.plugin
    check, promise = _check(plugin)
    try:
        answer = check(_view(message))
    except (Exception, SystemExit) as error:
        raise errors.PluginError(
            f"expected {plugin} to judge the run, but it failed: {loading.told(error)}"
        ) from error
    if not isinstance(answer, contracts.CheckAnswer):
        raise errors.PluginError(
            f"expected {plugin} to return a harness.api.CheckAnswer, got {type(answer).__name__}"
        )
    try:
        return msgspec.json.encode({**dataclasses.asdict(answer), "promise": promise})
    except (TypeError, ValueError, RecursionError) as error:
        raise errors.PluginError(
            f"expected numbers and text in the answer of {plugin}: {loading.told(error)}"
        ) from error


def _check(plugin: entry_points.Plugin) -> tuple[Callable[[contracts.RunView], Any], str]:
    """Return the function of a check, and its promise. Raises PluginError if it is no check."""
    found = loading.load(plugin)
    try:
        made = found() if isinstance(found, type) else found
        check, promise = made.check, made.promise
    except (Exception, SystemExit) as error:
        raise errors.PluginError(
            f"expected {plugin} to have a promise and a method check(run): {loading.told(error)}"
        ) from error
    return check, promise


def _view(message: Message) -> contracts.RunView:
    history = histories.load(pathlib.Path(message.directory))
    return contracts.RunView(
        plan=msgspec.to_builtins(history.plan),
        holds=message.holds,
        journal=lambda name: _records(history, name),
    )


def _records(history: histories.History, name: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a journal. Raises ValueError for a name that is none."""
    for reader in _readers(history, name):
        for record in reader or ():
            yield msgspec.json.decode(msgspec.json.encode(record))


def _readers(
    history: histories.History, name: str
) -> "Iterator[journal_reader.Reader | list[Any] | None]":
    match name:
        case "observations":
            yield history.observations()
        case "operations":
            for process in [*history.expected_operations(), *history.expected_writes()]:
                yield history.operations(process)
        case "steps":
            yield from map(history.steps, history.expected_steps())
        case "processes":
            yield list(history.processes.records) if history.processes else None
        case "faults":
            yield history.faults()
        case _:
            raise ValueError(
                "expected observations, operations, steps, processes or faults as the name of a "
                f"journal, got {name!r}"
            )


if __name__ == "__main__":
    isolation.answer(_judge)
