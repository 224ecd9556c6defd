"""Scripts that are derived from the worlds of the explorer."""

import pathlib
from collections.abc import Sequence

import pytest

from harness import errors
from harness.confirmation import derived_scripts, needed_orders, script_files, world_objects
from harness.explore.search import explored_run, random_strategies, search_campaign, tokens
from harness.explore.worlds import world_catalogue
from harness.scenario import loading, script_specs
from tests.unit.confirmation import found_orders


def script(world: str, folder: pathlib.Path) -> script_specs.ScriptTraffic:
    """Return the script of a world's finding, loaded from its file."""
    text = script_files.text(
        derived_scripts.document(found_orders.found(world), found_orders.needed(world), name=world)
    )
    path = folder / f"{world}.toml"
    path.write_text(text)
    traffic = loading.load(str(path)).scenario.traffic
    assert isinstance(traffic, script_specs.ScriptTraffic)
    return traffic


def texts(steps: Sequence[script_specs.Step]) -> list[str]:
    return [step.text for step in steps]


def test_h1(tmp_path: pathlib.Path) -> None:
    made = script("answer-lost", tmp_path)
    shipped = loading.load("h01-lost-answer").scenario.traffic
    assert isinstance(shipped, script_specs.ScriptTraffic)
    missing = {*texts(shipped.steps)} - {*texts(made.steps)}
    assert missing == set(), "all that the one made by hand has"
    assert len(made.steps) <= len(shipped.steps) + 2
    assert made.expects == shipped.expects


def test_h3(tmp_path: pathlib.Path) -> None:
    made = script("failover", tmp_path)
    kinds = [step.do for step in made.steps]
    kill, start = kinds.index("kill"), kinds.index("start")
    assert kinds[kill - 1] in ("sever-request", "hold-request"), "the write is under way"
    assert kill < start < kinds.index("arrive")


def test_h2_by_another_writer(tmp_path: pathlib.Path) -> None:
    made = script("reallocated-unseen", tmp_path)
    patches = [step for step in made.steps if isinstance(step, script_specs.Patch)]
    assert "status.allocation" in patches[0].remove
    [result] = patches[1].patch["status"]["allocation"]["devices"]["results"]
    assert result["device"] == "worker-0-device-001"
    [end] = [step for step in made.steps if isinstance(step, script_specs.EndWatch)]
    assert (end.client, end.events) == ("scheduler", "resourceclaims")


@pytest.mark.slow  # each world is searched
@pytest.mark.parametrize(
    ("world", "check"),
    [
        ("binding-without-answer", "claims_in_use"),
        ("creation-without-answer", "generated_claims"),
        ("allocation-not-freed", "claim_progress"),
        ("reservation-taken-back-late", "claims_in_use"),
        ("two-schedulers-one-device", "device_exclusivity"),
    ],
)
def test_the_expected_check_is_that_of_the_finding(
    world: str, check: str, tmp_path: pathlib.Path
) -> None:
    assert check in script(world, tmp_path).expects


@pytest.mark.parametrize(
    "world", ["shares-of-one-device", "partitions-of-one-device", "binding-condition-fails"]
)
def test_a_world_with_special_devices_is_refused(world: str) -> None:
    run = explored_run.explore_once(
        world_catalogue.sized(world, {}), random_strategies.Replay([]), record=True
    )
    with pytest.raises(errors.UsageError, match="expected a world of which a script can be made"):
        world_objects.of_world([commit for step, commit in run.commits if not step])


def test_a_null_of_a_merge_patch_becomes_a_key_that_is_removed() -> None:
    patch = world_objects.merge_patch({"a": 1, "b": {"c": 2}}, {"b": {"c": 3}})
    assert patch == {"a": None, "b": {"c": 3}}
    step = script_specs.Patch(do="patch", object="claim-1", patch={"b": {"c": 3}}, remove=["a"])
    assert step.document == patch


def test_values_of_toml() -> None:
    text = script_files.text({"a": "x\ny", "t": {"steps": [{"k": {"a/b": [1, True]}}]}})
    assert text == 'a = "x\\ny"\n\n[t]\nsteps = [\n  { k = { "a/b" = [1, true] } },\n]\n'


def test_a_token_whose_world_has_no_api_events_has_no_script() -> None:
    hunt = search_campaign.Hunt(
        scenario="forced-deletion-unguarded",
        defects=(),
        strategy="pct",
        seed=1,
        schedules=500,
        time_s=None,
    )
    *_, progress = search_campaign.explore(hunt)
    token: tokens.Token = hunt.token(progress.findings[0][1])
    order = needed_orders.of_token(token)
    assert order is not None
    with pytest.raises(errors.UsageError, match="by its UID"):
        derived_scripts.document(token, order, name="forced")
