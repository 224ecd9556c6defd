"""Checks the CEL selectors of a scenario before a run starts.

The API server must accept them, and enough devices must match. Pools and
claims are not checked here: the API server of the run rejects invalid ones.
"""

from collections.abc import Iterator
from typing import Any

from harness import errors
from harness.cluster.fake_nodes import fake_objects, pool_slices
from harness.model import naming
from harness.scenario import claim_specs, pool_specs, specs


def require_satisfiable(scenario: specs.Scenario) -> None:
    """Raise ScenarioError for an invalid CEL selector, or if too few devices match."""
    named = dict(_selectors(scenario))
    if named:  # otherwise without importing CEL, which is slow
        _require_compiled(named)
    if named:
        for claim in scenario.claim_kinds:
            _require_matches(scenario, claim)


def _selectors(scenario: specs.Scenario) -> Iterator[tuple[str, str]]:
    for number, text in enumerate(scenario.pools.device_class.selectors):
        yield f"pools.device_class.selectors[{number}]", text
    for number, claim in enumerate(scenario.claim_kinds):
        where = f"claims.{number}" if scenario.claims else "claim"
        for key, text in claim.selected:
            yield f"{where}.{key}", text


# ------------------------------------------------------------- what the API server says


def _require_compiled(named: dict[str, str]) -> None:
    problems = [f"{key}: {text!r}: {why}" for key, text in named.items() if (why := _problem(text))]
    if problems:
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise errors.ScenarioError(f"expected CEL selectors that the API server accepts\n{lines}")


def _problem(text: str) -> str:
    """Return the reason why the API server rejects an expression; empty if it accepts it."""
    from harness.apiserver.validation.cel import compiler

    compiled = compiler.compiled(text)
    return compiled.problem or "too complex, exceeds the cost limit" * compiled.too_complex


# --------------------------------------------------------------------- matching devices


def _require_matches(scenario: specs.Scenario, claim: claim_specs.ClaimSpec) -> None:
    """Raise ScenarioError if a request has no alternative that enough devices match."""
    pools = scenario.pools
    for request in claim.asked:
        if pools.imported and any(
            pools.is_of_files(item.class_, item.pool) for item in request.alternatives
        ):
            continue
        counts = [(_matching(pools, item), _needed(item)) for item in request.alternatives]
        if any(matching is None or matching >= needed for matching, needed in counts):
            continue
        matching, needed = counts[0]
        texts = [*pools.device_class.selectors, *request.alternatives[0].selectors]
        raise errors.ScenarioError(
            f"expected selectors that match at least {needed} of the "
            f"{_offered(pools)} of a node, but {matching} match: {', '.join(texts)}"
        )


def _needed(item: claim_specs.AlternativeSpec) -> int:
    return 1 if item.all else item.devices


def _offered(pools: pool_specs.PoolsSpec) -> str:
    count = sum(len(piece["spec"].get("devices", ())) for piece in _slices(pools))
    return f"{count} device{'s' * (count != 1)}"


def _matching(pools: pool_specs.PoolsSpec, item: claim_specs.AlternativeSpec) -> int | None:
    """Return how many devices match a request on the first node; all nodes have the same devices.

    A shared device counts as many. None: evaluating a selector fails, which will show in the run.
    """
    from harness.subject.allocation import expressions

    texts = [*pools.device_class.selectors, *item.selectors]
    devices = [device for piece in _slices(pools) for device in piece["spec"].get("devices", ())]
    try:
        selectors = [expressions.compiled(text) for text in texts]
        return sum(
            claim_specs.DEVICES_MAX if device.get("allowMultipleAllocations") else 1
            for device in devices
            if _is_of_kind(device, item) and all(x.matches(pools.driver, device) for x in selectors)
        )
    except expressions.SelectorError:
        return None


def _is_of_kind(device: dict[str, Any], item: claim_specs.AlternativeSpec) -> bool:
    kind = device["attributes"].get(fake_objects.KIND, {}).get("string", "")
    return item.pool in ("", kind)


def _slices(pools: pool_specs.PoolsSpec) -> Iterator[dict[str, Any]]:
    """Yield the slices of the first node, and those of no single node."""
    yield from pool_slices.of_node(pools, naming.node(0, prefix=pools.node_prefix), labels={})
    yield from pool_slices.of_cluster(pools, labels={})
