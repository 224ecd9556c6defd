"""Devices change while pods are being scheduled: pools, taints, conditions, claims of others."""

from collections.abc import Iterator

from harness.explore.worlds import literals, parts, world_fixtures, world_specs
from harness.explore.worlds.oracles import device_oracles, rest_judges

_GRANTED: tuple[world_specs.MakeOracle, ...] = (
    *world_specs.EXCLUSIVE,
    device_oracles.GrantedDevices,
)
_HOLDER = "claim-of-another"
_NODES = ("worker-0", "worker-1")
_SLICES = ("slice-1", "slice-2")


def _renewed(sizes: world_specs.Values) -> Iterator[parts.Part]:
    """Yield a pool of two slices that gets a new generation, with as many devices as pods need.

    Between the writes of its slices the pool is incomplete. The last pod comes when all is at rest.
    """
    pool = {"name": world_fixtures.NODE, "generation": 1, "resourceSliceCount": len(_SLICES)}
    devices = [
        [{"name": f"{name}-{index}"} for index in range((sizes["pods"] + 1) // 2)]
        for name in _SLICES
    ]
    pieces = zip(_SLICES, devices, strict=True)
    yield literals.there(
        *(world_fixtures.pool(listed, slice_name=name, pool=pool) for name, listed in pieces)
    )
    yield from literals.claims(sizes["pods"])
    yield from literals.pods(sizes["pods"] - 1)
    yield literals.does("renew_pool", f"pool-{_SLICES[-1]}")
    last = sizes["pods"]
    yield literals.pod(f"pod-{last}", f"claim-{last}", when=parts.AT_REST)


def _reported(sizes: world_specs.Values) -> Iterator[parts.Part]:
    """Yield pods and a driver that makes devices ready after their allocation.

    The first of them turn out to be broken. Their claims lose them, and the pods are tried again.
    """
    listed = world_fixtures.devices(sizes["pods"])
    with_conditions = [{**device, **world_fixtures.CONDITIONS} for device in listed]
    yield literals.there(world_fixtures.pool(with_conditions))
    yield from literals.claims(sizes["pods"])
    yield literals.actor(parts.DEVICE_DRIVER)
    yield from literals.pods(sizes["pods"])


def _freed(sizes: world_specs.Values) -> Iterator[parts.Part]:
    """Yield a claim that has a device of the first node, and no reservation, and its pods.

    Every other pod can run on the second node only: PostFilter frees the allocation for it. The
    others can run on the first node only: they reserve the claim. The pods of one node get it.
    """
    yield from (literals.pool(name=name) for name in _NODES)
    yield literals.allocated("claim-1")
    for number in range(1, sizes["pods"] + 1):
        node = _NODES[(number - 1) % 2]
        yield literals.pod(f"pod-{number}", "claim-1", nodeSelector={"node": node})


WORLDS: dict[str, world_specs.WorldSpec] = {
    "new-generation": literals.spec(
        "a pool gets a new generation, slice by slice, in the middle of attempts",
        _renewed,
        oracles=_GRANTED,
        pods=(3, 2),
    ),
    "taint-rule": literals.spec(
        "a DeviceTaintRule comes while a slice changes, in the middle of an attempt",
        [
            literals.pool(2),
            *literals.claims(2),
            literals.pod("pod-1", "claim-1"),
            literals.does("revise_devices", "pool-worker-0"),
            literals.does("add_rule"),
            literals.pod("pod-2", "claim-2", when=parts.AT_REST),
        ],
        oracles=_GRANTED,
        binders=1,
    ),
    "allocated-claim-deleted": literals.spec(
        "a claim without finalizer is deleted while a pod waits for its device",
        [
            literals.pool(),
            literals.allocated(_HOLDER),
            *literals.claims(),
            literals.pod("pod-1", "claim-1"),
            literals.does("delete_claim", _HOLDER, when=parts.AT_REST),
        ],
        oracles=world_specs.EXCLUSIVE,
        binders=1,
    ),
    "binding-condition-fails": literals.spec(
        "the first device that is allocated turns out to be broken before its pod is bound",
        _reported,
        oracles=(*world_specs.RESERVED, device_oracles.ReadyDevices),
        pods=(2, 1),
        failures=(1, 0),
    ),
    "allocation-freed-for-another-pod": literals.spec(
        "PostFilter frees the allocation of a claim that other pods reserve",
        _freed,
        oracles=(*world_specs.RESERVED, device_oracles.GrantedDevices),
        node_names=_NODES,
        pods=(2, 2),
    ),
    "allocation-not-freed": literals.spec(
        "H15: the write with which PostFilter frees an allocation fails",
        [
            *(literals.pool(name=name) for name in _NODES),
            literals.allocated("claim-1"),
            literals.pod("pod-1", "claim-1", nodeSelector={"node": _NODES[1]}),
        ],
        node_names=_NODES,
        at_rest=(rest_judges.unbound, rest_judges.differing_books),
        faults=("touch-objects", "lose-request"),
        binders=1,
    ),
}
