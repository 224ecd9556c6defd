"""CEL selectors of a scenario, tried before anything is started: whether they compile, and whether enough devices match."""

from collections.abc import Iterator

from harness import errors
from harness.cluster.fixtures import fake_objects
from harness.model import naming
from harness.scenario import specs


def require_satisfiable(scenario: specs.Scenario) -> None:
    """Raise ScenarioError for a selector that is no CEL, and for selectors that leave a claim too few devices of a node."""
    named = dict(_selectors(scenario))
    if not named:
        return  # CEL is not imported for nothing
    problems = [
        f"  {key}: {text!r}: {why}" for key, text in named.items() if (why := _problem(text))
    ]
    if problems:
        lines = "\n".join(problems)
        raise errors.ScenarioError(f"expected CEL selectors that an API server takes\n{lines}")
    _require_matches(scenario)


def _selectors(scenario: specs.Scenario) -> Iterator[tuple[str, str]]:
    for number, text in enumerate(scenario.pools.device_class.selectors):
        yield f"pools.device_class.selectors[{number}]", text
    for number, text in enumerate(scenario.claim.selectors):
        yield f"claim.selectors[{number}]", text


def _problem(text: str) -> str:
    """Why the API server refuses an expression; empty when it does not."""
    from harness.apiserver.validation.cel import compiler

    compiled = compiler.compiled(text)
    return compiled.problem or "too complex, exceeds the cost limit" * compiled.too_complex


def _require_matches(scenario: specs.Scenario) -> None:
    matching = _matching(scenario)
    if matching is not None and matching < scenario.claim.devices:
        raise errors.ScenarioError(
            f"expected selectors that match at least {scenario.claim.devices} of the {scenario.pools.devices_per_node} devices of "
            f"a node, but {matching} match: {', '.join(text for _, text in _selectors(scenario))}"
        )


def _matching(scenario: specs.Scenario) -> int | None:
    """How many devices of a node all selectors match (the nodes are alike); None where it shows only in the run."""
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
