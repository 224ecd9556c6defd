"""All chosen rules against a server: a namespace for them, what the server has, their results, and the tidying up."""

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Sequence

from harness import clocks, errors
from harness.client import transports
from harness.conformance import needing, performing, requesting, rulebooks

READY_S = 30.0
"""Within this a new namespace takes pods: elsewhere a controller makes its service account first."""
_PREFIX = "flake-hunt-conformance-"
_NAMESPACES = "/api/v1/namespaces"
_FORCED = b'{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}'
_CREATED = 201


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a rule did."""

    rule: rulebooks.Rule
    failure: performing.Failure | None = None
    skipped: str = ""
    """Why it does not apply here; empty when it does."""

    @property
    def is_held(self) -> bool:
        """The server keeps the rule."""
        return self.failure is None and not self.skipped


def judge(transport: transports.Transport, rules: Sequence[rulebooks.Rule]) -> Iterator[Result]:
    """The results, one by one; ClusterError when the server does not let us work."""
    with _namespace(transport) as namespace:
        needs = needing.Needs(transport, namespace)
        for number, rule in enumerate(rules, start=1):
            if needs.are_met(rule.needs):
                yield _perform(transport, namespace, f"{namespace}-{number}", rule)
            else:
                yield Result(rule=rule, skipped=f"the server has no {rule.needs}")


def _perform(
    transport: transports.Transport, namespace: str, name: str, rule: rulebooks.Rule
) -> Result:
    performance = performing.Performance(transport, namespace=namespace, name=name)
    try:
        return Result(rule=rule, failure=performance.perform(rule))
    except (KeyError, transports.TransportError) as error:
        what = (
            "an answer that later steps can refer to"
            if isinstance(error, KeyError)
            else "an answer"
        )
        failure = performing.Failure(
            request=rule.name, body="", shortcomings=[f"expected {what}: {error}"], answer=""
        )
        return Result(rule=rule, failure=failure)
    finally:
        for path in performance.created:
            _remove(transport, path)


@contextlib.contextmanager
def _namespace(transport: transports.Transport) -> Iterator[str]:
    """A new namespace that takes pods."""
    document = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"generateName": _PREFIX},
    }
    response = requesting.send(transport, "POST", _NAMESPACES, document)
    if response.status != _CREATED:
        raise errors.ClusterError(
            f"expected a namespace to work in, but creating one gave {response.status}: {response.body[:300]!r}"
        )
    name = json.loads(response.body)["metadata"]["name"]
    try:
        clocks.wait_until(
            lambda: _takes_pods(transport, name),
            timeout_s=READY_S,
            why=f"namespace {name} to take pods",
        )
        yield name
    finally:
        requesting.send(transport, "DELETE", f"{_NAMESPACES}/{name}")


def _takes_pods(transport: transports.Transport, namespace: str) -> bool:
    pod = {**rulebooks.templates()["pod"], "metadata": {"name": "probe"}}
    path = f"{_NAMESPACES}/{namespace}/pods?dryRun=All"
    return requesting.send(transport, "POST", path, pod).status == _CREATED


def _remove(transport: transports.Transport, path: str) -> None:
    """Delete an object, whatever finalizers it has."""
    patch = b'{"metadata":{"finalizers":null}}'
    kind = rulebooks.PATCHES["merge"]
    transport.send(transports.Request(method="DELETE", path=path, body=_FORCED))
    transport.send(transports.Request(method="PATCH", path=path, body=patch, content_type=kind))
