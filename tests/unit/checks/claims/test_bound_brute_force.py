"""The check of bindings against a judge that replays every version of claims, pods and nodes."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from harness.checks import verdicts
from harness.checks.claims import bound_pods
from harness.history import plans
from tests.histories import building, placements
from tests.histories.placements import claim, gone, labelled, listed, node, on, pod, result
from tests.support import brute_force

Object = dict[str, Any]
FAULT = plans.PlannedFault(
    name="f", kind="delay-request", carrier="server", text="late", drawn_by="chaos"
)
SELECTORS = (None, on("n1"), on("n1", "n2"), on("n2"), labelled("zone", "a"))


def draw(seed: int) -> list[placements.Event]:
    """A small random history: each pod is bound once at most."""
    stream = random.Random(seed)
    zones = [listed(node(name, zone=stream.choice("ab"))) for name in ("n1", "n2")]
    pods = {"p": ["c"], "q": stream.choice([["c"], ["c", "d"]])}
    events = [*zones, *(pod(name, *claims) for name, claims in pods.items())]
    waiting = list(pods)
    for _ in range(stream.randint(2, 8)):
        kind = stream.random()
        name = stream.choice("ccd")
        if kind < 0.25 and waiting:
            bound = waiting.pop()
            events.append(pod(bound, *pods[bound], bound_to=stream.choice(["n1", "n2"])))
        elif kind < 0.35:
            events.append(node(stream.choice(["n1", "n2"]), zone=stream.choice("ab")))
        elif kind < 0.45:
            events.append(gone(claim(name)))
        else:
            events.append(
                claim(
                    name,
                    *([result("D1")] * (stream.random() < 0.85)),
                    selector=stream.choice(SELECTORS),
                    users=[user for user in "pq" if stream.random() < 0.7],
                )
            )
    return events


def wrong_pods(events: Sequence[placements.Event], *, is_lenient: bool) -> list[str]:
    """The pods that were bound wrongly, in order."""
    found = []
    for index, event in enumerate(events):
        spec = event.obj.get("spec", {})
        if event.obj["kind"] == "Pod" and "nodeName" in spec:
            claims = [entry["resourceClaimName"] for entry in spec["resourceClaims"]]
            pod_name = event.obj["metadata"]["name"]
            past = events[:index]
            if not all(
                _is_good(past, name, pod_name, spec["nodeName"], is_lenient=is_lenient)
                for name in claims
            ):
                found.append(pod_name)
    return found


def _is_good(
    past: Sequence[placements.Event], name: str, user: str, place: str, *, is_lenient: bool
) -> bool:
    states = [
        event
        for event in past
        if event.obj["kind"] == "ResourceClaim" and event.obj["metadata"]["name"] == name
    ]
    labels = [
        event.obj["metadata"]["labels"] for event in past if event.obj["metadata"]["name"] == place
    ]
    for event in states if is_lenient else states[-1:]:
        status = event.obj["status"]
        users = {item["uid"] for item in status.get("reservedFor", ())}
        if event.type == "DELETED" or "allocation" not in status or user not in users:
            continue
        if any(_admits(status["allocation"].get("nodeSelector"), place, item) for item in labels):
            return True
    return False


def _admits(selector: Object | None, place: str, labels: Object) -> bool:
    if selector is None:
        return True
    [term] = selector["nodeSelectorTerms"]
    if "matchFields" in term:
        return place in term["matchFields"][0]["values"]
    return labels["zone"] in term["matchExpressions"][0]["values"]


def test_the_check_agrees_with_a_judge_that_replays_everything() -> None:
    strict = building.plan()
    lenient = msgspec.structs.replace(strict, faults=[FAULT])

    def compare(seed: int) -> Iterator[bool]:
        events = draw(seed)
        seen = placements.fold(events)
        for plan in (strict, lenient):
            expected = wrong_pods(events, is_lenient=plan is lenient)
            answer = bound_pods.judge(seen.evidence(plan))
            if isinstance(answer, verdicts.NotExamined):
                assert not [item for item in events if "nodeName" in item.obj.get("spec", {})]
                continue
            found = [item.objects[0].name for item in answer.violations]
            assert (found, answer.violation_count) == (expected, len(expected))
            yield bool(expected)

    brute_force.agree(compare, True, one_in=5)
