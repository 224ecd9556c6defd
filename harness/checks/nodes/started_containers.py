"""The checks of containers: they find their devices prepared, with the parameters of their claims.

The driver of the fake nodes gives the opaque parameters of a claim to its containers as
`user_<key>`, those of the class as `admin_<key>`, and `claim_<claim>_<request>=true`: of the
requests that a container names, or of all, and only what is for their drivers. The expected
environment follows from the recorded pods and claims, and from the class of the plan (of other
classes from what the claim has of them, which `copied_results` judges); the journals of
preparations have the real one.

A kubelet that counts a claim as prepared because of what its files say is wrong after a reboot of
the node, which ends all preparations (kubernetes#120550). A driver that names devices without
writing their CDI files lets pods wait for ever (kubernetes#141433).
"""

import collections
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.holds import hold_history
from harness.checks.nodes import preparations
from harness.checks.observed import folders, observations, observed_claims, observed_pods
from harness.history import plans, records

_PREFIXES = ("user_", "admin_", "claim_")
_NO_NAME = re.compile(r"[^a-zA-Z0-9]")
_Key = tuple[str, str]
"""Namespace and name."""
_Use = tuple[_Key, str]
"""A claim, and one of its requests; empty: all."""
_Granted = tuple[observed_claims.DeviceClaim, observed_claims.Allocation | None]
"""The requests of a claim, and its allocation."""
Environment = Mapping[str, str]


def _has_parameters(plan: plans.Plan) -> bool:
    parameters = plan_facts.part(plan, "claim").get("parameters")
    is_configured = parameters or plan_facts.manifests_have(plan, "config")
    return bool(plan.expected_preparations and (is_configured or _of_class(plan)))


def _of_class(plan: plans.Plan) -> dict[str, str]:
    chosen = plan_facts.part(plan, "pools").get("device_class") or {}
    found: dict[str, str] = chosen.get("parameters") or {}
    return found


class Expectations(folders.Folder):
    """The expected environments of the containers of all observed pods."""

    NEEDS: ClassVar[tuple[type, ...]] = (hold_history.HoldHistory,)

    def __init__(self) -> None:
        self._history = hold_history.HoldHistory()
        self._asked: dict[_Key, observed_claims.DeviceClaim] = {}
        self._containers: dict[str, dict[str, list[_Use]]] = {}
        """uid of a pod -> container -> what it uses."""
        self._extended: dict[str, observed_pods.ExtendedClaim] = {}
        """uid of a bound pod -> its claim for extended resources."""

    def of(self, started: records.ContainerStarted) -> dict[str, str] | None:
        """Return the variables of a container's claims; None if its pod was not observed."""
        uses, found = self._uses_of(started), dict[str, str]()
        if not uses or any(key not in self._granted for key, _ in uses):
            return None
        for (space, name), request in uses:
            found |= _variables(name, *self._granted[space, name], request)
        return found

    @functools.cached_property
    def _granted(self) -> dict[_Key, _Granted]:
        """Each claim, as its last version with an allocation was."""
        found: dict[_Key, _Granted] = {key: (asked, None) for key, asked in self._asked.items()}
        last = self._history.events.last_grants()
        for life in self._history.claims.values():
            key, grant = (life.namespace, life.name), last.get(life.number)
            if grant is not None:
                found[key] = grant.spec, grant.allocation
            elif key in self._asked:
                found[key] = self._asked[key], None
        return found

    def claims_of(self, started: records.ContainerStarted) -> list[_Key]:
        return list(dict.fromkeys(key for key, _ in self._uses_of(started)))

    def _uses_of(self, started: records.ContainerStarted) -> list[_Use]:
        return self._containers.get(started.pod_uid, {}).get(started.container, [])

    def see_new_claim(self, seen: observations.SeenClaim) -> None:
        meta = seen.object.metadata
        self._asked[meta.namespace, meta.name] = seen.object.spec.devices

    def conclude(self, others: Mapping[type, Any]) -> None:
        self._history = others[hold_history.HoldHistory]

    def see_pod(self, seen: observations.SeenPod) -> None:
        pod = seen.object
        names, space = pod.claim_names, pod.metadata.namespace
        extended = self._extended_of(pod)
        self._containers[pod.metadata.uid] = {
            container.name: [
                ((space, claim), entry.request)
                for entry in container.resources.claims or ()
                if (claim := names.get(entry.name))
            ]
            + [
                ((space, extended.resource_claim_name), mapping.request_name)
                for mapping in (extended.request_mappings or () if extended else ())
                if extended and mapping.container_name == container.name
            ]
            for container in (*(pod.spec.init_containers or ()), *(pod.spec.containers or ()))
        }

    def _extended_of(self, pod: observed_pods.Pod) -> observed_pods.ExtendedClaim | None:
        """Return the claim for extended resources, of a bound pod the one that it was bound with.

        A patch that comes later (hazard H16) is not what the containers were started with.
        """
        named, uid = pod.status.extended_resource_claim_status, pod.metadata.uid
        if not pod.spec.node_name or named is None:
            return self._extended.get(uid, named)
        return self._extended.setdefault(uid, named)

    def see_final(self, seen: observations.SeenAny) -> None:
        if seen.resource == observations.CLAIMS:
            self.see_new_claim(seen)
        elif seen.resource == observations.PODS:
            self.see_pod(seen)


