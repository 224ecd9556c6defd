"""The order of API events that a finding needs, found by running its world again."""

import pytest

from harness.confirmation import api_atoms, following, needed_orders
from harness.explore.search import (
    explored_run,
    random_strategies,
    search_campaign,
    tokens,
)
from tests.unit.confirmation import found_orders


def told(order: needed_orders.NeededOrder) -> list[str]:
    return [f"{atom.kind} {atom.event.of} {atom.fault}".strip() for atom in order.needed]


def test_a_lost_answer_and_a_late_event_are_all_that_h1_needs() -> None:
    found = told(found_orders.needed("answer-lost"))
    assert "request resourceclaims/claim-1/status lose-response" in found
    assert found[-2:] == ["rest", "event resourceclaims"], "the event is late"
    assert len(found) <= 6


def test_a_late_write_is_all_that_h3_needs() -> None:
    assert told(found_orders.needed("failover")) == [
        "rest",
        "request resourceclaims/claim-1/status",
    ]


@pytest.mark.slow  # each world is searched
@pytest.mark.parametrize(
    ("world", "kind", "faults"),
    [
        ("answer-lost", "device", {"lose-response"}),
        ("reallocated-unseen", "device", {"expire-watch"}),
        ("binding-without-answer", "bound:", {"lose-response"}),
        ("creation-without-answer", "entry:", {"lose-response"}),
        ("allocation-not-freed", "stuck:", {"lose-request"}),
        ("reservation-taken-back-late", "bound:", set()),
        ("two-schedulers-one-device", "device", set()),
    ],
)
def test_the_needed_order_finds_the_same_again(world: str, kind: str, faults: set[str]) -> None:
    order = found_orders.needed(world)
    again = following.follow(found_orders.found(world), order.needed)
    assert needed_orders.kind_of(again.finding) == kind
    assert {atom.fault for atom in order.needed if atom.fault} <= faults | {"drop-watch"}


@pytest.mark.parametrize("world", ["answer-lost", "failover", "creation-without-answer"])
def test_without_the_order_nothing_is_found(world: str) -> None:
    assert following.follow(found_orders.found(world), []).finding is None


@pytest.mark.parametrize("world", ["answer-lost", "failover"])
def test_with_the_remedy_the_same_order_finds_nothing(world: str) -> None:
    token = found_orders.found(world)
    hazard = token.spec.hazard
    assert hazard is not None
    assert hazard.remedy is not None
    remedied = tokens.Token(
        scenario=world,
        defects=(),
        remedies=(hazard.remedy,),
        decisions=(),
        sizes=token.sizes,
    )
    assert following.follow(remedied, found_orders.needed(world).needed).finding is None


def test_a_race_of_threads_needs_more_than_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needed_orders, "SEARCH_S", 0.1)
    hunt = search_campaign.Hunt(
        scenario="pod-arrives-during-binding",
        defects=("gather-not-atomic",),
        strategy="pct",
        seed=16,
        schedules=3000,
        time_s=None,
    )
    *_, progress = search_campaign.explore(hunt)
    assert needed_orders.of_token(hunt.token(progress.findings[0][1])) is None


def test_every_atom_of_a_run_has_a_name_of_its_own() -> None:
    spec = found_orders.found("failover").spec
    run = explored_run.explore_once(spec, random_strategies.Replay([]), record=True)
    keys = [atom.key for atom in api_atoms.of_run(run.events, with_answers=True)]
    assert len(keys) == len({*keys})
    assert ("request", "scheduler.2", "list", "resourceclaims", 1) in keys
