"""The check of the environments of containers: they have the parameters of their own claims.

The driver of the fake nodes gives the opaque parameters of a claim to its containers as
`user_<key>`, those of the class as `admin_<key>`, and `claim_<claim>_<request>=true`. The expected
environment follows from the recorded pods and claims, and from the class of the plan; the journals
of preparations have the real one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from harness.checks import verdicts
from harness.history import plans, records

NAME = "container_parameters"
PROMISE = "every container has the parameters of its own claims and their class"
IN_FULL_MAX, OTHERS_MAX = 20, 200
"""Violations that are listed in full, and by their summaries."""
_PREFIXES = ("user_", "admin_", "claim_")
_NO_NAME = re.compile(r"[^a-zA-Z0-9]")
_Key = tuple[str, str]
"""Namespace and name."""
Environment = Mapping[str, str]


class _Meta(msgspec.Struct):
    name: str
    namespace: str = ""
    uid: str = ""


class _Opaque(msgspec.Struct):
    parameters: dict[str, Any] = {}


class _Config(msgspec.Struct):
    opaque: _Opaque = msgspec.field(default_factory=_Opaque)


class _Request(msgspec.Struct):
    name: str


class _Devices(msgspec.Struct):
    requests: list[_Request] = []
    config: list[_Config] = []


class _ClaimSpec(msgspec.Struct):
    devices: _Devices = msgspec.field(default_factory=_Devices)


class _Claim(msgspec.Struct):
    metadata: _Meta
    spec: _ClaimSpec = msgspec.field(default_factory=_ClaimSpec)


class _Named(msgspec.Struct):
    name: str
    resourceClaimName: str | None = None  # noqa: N815 - the API's spelling


class _Resources(msgspec.Struct):
    claims: list[_Named] = []


class _Container(msgspec.Struct):
    name: str
    resources: _Resources = msgspec.field(default_factory=_Resources)


class _PodSpec(msgspec.Struct):
    containers: list[_Container] = []
    resourceClaims: list[_Named] = []  # noqa: N815


class _PodStatus(msgspec.Struct):
    resourceClaimStatuses: list[_Named] = []  # noqa: N815


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _PodSpec
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)


_claims = msgspec.json.Decoder(_Claim)
_pods = msgspec.json.Decoder(_Pod)


def applies(plan: plans.Plan) -> bool:
    """Return whether claims or their class have parameters in this plan."""
    claim = plan.settings.get("claim") or {}
    return bool(plan.expected_preparations and (claim.get("parameters") or _of_class(plan)))


def _of_class(plan: plans.Plan) -> dict[str, str]:
    chosen = (plan.settings.get("pools") or {}).get("device_class") or {}
    found: dict[str, str] = chosen.get("parameters") or {}
    return found


class Expectations:
    """The expected environments of the containers of all observed pods."""

    def __init__(self) -> None:
        self._claims: dict[_Key, dict[str, str]] = {}
        """The variables of each claim."""
        self._containers: dict[str, dict[str, list[_Key]]] = {}
        """uid of a pod -> container -> its claims."""

    def follow(self, observations: Iterable[records.Body]) -> Iterator[records.Body]:
        """Yield the records of the recorder, each after noting it."""
        for record in observations:
            if isinstance(record, records.Observation):
                if record.resource == "resourceclaims":
                    self._note_claim(_claims.decode(record.object))
                elif record.resource == "pods":
                    self._note_pod(_pods.decode(record.object))
            yield record

    def of(self, started: records.ContainerStarted) -> dict[str, str] | None:
        """Return the variables of a container's claims; None if its pod was not observed."""
        claims = self._containers.get(started.pod_uid, {}).get(started.container)
        if not claims or any(key not in self._claims for key in claims):
            return None
        return {name: value for key in claims for name, value in self._claims[key].items()}

    def _note_claim(self, claim: _Claim) -> None:
        key = claim.metadata.namespace, claim.metadata.name
        self._claims[key] = {
            **_user_variables(claim.spec.devices.config),
            **{
                _NO_NAME.sub("_", f"claim_{claim.metadata.name}_{request.name}"): "true"
                for request in claim.spec.devices.requests
            },
        }

    def _note_pod(self, pod: _Pod) -> None:
        generated = {item.name: item.resourceClaimName for item in pod.status.resourceClaimStatuses}
        names = {
            item.name: item.resourceClaimName or generated.get(item.name)
            for item in pod.spec.resourceClaims
        }
        self._containers[pod.metadata.uid] = {
            container.name: [
                (pod.metadata.namespace, claim)
                for entry in container.resources.claims
                if (claim := names.get(entry.name))
            ]
            for container in pod.spec.containers
        }


