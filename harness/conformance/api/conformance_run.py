"""A conformance run: create a namespace, execute the rules in it, clean up."""

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Sequence

from harness import clocks, errors
from harness.client import transports
from harness.conformance.api import api_requests, requirements, rule_execution, rulebooks

READY_S = 30.0
"""Time limit for a new namespace to accept pods: a controller first creates a service account."""
_PREFIX = "flake-hunt-conformance-"
_NAMESPACES = "/api/v1/namespaces"
_FORCED = b'{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}'
_CREATED = 201


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one rule."""

    rule: rulebooks.Rule
    failure: rule_execution.Failure | None = None
    skipped: str = ""
    """The reason why the rule does not apply to the server; empty if it does."""

    @property
    def is_held(self) -> bool:
        """True if the server follows the rule."""
        return self.failure is None and not self.skipped


def judge(transport: transports.Transport, rules: Sequence[rulebooks.Rule]) -> Iterator[Result]:
    """Execute the rules and yield their results one by one.

    Raises ClusterError if the server does not create a namespace to work in.
    """
    with _namespace(transport) as namespace:
        needs = requirements.Requirements(transport, namespace)
        for number, rule in enumerate(rules, start=1):
            if needs.are_met(rule.needs):
                yield _execute(transport, namespace, f"{namespace}-{number}", rule)
            else:
                yield Result(rule=rule, skipped=f"the server has no {rule.needs}")


def _execute(
    transport: transports.Transport, namespace: str, name: str, rule: rulebooks.Rule
) -> Result:
    execution = rule_execution.RuleExecution(transport, namespace=namespace, name=name)
    try:
        return Result(rule=rule, failure=execution.run(rule))
    except (KeyError, transports.TransportError) as error:
        expected = (
            "a response with the value that a later step refers to"
            if isinstance(error, KeyError)
            else "a response"
        )
        failure = rule_execution.Failure(
            request=rule.name,
            body="",
            shortcomings=[f"expected {expected}, got none: {error}"],
            answer="",
        )
        return Result(rule=rule, failure=failure)
    finally:
        for path in execution.created:
            _remove(transport, path)


@contextlib.contextmanager
def _namespace(transport: transports.Transport) -> Iterator[str]:
    """Provide a new namespace that accepts pods, and delete it afterwards."""
    document = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"generateName": _PREFIX},
    }
    response = api_requests.send(transport, "POST", _NAMESPACES, document)
    if response.status != _CREATED:
        raise errors.ClusterError(
            f"expected to create a namespace for the rules, got {response.status}: {response.body[:300]!r}"
        )
    name = json.loads(response.body)["metadata"]["name"]
    try:
        clocks.wait_until(
            lambda: _accepts_pods(transport, name),
            timeout_s=READY_S,
            why=f"namespace {name} to accept pods",
        )
        yield name
    finally:
        api_requests.send(transport, "DELETE", f"{_NAMESPACES}/{name}")


def _accepts_pods(transport: transports.Transport, namespace: str) -> bool:
    pod = {**rulebooks.templates()["pod"], "metadata": {"name": "probe"}}
    path = f"{_NAMESPACES}/{namespace}/pods?dryRun=All"
    return api_requests.send(transport, "POST", path, pod).status == _CREATED


def _remove(transport: transports.Transport, path: str) -> None:
    """Delete an object and its finalizers."""
    patch = b'{"metadata":{"finalizers":null}}'
    kind = rulebooks.PATCHES["merge"]
    transport.send(transports.Request(method="DELETE", path=path, body=_FORCED))
    transport.send(transports.Request(method="PATCH", path=path, body=patch, content_type=kind))
