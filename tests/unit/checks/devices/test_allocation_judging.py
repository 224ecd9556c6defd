"""Each allocation is judged by what was known when it was made, and the result tells the worst."""

import random

import pytest

from harness.checks.devices import allocation_judging, device_catalogue
from tests.histories import placements
from tests.histories.placements import claim, node, piece, result


def _asked(
    grant: allocation_judging.Grant, catalogue: device_catalogue.DeviceCatalogue, version: int
) -> allocation_judging.Wrong:
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
    answers = questions.ask(_asked)
    for row, version in enumerate(questions.made.versions):
        answer = answers.of(row)
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
