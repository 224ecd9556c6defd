"""Uses of the API server's objects: two turns commute where nothing can tell their order."""

from collections.abc import Callable

import pytest

from harness.client import apis
from harness.explore.runtime import observing, scheduler
from harness.explore.search import random_strategies
from harness.explore.search.whole import depth_first, turns
from harness.explore.worlds import api_server

PODS, CLAIMS, SLICES = apis.PODS.plural, apis.CLAIMS.plural, apis.SLICES.plural
Use = Callable[[api_server.ServerObjects], None]


def used(first: Use, second: Use, related: tuple[str, ...] | None) -> list[turns.Uses]:
    observer = depth_first.Covering([])
    runtime = scheduler.ControlledRuntime(random_strategies.Replay(()), observer=observer)
    objects = api_server.ServerObjects(runtime, related)
    for use in (first, second):
        runtime.spawn("task", lambda use=use: use(objects))  # type: ignore[misc]
    runtime.run(explore=True)
    assert observing.EVERYTHING not in observer.turns[0].uses
    return [turn.uses for turn in observer.turns]


def read(plural: str) -> Use:
    return lambda objects: objects.read(plural)


def change(plural: str) -> Use:
    return lambda objects: objects.change(plural)


def change_all(objects: api_server.ServerObjects) -> None:
    objects.change_all()


@pytest.mark.parametrize(
    ("first", "second", "related", "commute"),
    [
        (read(PODS), read(PODS), None, True),
        (read(PODS), change(PODS), (), False),
        (change(PODS), change(PODS), (), False),
        (change(PODS), change(CLAIMS), (), True),
        (change(PODS), change(CLAIMS), (CLAIMS, SLICES), True),
        (change(SLICES), change(CLAIMS), (CLAIMS, SLICES), False),
        (change(PODS), change(CLAIMS), None, False),
        (change_all, read(CLAIMS), (), False),
        (change(PODS), change_all, (), False),
    ],
)
def test_what_commutes(
    first: Use, second: Use, related: tuple[str, ...] | None, *, commute: bool
) -> None:
    one, other = used(first, second, related)
    assert turns.are_independent(one, other) is commute