def _user_variables(config: Sequence[_Config]) -> dict[str, str]:
    return {
        f"user_{name}": str(value)
        for item in config
        for name, value in item.opaque.parameters.items()
    }


def check(
    plan: plans.Plan, started: Sequence[records.ContainerStarted], expected: Expectations
) -> verdicts.CheckResult:
    """Return INVALID with every container whose environment differs, VALID without any.

    UNKNOWN if no container was started, or one whose pod or claim was never observed.
    """
    of_class = {f"admin_{name}": value for name, value in _of_class(plan).items()}
    wrong: list[tuple[records.ContainerStarted, dict[str, str]]] = []
    unseen: list[records.ContainerStarted] = []
    for item in started:
        variables = expected.of(item)
        if variables is None:
            unseen.append(item)
        elif (wanted := {**variables, **of_class}) != _told(item.environment):
            wrong.append((item, wanted))
    return verdicts.CheckResult(
        check=NAME,
        promise=PROMISE,
        verdict=_verdict(started, unseen, wrong),
        examined_count=len(started) - len(unseen),
        violation_count=len(wrong),
        violations=[_violation(*pair) for pair in wrong[:IN_FULL_MAX]],
        others=[_summary(*pair) for pair in wrong[IN_FULL_MAX:][:OTHERS_MAX]],
        reason=_reason(started, unseen, wrong),
    )


_Wrong = Sequence[tuple[records.ContainerStarted, dict[str, str]]]


def _verdict(
    started: Sequence[object], unseen: Sequence[object], wrong: _Wrong
) -> verdicts.Verdict:
    if wrong:
        return verdicts.Verdict.INVALID
    is_known = bool(started) and not unseen
    return verdicts.Verdict.VALID if is_known else verdicts.Verdict.UNKNOWN


def _reason(
    started: Sequence[object], unseen: Sequence[records.ContainerStarted], wrong: _Wrong
) -> str:
    if wrong:
        return _summary(*wrong[0]) + f", and {len(wrong) - 1} more" * (len(wrong) > 1)
    if unseen:
        return f"the pod or the claim of {len(unseen)} containers was never observed"
    return f"{len(started)} containers had the parameters of their own claims"


def _told(environment: Environment) -> dict[str, str]:
    """Return the variables that a driver may have set."""
    return {name: value for name, value in environment.items() if name.startswith(_PREFIXES)}


def _summary(started: records.ContainerStarted, wanted: Environment) -> str:
    got = _told(started.environment)
    names = sorted(name for name in {*got, *wanted} if got.get(name) != wanted.get(name))
    values = [f"{name} is {got.get(name)!r}, not {wanted.get(name)!r}" for name in names]
    return f"container {started.container} of pod {started.pod}: {'; '.join(values)}"


def _violation(started: records.ContainerStarted, wanted: Environment) -> verdicts.Violation:
    pod = verdicts.InvolvedObject(
        kind="Pod", namespace=started.namespace, name=started.pod, uid=started.pod_uid
    )
    summary = _summary(started, wanted)
    return verdicts.Violation(
        guarantee=NAME,
        summary=summary,
        text=f"On {started.node}, {summary}.",
        resource_versions=[],
        objects=[pod],
    )
