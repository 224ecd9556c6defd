"""The check of the environments of containers: they have the parameters of their own claims.

The driver of the fake nodes gives the opaque parameters of a claim to its containers as
`user_<key>`, those of the class as `admin_<key>`, and `claim_<claim>_<request>=true`. The expected
environment follows from the recorded pods and claims, and from the class of the plan; the journals
of preparations have the real one.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from harness.checks import check_results, object_plans, protocol, verdicts
from harness.checks.nodes import preparations
from harness.checks.observed import folders, observations, observed_claims
from harness.history import plans, records

_PREFIXES = ("user_", "admin_", "claim_")
_NO_NAME = re.compile(r"[^a-zA-Z0-9]")
_Key = tuple[str, str]
"""Namespace and name."""
Environment = Mapping[str, str]


def applies(plan: plans.Plan) -> bool:
    """Return whether claims or their class have parameters in this plan."""
    claim = plan.settings.get("claim") or {}
    is_configured = claim.get("parameters") or object_plans.have(plan, "config")
    return bool(plan.expected_preparations and (is_configured or _of_class(plan)))


def _of_class(plan: plans.Plan) -> dict[str, str]:
    chosen = (plan.settings.get("pools") or {}).get("device_class") or {}
    found: dict[str, str] = chosen.get("parameters") or {}
    return found


class Expectations(folders.Folder):
    """The expected environments of the containers of all observed pods."""

    def __init__(self) -> None:
        self._claims: dict[_Key, dict[str, str]] = {}
        """The variables of each claim."""
        self._containers: dict[str, dict[str, list[_Key]]] = {}
        """uid of a pod -> container -> its claims."""

    def of(self, started: records.ContainerStarted) -> dict[str, str] | None:
        """Return the variables of a container's claims; None if its pod was not observed."""
        claims = self.claims_of(started)
        if not claims or any(key not in self._claims for key in claims):
            return None
        return {name: value for key in claims for name, value in self._claims[key].items()}

    def claims_of(self, started: records.ContainerStarted) -> list[_Key]:
        """Return namespace and name of the claims of a container; empty: not observed."""
        return self._containers.get(started.pod_uid, {}).get(started.container, [])

    def see_claim(self, seen: observations.SeenClaim) -> None:
        """Note the variables of a claim."""
        meta, asked = seen.object.metadata, seen.object.spec.devices
        self._claims[meta.namespace, meta.name] = {
            **_user_variables(asked.config or ()),
            **{
                _NO_NAME.sub("_", f"claim_{meta.name}_{request.name}"): "true"
                for request in asked.requests or ()
            },
        }

    def see_pod(self, seen: observations.SeenPod) -> None:
        """Note which containers of a pod use which claims."""
        pod = seen.object
        names = pod.claim_names
        self._containers[pod.metadata.uid] = {
            container.name: [
                (pod.metadata.namespace, claim)
                for entry in container.resources.claims or ()
                if (claim := names.get(entry.name))
            ]
            for container in (*(pod.spec.init_containers or ()), *(pod.spec.containers or ()))
        }

    def see_final(self, seen: observations.SeenAny) -> None:
        """Note a claim or pod that existed at the end."""
        if seen.resource == observations.CLAIMS:
            self.see_claim(seen)
        elif seen.resource == observations.PODS:
            self.see_pod(seen)


def _user_variables(config: Sequence[observed_claims.Config]) -> dict[str, str]:
    return {
        f"user_{name}": _text(value)
        for item in config
        for name, value in item.opaque.parameters.items()
    }


def _text(value: object) -> str:
    """Return a text as it is, and any other value as JSON, as the driver does."""
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()


CHECK = protocol.Check(
    name="container_parameters",
    guarantee="G",
    promise="every container has the parameters of its own claims and their class",
    applies=applies,
    needs=(preparations.Reading, Expectations),
    judge=lambda evidence: check(
        evidence.plan, evidence[preparations.Reading].started, evidence[Expectations]
    ),
)


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
    return check_results.of_found(
        CHECK,
        wrong,
        verdict=check_results.verdict(wrong, is_kept=bool(started and not unseen)),
        examined_count=len(started) - len(unseen),
        violation=lambda pair: _violation(*pair),
        summary=lambda pair: _summary(*pair),
        reason=_reason(started, unseen, wrong),
    )


_Wrong = Sequence[tuple[records.ContainerStarted, dict[str, str]]]


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
        guarantee=CHECK.name,
        summary=summary,
        text=f"On {started.node}, {summary}.",
        resource_versions=[],
        objects=[pod],
    )
