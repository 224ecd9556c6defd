"""Checks the CEL selectors of a scenario before a run starts.

They must compile, and enough devices must match.
"""

from collections.abc import Iterator

from harness import errors
from harness.cluster.fixtures import fake_objects
from harness.model import naming
from harness.scenario import specs


def require_satisfiable(scenario: specs.Scenario) -> None:
    """Raise ScenarioError for an invalid CEL selector, or if too few devices of a node match."""
    named = dict(_selectors(scenario))
    if not named:
        return  # without importing CEL, which is slow
    problems = [
        f"  {key}: {text!r}: {why}" for key, text in named.items() if (why := _problem(text))
    ]
    if problems:
        lines = "\n".join(problems)
        raise errors.ScenarioError(f"expected CEL selectors that the API server accepts\n{lines}")
    _require_matches(scenario)


def _selectors(scenario: specs.Scenario) -> Iterator[tuple[str, str]]:
    for number, text in enumerate(scenario.pools.device_class.selectors):
        yield f"pools.device_class.selectors[{number}]", text
    for number, text in enumerate(scenario.claim.selectors):
        yield f"claim.selectors[{number}]", text


def _problem(text: str) -> str:
    """Return the reason why the API server rejects an expression; empty if it accepts it."""
    from harness.apiserver.validation.cel import compiler

    compiled = compiler.compiled(text)
    return compiled.problem or "too complex, exceeds the cost limit" * compiled.too_complex


def _require_matches(scenario: specs.Scenario) -> None:
    matching = _matching(scenario)
    if matching is not None and matching < scenario.claim.devices:
        raise errors.ScenarioError(
            f"expected selectors that match at least {scenario.claim.devices} of the "
            f"{scenario.pools.devices_per_node} devices of a node, but {matching} match: "
            f"{', '.join(text for _, text in _selectors(scenario))}"
        )


def _matching(scenario: specs.Scenario) -> int | None:
    """Return how many devices of a node match all selectors; all nodes have the same devices.

    None: evaluating a selector fails, which will show in the run.
    """
    from harness.subject import expressions

    pools = scenario.pools
    slices = fake_objects.slice_objects(pools, naming.node(0, prefix=pools.node_prefix), labels={})
    devices = [device for item in slices for device in item["spec"]["devices"]]
    try:
        selectors = [expressions.compiled(text) for _, text in _selectors(scenario)]
        return sum(
            all(one.matches(pools.driver, device) for one in selectors) for device in devices
        )
    except expressions.SelectorError:
        return None
