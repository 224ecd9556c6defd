"""A machine with other plug-ins than those of the plan does not make its runs."""

import pathlib

import pytest

from harness import errors
from harness.campaign.sharding import sharded_plans
from tests.support import shards

EXAMPLE = pathlib.Path(__file__).parents[4] / "examples" / "my-plugins"


def test_the_same_plugins_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    sharded_plans.require_same_plugins(shards.plan().plugins, "plan.json")
    monkeypatch.setenv("FLAKE_HUNT_PLUGINS", str(EXAMPLE))
    plan = shards.plan()
    assert {plugin.kind for plugin in plan.plugins} >= {"checks", "scenarios", "subjects"}
    sharded_plans.require_same_plugins(plan.plugins, "plan.json")


def test_others_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    without = shards.plan().plugins
    monkeypatch.setenv("FLAKE_HUNT_PLUGINS", str(EXAMPLE))
    plugins = shards.plan().plugins
    with pytest.raises(
        errors.UsageError, match=r"plan\.json: .* also has .*\(checks\) of my-plugins"
    ):
        sharded_plans.require_same_plugins(without, "plan.json")
    monkeypatch.delenv("FLAKE_HUNT_PLUGINS")
    with pytest.raises(errors.UsageError, match=r"which lacks .*\(checks\) of my-plugins 0"):
        sharded_plans.require_same_plugins(plugins, "plan.json")
