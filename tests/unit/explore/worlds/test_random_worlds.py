"""Random worlds: drawn alike from one number, of every feature, silent without a defect."""

from collections.abc import Callable

import pytest

from harness import errors
from harness.explore.search import (
    explored_run,
    random_strategies,
    search_campaign,
    shrink_world,
    tokens,
)
from harness.explore.worlds import actions, api_server, parts, world_catalogue, world_specs
from harness.explore.worlds.random_worlds import action_drawing, random_specs, world_drawing
from tests.support import world_searches

pytestmark = pytest.mark.slow

DRAWN = 1200
FIXED = {
    "bind_pod",
    "free_claim",
    "give_back",
    "kill_pod",
    "move_claim",
    "reserve_claim",
    "taint_devices",
}
"""Actions of other worlds only."""
ACTIONS = {
    name
    for name, value in vars(actions.Actions).items()
    if callable(value) and not name.startswith("_") and name not in FIXED
} - {"knowing_rules", "report_devices"}


def found(seed: int, defect: str, *, worlds: int = 200) -> search_campaign.RandomProgress:
    hunt = search_campaign.RandomHunt(seed=seed, defects=(defect,), worlds=worlds)
    *_, progress = search_campaign.explore_worlds(hunt)
    return progress


def test_a_number_draws_the_same_world_each_time() -> None:
    for number in range(50):
        first = repr(world_drawing.draw(number))
        world_drawing.draw.cache_clear()
        assert repr(world_drawing.draw(number)) == first


def test_different_numbers_draw_different_worlds() -> None:
    assert len({repr(world_drawing.draw(number)) for number in range(100)}) > 90


def test_every_action_fault_and_actor_is_drawn() -> None:
    drawings = [world_drawing.draw(number) for number in range(DRAWN)]
    drawn = [part for drawing in drawings for part in drawing.parts]
    assert {part.does for part in drawn} - {""} == ACTIONS
    assert {part.name for part in drawn if part.kind == "fault"} == {*action_drawing.FAULTS}
    assert {part.name for part in drawn if part.kind == "actor"} == {
        "controller",
        "device-driver",
        "kubelets",
        "rebooted-node",
        "refused-pod",
        "restarted-kubelet",
        "scheduler-2",
    }


@pytest.mark.parametrize(
    ("is_hazardous", "excludes"),
    [
        # H16, with extended resources, and H17, where a generated claim is lost
        (
            lambda it: it.does("lose_claim") or "pod: extended resource" in it.features,
            lambda it: it.has((api_server.LATE_REQUEST,)),
        ),
        # the remedy for H3 does not cover that a claim is deleted in a gap
        (lambda it: it.does("fail_over"), lambda it: it.has(action_drawing.GAPS)),
        # H16 and H19: its late writes name another claim, and its successor deletes the pod's
        (
            lambda it: "pod: extended resource" in it.features,
            lambda it: it.does("fail_over"),
        ),
    ],
    ids=["late writes", "gaps and restarts", "extended resources and restarts"],
)
def test_what_shows_a_hazard_without_a_remedy_is_not_drawn_together(
    is_hazardous: Callable[[parts.Setting], bool], excludes: Callable[[parts.Setting], bool]
) -> None:
    hazardous = [*filter(is_hazardous, map(world_drawing.draw, range(DRAWN)))]
    assert hazardous
    assert not [*filter(excludes, hazardous)]


@pytest.mark.parametrize("is_restarted", [False, True])
def test_no_binding_is_under_way_where_a_scheduler_is_restarted(
    monkeypatch: pytest.MonkeyPatch, is_restarted: bool
) -> None:
    """H19: there is one choice less for each binding, that between sending and commit."""
    numbers = (n for n in range(DRAWN) if world_drawing.draw(n).does("fail_over") == is_restarted)
    spec = random_specs.spec(random_specs.name(next(numbers)))
    assert spec is not None

    def choices() -> int:
        return len(explored_run.explore_once(spec, random_strategies.Replay([])).decisions)

    chosen = choices()
    server = api_server.LocalServer
    monkeypatch.setattr(
        api_server,
        "LocalServer",
        lambda *arguments, has_prompt_bindings=False, **options: server(*arguments, **options),
    )
    assert (choices() > chosen) == is_restarted


def test_a_part_goes_with_those_that_it_needs() -> None:
    for number in range(300):
        drawing = world_drawing.draw(number)
        for left_out in drawing.parts:
            names = {part.name for part in drawing.included({left_out.name: 0}).parts}
            kept = [part for part in drawing.parts if part.name in names]
            assert left_out.name not in names
            assert all({*part.needs} <= names for part in kept)


