"""The DeviceClasses and extended resources of manifests by the names that they have in a cluster.

On a cluster with other users, a run inserts its id into these names.
"""

from collections.abc import Sequence
from typing import Any

from harness.cluster.fake_nodes import fake_objects
from harness.scenario import pool_specs
from harness.scenario.object_sets import set_specs

_AMOUNTS = ("requests", "limits")


def of_sets(
    sets: Sequence[set_specs.ObjectSet], pools: pool_specs.PoolsSpec, run_id: str
) -> list[set_specs.ObjectSet]:
    """Return the sets with these names; `pools` are those of the run."""
    return [_of_set(one, pools, run_id) for one in sets]


def _of_set(
    one: set_specs.ObjectSet, pools: pool_specs.PoolsSpec, run_id: str
) -> set_specs.ObjectSet:
    objects = [
        item.model_copy(update={"manifest": _changed(item.manifest, pools, run_id)})
        for item in one.objects
    ]
    return one.model_copy(update={"objects": objects})


def _changed(value: Any, pools: pool_specs.PoolsSpec, run_id: str) -> Any:
    if isinstance(value, list):
        return [_changed(item, pools, run_id) for item in value]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for key, item in value.items():
        if key == "deviceClassName":
            made[key] = fake_objects.own_class(pools, item, run_id)
        elif key in _AMOUNTS and isinstance(item, dict):
            made[key] = {_resource(pools, name, run_id): amount for name, amount in item.items()}
        else:
            made[key] = _changed(item, pools, run_id)
    return made


def _resource(pools: pool_specs.PoolsSpec, name: str, run_id: str) -> str:
    prefix = pool_specs.IMPLICIT_RESOURCE_PREFIX
    if name.startswith(prefix):
        return prefix + fake_objects.own_class(pools, name.removeprefix(prefix), run_id)
    own = f"{run_id}.{name}"
    return own if own in pools.extended_resources else name
