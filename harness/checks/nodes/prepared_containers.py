"""The check of starts of containers: their claims are prepared, and their devices can be found.

A kubelet that counts a claim as prepared because of what its files say is wrong after a reboot of
the node, which ends all preparations (kubernetes#120550). A driver that names devices without
writing their CDI files lets pods wait for ever (kubernetes#141433).
"""

import collections
from collections.abc import Iterator, Sequence

from harness.checks import findings, protocol, verdicts
from harness.checks.nodes import container_parameters, preparations
from harness.history import records

_Place = tuple[str, str, str]
"""Node, and namespace and name of a claim."""


def judge(evidence: protocol.Evidence) -> verdicts.Answer:
    """Return INVALID with each claim that a container was started without, VALID without any.

    INVALID also with each pod whose containers could not be started with the prepared devices.
    NotExamined if no container was to be started, or none of an observed pod.
    """
    reading = evidence[preparations.Reading]
    expected = evidence[container_parameters.Expectations]
    used = [(item, expected.claims_of(item)) for item in reading.started]
    seen = [(item, claims) for item, claims in used if claims]
    if not seen and not reading.unstarted:
        return CHECK.not_examined("no container with claims was started, so nothing was examined")
    return findings.judged(
        CHECK,
        [*_unprepared(reading, seen), *map(_failure, reading.unstarted)],
        examined=len(seen) + len(reading.unstarted),
        good=f"{verdicts.counted(len(seen), 'container')} found the prepared devices",
    )


CHECK = protocol.Check(
    name="prepared_containers",
    guarantee="X",
    promise="every container finds its devices, prepared for its claims, when it is started",
    applies=lambda plan: bool(plan.expected_preparations),
    needs=(preparations.Reading, container_parameters.Expectations),
    judge=judge,
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
    item: records.ContainerStarted | records.ContainersFailed, told: str
) -> findings.Finding:
    return findings.Finding(
        summary=told,
        text=f"{told[0].upper()}{told[1:]}",
        objects=[preparations.involved_pod(item)],
    )
