"""The process in which a kind or a plug-in injects a fault, and its messages to the run.

It reads one line, the order, and then only the end of its standard input, at which it ends. On
standard output it writes a line for each effect, and one at the end.
"""

import functools
import os
import pathlib
import random
import sys
import threading
from collections.abc import Callable
from typing import Annotated, Any, TextIO

import msgspec

from harness import errors
from harness.client import apis, transports
from harness.extensions import entry_points, loading
from harness.extensions.contracts import Fault, FaultTarget
from harness.scenario import fault_kinds
from harness.scenario.fault_kinds import client_fault

GRACE_S = 20.0
"""Seconds in which a fault has to undo what it has done, when it has to end."""
_Word = Annotated[str, msgspec.Meta(max_length=400)]


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The fault to inject."""

    plugin: entry_points.Plugin | None
    """None: the kind itself injects it."""
    kind: str
    kubeconfig: str
    namespace: str
    seed: int
    parameters: dict[str, Any]
    """Those of the plug-in, or the keys of the kind."""

    def fault(self) -> Fault:
        if self.plugin is None:
            found = fault_kinds.one({"kind": self.kind, **self.parameters})
            if not isinstance(found, client_fault.ClientFault):
                raise errors.PluginError(f"expected a fault that is a client, got {self.kind}")
            return found
        loaded = loading.load(self.plugin)
        made: Fault = loaded() if isinstance(loaded, type) else loaded
        return made


class Effect(msgspec.Struct, frozen=True, kw_only=True, tag="effect"):
    """The fault took effect once; the object is empty if it hit none."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=400)]
    kind: _Word = ""
    """Plural name of the resource."""
    name: _Word = ""
    namespace: _Word = ""
    uid: _Word = ""
    resource_version: Annotated[int, msgspec.Meta(ge=0, lt=2**62)] = 0


class End(msgspec.Struct, frozen=True, kw_only=True, tag="end"):
    """The fault is undone; or the reason why it failed."""

    failure: str = ""


def inject(order: Order, is_over: threading.Event, output: TextIO) -> None:
    """Inject the fault until it is done; its errors become its end."""
    try:
        order.fault().inject(_target(order, is_over, output))
    except errors.PluginError as error:
        _write(output, End(failure=str(error)))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a plug-in raises is named
        failure = (
            f"expected {order.plugin or order.kind} to inject, but it failed: {loading.told(error)}"
        )
        _write(output, End(failure=failure))
    else:
        _write(output, End())


def _target(order: Order, is_over: threading.Event, output: TextIO) -> FaultTarget:
    return FaultTarget(
        kubeconfig=pathlib.Path(order.kubeconfig),
        request=_caller(pathlib.Path(order.kubeconfig)),
        namespace=order.namespace,
        random=random.Random(order.seed),
        parameters=order.parameters,
        wait=is_over.wait,
        applied=lambda text, **about: _apply(output, {"type": "effect", "text": text, **about}),
    )


def _caller(kubeconfig: pathlib.Path) -> Callable[..., dict[str, Any]]:
    """Return a function that calls the API server, which is connected by the first call."""
    connect = functools.cache(transports.connect)

    def request(method: str, path: str, body: object = None) -> dict[str, Any]:
        content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        response = connect(kubeconfig, user_agent="flake-hunt-plugin").send(
            transports.Request(
                method=method,
                path=path,
                body=None if body is None else msgspec.json.encode(body),
                content_type=content_type,
            )
        )
        if response.status >= 400:
            raise apis.to_error(response.status, response.body)
        answer: dict[str, Any] = msgspec.json.decode(response.body)
        return answer

    return request


def _apply(output: TextIO, told: dict[str, object]) -> None:
    unknown = told.keys() - {"type", *Effect.__struct_fields__}
    if unknown:
        raise TypeError(f"applied() has no {', '.join(sorted(unknown))}")
    _write(output, msgspec.convert(told, Effect))


def _write(output: TextIO, line: Effect | End) -> None:
    output.write(msgspec.json.encode(line).decode() + "\n")
    output.flush()


def _end_with_input(is_over: threading.Event) -> None:
    sys.stdin.buffer.read()
    is_over.set()
    threading.Event().wait(2 * GRACE_S)
    os._exit(1)


def main() -> None:
    """Take the order and inject the fault; what the plug-in prints goes to standard error."""
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    is_over = threading.Event()
    threading.Thread(target=_end_with_input, args=[is_over], daemon=True).start()
    inject(order, is_over, output)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # threads of the plug-in may still run


if __name__ == "__main__":
    main()
