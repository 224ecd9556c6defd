"""The record of the conversation between a world's clients and its API server."""

import pytest

from harness.explore.search import explored_run, random_strategies, search_campaign, tokens
from harness.explore.worlds import api_events, world_catalogue


def _found(world: str, *, schedules: int = 1000) -> explored_run.ExploredRun:
    hunt = search_campaign.Hunt(
        scenario=world, defects=(), strategy="pct", seed=5, schedules=schedules, time_s=None
    )
    *_, progress = search_campaign.explore(hunt)
    return search_campaign.replay(hunt.token(progress.findings[0][1]), record=True)


def _undisturbed(world: str) -> explored_run.ExploredRun:
    spec = world_catalogue.sized(world, {})
    return explored_run.explore_once(spec, random_strategies.Replay([]), record=True)


def _explored(run: explored_run.ExploredRun) -> list[api_events.ApiEvent]:
    kinds = [event.kind for event in run.events]
    return run.events[kinds.index("begins") + 1 :]


@pytest.mark.parametrize(
    ("world", "clients"),
    [
        ("answer-lost", {"user", "scheduler"}),
        ("failover", {"user", "scheduler", "scheduler.2"}),
        ("leader-changes", {"user", "scheduler", "scheduler.2"}),
        ("two-schedulers-one-device", {"user", "scheduler", "scheduler-2"}),
        ("creation-without-answer", {"user", "claim-controller"}),
        (
            "two-users-one-device",
            {"user", "scheduler", "claim-controller", "kubelet", "garbage-collector"},
        ),
    ],
)
def test_clients_are_told_apart(world: str, clients: set[str]) -> None:
    assert {event.client for event in _undisturbed(world).events} == clients


def test_every_request_arrives_is_carried_out_and_answered() -> None:
    events = _explored(_undisturbed("two-claims-one-device"))
    of_claim = [event for event in events if event.of == "resourceclaims/claim-1/status"]
    assert [event.kind for event in of_claim] == ["sent", "committed", "answered"]
    assert [commit.object.name for commit in of_claim[1].commits] == ["claim-1"]
    assert of_claim[1].status == 200


def test_a_lost_answer_and_the_late_event_are_in_their_order() -> None:
    run = _found("answer-lost")
    events = _explored(run)
    assert run.finding is not None
    assert any(event.kind in ("lost-answer", "late-request") for event in events)
    [last] = [event for event in events if event.commits][-1:]
    assert last.of.endswith("/status"), "the second allocation ends the run"


def test_a_broken_watch_is_an_event() -> None:
    ended = [
        event for event in _explored(_found("reallocated-unseen")) if event.kind == "ended-watch"
    ]
    assert [(event.client, event.of) for event in ended] == [("scheduler", "resourceclaims")]


def test_a_stopped_process_and_its_successor_are_events() -> None:
    kinds = [event.kind for event in _explored(_undisturbed("failover"))]
    assert kinds.index("stopped") < kinds.index("started")


def test_what_is_heard_changes_no_decision() -> None:
    spec = world_catalogue.sized("answer-lost", {})
    heard: list[api_events.ApiEvent] = []
    decisions = search_campaign.replay(
        tokens.Token(scenario="answer-lost", defects=(), decisions=(0, 1, 2, 1))
    ).decisions
    strategy = random_strategies.Replay(decisions)
    again = explored_run.explore_once(spec, strategy, hear=heard.append)
    assert again.decisions == decisions
    assert heard