def test_every_smaller_world_can_be_made() -> None:
    hunt = search_campaign.RandomHunt(seed=5).hunt(2)
    for name, size in hunt.spec.sizes.items():
        for value in range(size.least, size.value):
            smaller = tokens.Token(
                scenario=hunt.scenario, defects=(), decisions=(), sizes=((name, value),)
            )
            assert search_campaign.replay(smaller).finding is None


def test_the_correct_subject_is_silent() -> None:
    *_, progress = search_campaign.explore_worlds(
        search_campaign.RandomHunt(seed=1, schedules=4, worlds=40)
    )
    assert progress.found is None
    assert progress.worlds == 40
    assert progress.schedules == 160


def test_all_claims_of_a_pod_with_many_get_their_devices_ready() -> None:
    """This driver ended after twenty reports, and the pod waited for ever."""
    spec = world_catalogue.sized(
        "random-603014809", {"pod-1": 0, "delete-pod-pod-1": 0, "pool-worker-1": 0}
    )
    drawing = world_drawing.draw(603014809)
    assert {"device-driver", "pod-2"} <= {part.name for part in drawing.parts}
    assert explored_run.explore_once(spec, random_strategies.Replay([])).finding is None


def test_a_long_run_of_a_pod_with_many_claims_is_no_livelock() -> None:
    """Found in a random world: the claims of a pod that has ended are looked at again and again."""
    hunt = world_searches.hunt("random-158949414", strategy="random", seed=1, schedules=1)
    assert hunt.spec.choices_max > world_specs.CHOICES_MAX
    *_, progress = search_campaign.explore(hunt)
    assert progress.findings == []


@pytest.mark.parametrize(
    ("seed", "defect", "kind"),
    [
        (2, "constraints-not-asked", "constraint:"),
        (2, "in-flight-removed-first", "device"),
        (2, "not-cached-is-final", "stuck:"),
    ],
)
def test_a_defect_is_found_shrunk_and_found_again(seed: int, defect: str, kind: str) -> None:
    progress = found(seed, defect)
    assert progress.found is not None
    finding, token = progress.found
    assert finding.partition(" ")[0] == kind
    assert search_campaign.replay(tokens.parse(str(token))).finding == finding


def test_a_finding_is_shrunk_to_the_parts_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shrink_world, "SCHEDULES", 5)
    progress = found(2, "constraints-not-asked")
    assert progress.found is not None
    small = shrink_world.smallest(progress.found[1])
    drawing = world_drawing.draw(int(small.scenario.removeprefix("random-")))
    kept = [part.kind for part in drawing.included(small.spec.values).parts]
    assert (kept.count("pod"), kept.count("fault"), kept.count("action")) == (1, 0, 0)
    assert search_campaign.replay(tokens.parse(str(small))).finding is not None


def test_the_search_ends_at_the_first_world_with_a_finding() -> None:
    hunt = search_campaign.RandomHunt(seed=4, defects=("selectors-not-asked",), worlds=50)
    alone = [*search_campaign.explore_worlds(hunt)][-1]
    first = next(
        index
        for index in range(50)
        if alone.found is not None and hunt.hunt(index).scenario == alone.found[1].scenario
    )
    assert alone.worlds == first + 1


def test_a_world_with_known_hazards_gets_their_remedies_or_none_of_their_faults() -> None:
    lossy = next(n for n in range(500) if world_drawing.draw(n).has(("lose-response",)))
    remedies, sizes = random_specs.settings(random_specs.name(lossy), ())
    assert "keep-in-flight-until-known" in remedies
    assert sizes == ()
    excluding = ("allocation-without-finalizer",)
    remedies, sizes = random_specs.settings(random_specs.name(lossy), excluding)
    assert "keep-in-flight-until-known" not in remedies
    assert ("lose-response", 0) in sizes


def test_h2_needs_no_fault_where_two_schedulers_share_a_claim() -> None:
    """World random-84342317 showed it after 192 schedules."""
    shared = world_drawing.draw(84342317)
    assert shared.has(("scheduler-2",))
    assert not shared.has(action_drawing.GAPS)
    remedies, _ = random_specs.settings(random_specs.name(84342317), ())
    assert "compare-devices-on-update" in remedies


@pytest.mark.parametrize("name", ["random-", "random-x", "random--1", "random-01"])
def test_other_names_are_no_random_worlds(name: str) -> None:
    assert random_specs.spec(name) is None
    with pytest.raises(errors.ScenarioError, match="random-NUMBER"):
        world_catalogue.sized(name, {})
