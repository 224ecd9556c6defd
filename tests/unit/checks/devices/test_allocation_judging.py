"""Each allocation is judged by what was known when it was made, and the result tells the worst."""

import random

import msgspec
import numpy as np
import pytest

from harness.checks import verdicts
from harness.checks.devices import allocation_judging, allocations, device_catalogue, pool_timelines
from harness.checks.observed import observed_slices
from tests.histories import placements
from tests.histories.placements import claim, device, node, piece, result

CHECK = allocation_judging.of_each(
    name="n", guarantee="N", promise="p", good="all is well", ask=lambda grant, *_: None
)


def _asked(
    grant: allocations.Grant, catalogue: device_catalogue.DeviceCatalogue, version: int
) -> allocation_judging.Answer:
    return allocation_judging.Wrong(f"{grant.results[0].device} {version}")


@pytest.mark.parametrize("seed", range(30))
def test_equal_allocations_share_an_answer_only_if_the_same_was_known(seed: int) -> None:
    stream = random.Random(seed)
    events = [
        claim(f"c{number}", result(f"D{stream.randrange(3)}"))
        if stream.random() < 0.6
        else piece(f"E{number}")
        for number in range(16)
    ]
    questions = placements.fold(events).questions
    findings = questions.ask(_asked)
    for row, version in enumerate(questions.made.versions):
        answer = findings.answers[findings.which[row]]
        assert isinstance(answer, allocation_judging.Wrong)
        asked, at = answer.text.split()
        assert (
            asked
            == events[version - 1].obj["status"]["allocation"]["devices"]["results"][0]["device"]
        )
        between = events[min(int(at), version) - 1 : max(int(at), version)]
        assert not [event for event in between if event.obj["kind"] == "ResourceSlice"]


def test_news_of_several_watches_are_put_in_order() -> None:
    catalogue = device_catalogue.DeviceCatalogue()
    catalogue.see_slice(placements.observed(piece("D1", "D2"), 5))
    catalogue.see_slice(placements.observed(piece("D1", "D2"), 6))
    catalogue.see_node(placements.observed(node("n1"), 3))
    assert catalogue.news == [3, 5, 5]
    assert [catalogue.epoch(version) for version in (3, 4, 5, 6, 7)] == [0, 1, 1, 3, 3]
    catalogue.see_node(placements.observed(node("n2"), 4))
    assert catalogue.news == [3, 4, 5, 5]


def _result(*weights: int) -> verdicts.CheckResult:
    questions = placements.fold(claim(f"c{n}", result("D")) for n in range(len(weights))).questions
    findings = allocation_judging.Findings(
        [None, *(allocation_judging.Wrong(f"has {n}", n) for n in range(1, 9))],
        np.array(weights),
    )
    answer = allocation_judging.result(CHECK, questions, findings, good="all is well")
    assert isinstance(answer, verdicts.CheckResult)
    return answer


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        ((0,), "1 allocation examined; all is well"),
        ((0, 0), "2 allocations examined; all is well"),
        ((0, 1), "1 of 2 allocations wrong, the first: claim c1: has 1"),
        ((1, 1), "2 of 2 allocations wrong, the first: claim c0: has 1; the last: claim c1: has 1"),
        (
            (1, 3, 2, 0),
            "3 of 4 allocations wrong, the first: claim c0: has 1; the worst: claim c1: has 3; the last: claim c2: has 2",
        ),
        ((1, 3), "2 of 2 allocations wrong, the first: claim c0: has 1; the worst: claim c1: has 3"),
    ],
)  # fmt: skip
def test_the_reason_names_the_first_the_worst_and_the_last(
    weights: tuple[int, ...], reason: str
) -> None:
    assert _result(*weights).reason == reason


def test_a_violation_names_the_devices() -> None:
    [violation] = _result(0, 2).violations
    assert violation.text == (
        "Claim tests/c1 (uid c1) was allocated gpu.example/n1/D at resourceVersion 2: has 2."
    )


def test_a_slice_with_devices_on_several_nodes_is_seen_on_each_of_them() -> None:
    devices = [
        device("D1", nodeName="n1"),
        device("D2", nodeName="n2"),
        device("D3", allNodes=True),
    ]
    slices = {
        "s": piece(*devices, generation=2, perDeviceNodeSelection=True),
        "t": piece("D4", nodeName="n2"),
    }
    specs = {
        name: msgspec.convert(event.obj["spec"], observed_slices.SliceSpec)
        for name, event in slices.items()
    }
    assert set(pool_timelines.allocatable(specs)) == {"D1", "D2", "D3"}  # D4 is of the old one
