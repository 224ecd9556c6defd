"""CEL selectors are tried before a cluster is started."""

import pytest

from harness import errors
from harness.run import run_plan, selectors
from harness.scenario import loading, pool_specs

DRIVER = pool_specs.PoolsSpec().driver


def scenario(*claim: str, of_class: str = "", devices: int = 1) -> loading.Loaded:
    overrides = [f"claim.devices={devices}", f"claim.selectors={list(claim)!r}"]
    if of_class:
        overrides.append(f"pools.device_class.selectors=[{of_class!r}]")
    return loading.load("pod-churn", overrides=overrides)


@pytest.mark.parametrize(
    ("loaded", "message"),
    [
        (scenario("device.foo("), "claim.selectors\\[0\\]: 'device.foo\\(': compilation failed"),
        (scenario("true", "1 + 1"), "claim.selectors\\[1\\]: .* must evaluate to bool"),
        (scenario("device.nope == 1"), "undefined field 'nope'"),
        (scenario(of_class="x"), "pools.device_class.selectors\\[0\\]"),
        (scenario("false"), "at least 1 of the 2 devices of a node, but 0 match: false"),
        (scenario('device.driver == "other"'), "but 0 match"),
        (
            scenario(f'device.attributes["{DRIVER}"].index == 0', devices=2),
            "at least 2 of the 2 devices of a node, but 1 match",
        ),
    ],
)
def test_what_cannot_be_satisfied_is_refused_with_the_plan(
    loaded: loading.Loaded, message: str
) -> None:
    with pytest.raises(errors.ScenarioError, match=message):
        run_plan.plan(loaded, seed=1)


@pytest.mark.parametrize(
    "loaded",
    [
        scenario(),
        scenario("true"),
        scenario(f'device.attributes["{DRIVER}"].index == 0'),
        scenario(f'device.attributes["{DRIVER}"].model == "fake"', of_class="true", devices=2),
        scenario("device.allowMultipleAllocations == false"),
    ],
)
def test_what_may_be_satisfied_is_planned(loaded: loading.Loaded) -> None:
    selectors.require_satisfiable(loaded.scenario)