def _variables(
    claim: str,
    asked: observed_claims.DeviceClaim,
    allocation: observed_claims.Allocation | None,
    request: str,
) -> dict[str, str]:
    """Return the variables of a container that uses a request; empty: all requests."""
    found: dict[str, str] = {}
    granted = [("", item.name) for item in asked.requests or ()]
    configs = [("user", item) for item in asked.config or ()]
    if allocation is not None:
        granted = [(item.driver, item.request) for item in allocation.devices.results]
        of_class = [it for it in allocation.devices.config or () if it.source == "FromClass"]
        configs = [*(("admin", item) for item in of_class), *configs]
    for driver, name in granted:
        first = name.partition("/")[0]
        if request not in ("", first):
            continue
        found |= {
            f"{prefix}_{key}": _text(value)
            for prefix, item in configs
            if driver in ("", item.opaque.driver)
            and not {name, first}.isdisjoint(item.requests or (name,))
            for key, value in item.opaque.parameters.items()
        }
        found[_NO_NAME.sub("_", f"claim_{claim}_{first}")] = "true"
    return found


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()


def _judge_parameters(evidence: protocol.Evidence) -> verdicts.CheckResult:
    started, expected = evidence[preparations.Reading].started, evidence[Expectations]
    of_class = {f"admin_{name}": value for name, value in _of_class(evidence.plan).items()}
    wanted = [(item, expected.of(item)) for item in started]
    unseen = sum(variables is None for _, variables in wanted)
    good = f"{len(started)} containers had the parameters of their own claims"
    told = f"the pod or the claim of {unseen} containers was never observed"
    return findings.judged(
        CONTAINER_PARAMETERS,
        [
            _difference(item, variables | of_class)
            for item, variables in wanted
            if variables is not None and variables | of_class != _of_claims(item.environment)
        ],
        examined=len(started) - unseen,
        good=good,
        unless=told if unseen else good * (not started),
    )


CONTAINER_PARAMETERS = protocol.Check(
    name="container_parameters",
    guarantee="G",
    promise="every container has the parameters of its own claims and their class",
    applies=_has_parameters,
    needs=(preparations.Reading, Expectations),
    judge=_judge_parameters,
)


def _of_claims(environment: Environment) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_PREFIXES)}


def _difference(started: records.ContainerStarted, wanted: Environment) -> findings.Finding:
    got = _of_claims(started.environment)
    names = sorted(name for name in {*got, *wanted} if got.get(name) != wanted.get(name))
    values = [f"{name} is {got.get(name)!r}, not {wanted.get(name)!r}" for name in names]
    summary = f"container {started.container} of pod {started.pod}: {'; '.join(values)}"
    return _finding(started, summary, f"On {started.node}, {summary}")


# -------------------------------------------------------------------------------- starts
_Place = tuple[str, str, str]
"""Node, and namespace and name of a claim."""


def _judge_starts(evidence: protocol.Evidence) -> verdicts.Answer:
    reading = evidence[preparations.Reading]
    expected = evidence[Expectations]
    used = [(item, expected.claims_of(item)) for item in reading.started]
    seen = [(item, claims) for item, claims in used if claims]
    if not seen and not reading.unstarted:
        return PREPARED_CONTAINERS.not_examined(
            "no container with claims was started, so nothing was examined"
        )
    return findings.judged(
        PREPARED_CONTAINERS,
        [*_unprepared(reading, seen), *map(_failure, reading.unstarted.values())],
        examined=len(seen) + len(reading.unstarted),
        good=f"{verdicts.counted(len(seen), 'container')} found the prepared devices",
    )


PREPARED_CONTAINERS = protocol.Check(
    name="prepared_containers",
    guarantee="X",
    promise="every container finds its devices, prepared for its claims, when it is started",
    applies=lambda plan: bool(plan.expected_preparations),
    needs=(preparations.Reading, Expectations),
    judge=_judge_starts,
)


def _unprepared(
    reading: preparations.Reading,
    seen: Sequence[tuple[records.ContainerStarted, Sequence[tuple[str, str]]]],
) -> Iterator[findings.Finding]:
    times = collections.defaultdict[_Place, list[preparations.Preparation]](list)
    for made in reading.prepared:
        times[made.node, made.namespace, made.name].append(made)
    for item, claims in seen:
        for namespace, name in claims:
            known = times.get((item.node, namespace, name), ())
            if not any(made.lasts_at(item.ts_ns) for made in known):
                yield _finding(
                    item,
                    f"container {item.container} of pod {item.pod} was started while claim {name} "
                    f"was not prepared on {item.node}",
                )


def _failure(item: records.ContainersFailed) -> findings.Finding:
    told = f"the containers of pod {item.pod} were not started on {item.node}: {item.message}"
    return _finding(item, told)


def _finding(
    record: records.ContainerStarted | records.ContainersFailed, summary: str, text: str = ""
) -> findings.Finding:
    pod = verdicts.InvolvedObject(
        kind="Pod", namespace=record.namespace, name=record.pod, uid=record.pod_uid
    )
    text = text or f"{summary[0].upper()}{summary[1:]}"
    return findings.Finding(summary=summary, text=text, objects=[pod])
