"""The check of starts of containers: their claims are prepared, and their devices can be found.

A kubelet that counts a claim as prepared because of what its files say is wrong after a reboot of
the node, which ends all preparations (kubernetes#120550). A driver that names devices without
writing their CDI files lets pods wait for ever (kubernetes#141433).
"""

import collections
from collections.abc import Iterator, Mapping, Sequence

from harness.checks import check_results, protocol, verdicts
from harness.checks.nodes import container_parameters, preparations
from harness.history import plans, records

_Place = tuple[str, str, str]
"""Node, and namespace and name of a claim."""
_Record = records.ContainerStarted | records.ContainersFailed
_Found = tuple[_Record, str]
"""A record of a container, and what is wrong with it as a sentence without its period."""


def applies(plan: plans.Plan) -> bool:
    """Return whether nodes journal what they prepare and start."""
    return bool(plan.expected_preparations)


CHECK = protocol.Check(
    name="prepared_containers",
    guarantee="X",
    promise="every container finds its devices, prepared for its claims, when it is started",
    applies=applies,
    needs=(preparations.Reading, container_parameters.Expectations),
    judge=lambda evidence: check(
        evidence[preparations.Reading], evidence[container_parameters.Expectations]
    ),
)


def check(
    reading: preparations.Reading, expected: container_parameters.Expectations
) -> verdicts.Answer:
    """Return INVALID with each claim that a container was started without, VALID without any.

    INVALID also with each pod whose containers could not be started with the prepared devices.
    NotExamined if no container was to be started, or none of an observed pod.
    """
    used = [(item, expected.claims_of(item)) for item in reading.started]
    seen = [(item, claims) for item, claims in used if claims]
    if not seen and not reading.unstarted:
        return CHECK.not_examined("no container with claims was started, so nothing was examined")
    found = [*_unprepared(reading, seen), *((item, _failure(item)) for item in reading.unstarted)]
    return check_results.of_found(
        CHECK,
        found,
        verdict=check_results.verdict(found, is_kept=True),
        examined_count=len(seen) + len(reading.unstarted),
        violation=_violation,
        summary=lambda pair: pair[1],
        reason=_reason(len(seen), found),
    )


def _unprepared(
    reading: preparations.Reading,
    seen: Sequence[tuple[records.ContainerStarted, Sequence[tuple[str, str]]]],
) -> Iterator[_Found]:
    """Yield the containers that were started with a claim that was not prepared then."""
    times = _times(reading.prepared)
    for item, claims in seen:
        for namespace, name in claims:
            known = times.get((item.node, namespace, name), ())
            if not any(from_ns <= item.ts_ns < until_ns for from_ns, until_ns in known):
                yield item, _told(item, name)


def _times(
    prepared: Sequence[preparations.Preparation],
) -> Mapping[_Place, list[tuple[int, float]]]:
    """Return from when until when each claim was prepared on each node."""
    found = collections.defaultdict(list)
    for item in prepared:
        until_ns = float("inf") if item.until_ns is None else item.until_ns
        found[item.node, item.namespace, item.name].append((item.from_ns, until_ns))
    return found


def _told(started: records.ContainerStarted, claim: str) -> str:
    return (
        f"container {started.container} of pod {started.pod} was started while claim {claim} was "
        f"not prepared on {started.node}"
    )


def _failure(failed: records.ContainersFailed) -> str:
    return f"the containers of pod {failed.pod} were not started on {failed.node}: {failed.message}"


def _reason(seen: int, found: Sequence[_Found]) -> str:
    if found:
        return found[0][1] + f", and {len(found) - 1} more" * (len(found) > 1)
    return f"{verdicts.counted(seen, 'container')} found the prepared devices"


def _violation(found: _Found) -> verdicts.Violation:
    item, summary = found
    pod = verdicts.InvolvedObject(
        kind="Pod", namespace=item.namespace, name=item.pod, uid=item.pod_uid
    )
    return verdicts.Violation(
        guarantee=CHECK.name,
        summary=summary,
        text=f"{summary[0].upper()}{summary[1:]}.",
        resource_versions=[],
        objects=[pod],
    )
