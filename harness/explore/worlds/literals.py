"""How the worlds of the catalogue are written: parts and specs in few words."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from harness.explore.worlds import api_server, parts, world, world_fixtures, world_specs
from harness.model.objects import Object

Parts = Iterable[parts.Part]
CONTROLLER = parts.Part(name=parts.CONTROLLER, kind="actor")
SECOND_SCHEDULER = parts.Part(name=parts.SECOND_SCHEDULER, kind="actor")


def spec(
    title: str,
    made_of: Parts | Callable[[world_specs.Values], Parts],
    *,
    make: type[world.World] = world.World,
    oracles: Sequence[world_specs.MakeOracle] = world_specs.RESERVED,
    at_rest: Sequence[world_specs.Judge] | None = None,
    remedies: Sequence[str] = (),
    node_names: Sequence[str] = (world_fixtures.NODE,),
    has_scheduler: bool = True,
    binders: int = 0,
    faults: Sequence[str] = (),
    faults_max: int = 1,
    is_of_node: bool = False,
    private_locks: tuple[str, ...] | None = None,
    **sizes: tuple[int, int],
) -> world_specs.WorldSpec:
    """Return the spec of a world; each size is given as its value and its minimum.

    `made_of`: its parts, or what returns them for some sizes. `binders`: how many pods may be bound
    at the same time; 0: any number. `faults`: those of the API server; `faults_max`: how many of
    them may happen. `private_locks`: see `WorldSpec`; None: those that no two tasks want.
    """
    if has_scheduler:
        sizes["binders"] = (binders, binders)
    if {*faults} - {api_server.OF_BINDINGS}:
        sizes["faults_max"] = (faults_max, 0)
    made = () if callable(made_of) else tuple(made_of)

    def setting(sizes: world_specs.Values) -> parts.Setting:
        nodes = tuple(f"worker-{index}" for index in range(sizes.get("nodes", 0)))
        own = made_of(sizes) if callable(made_of) else made
        return parts.Setting(
            parts=(*own, *map(fault, faults)),
            nodes=nodes or tuple(node_names),
            schedulers=(world_fixtures.SCHEDULER,) if has_scheduler else (),
            is_of_node=is_of_node,
        )

    values = {name: value for name, (value, _) in sizes.items()}
    return world_specs.WorldSpec(
        title=title,
        setting=setting,
        make=make,
        sizes={name: world_specs.Size(*size) for name, size in sizes.items()},
        oracles=oracles,
        at_rest=at_rest,
        remedies=remedies,
        private_locks=private_locks or world_specs.private_locks(setting(values), values),
    )


def there(
    *documents: Object,
    name: str = "",
    when: str = parts.START,
    needs: tuple[str, ...] = (),
    is_own: bool = False,
) -> parts.Part:
    """Return objects that are there from the start, or that another client creates.

    `name` empty: that of the last one.
    """
    is_pool = documents[-1]["kind"] == "ResourceSlice"
    name = name or documents[-1]["metadata"]["name"]
    return parts.Part(
        name=f"pool-{name}" if is_pool else name,
        kind="pool" if is_pool else "claim",
        documents=documents,
        when=when,
        needs=needs,
        is_own=is_own,
    )


def allocated(
    claim: str, consumers: Sequence[Object] = (), *, when: str = parts.START
) -> parts.Part:
    """Return a claim that has the first device of the first node."""
    status = world_fixtures.allocated("device-0", consumers)
    return there({**world_fixtures.claim(claim), "status": status}, when=when)


def fault(name: str) -> parts.Part:
    return parts.Part(name=name, kind="fault")


def pool(count: int = 1, name: str = world_fixtures.NODE) -> parts.Part:
    """Return the devices of a node."""
    return there(world_fixtures.pool(world_fixtures.devices(count), name=name))


def claims(count: int = 1, **exactly: Any) -> list[parts.Part]:
    """Return that many claims, each for one device; `exactly` adds to their requests."""
    return [there(world_fixtures.claim(f"claim-{n}", **exactly)) for n in range(1, count + 1)]


def pod(
    name: str,
    *claims: str,
    when: str = parts.BEGIN,
    is_at_once: bool = False,
    **spec: Any,
) -> parts.Part:
    """Return a pod that uses these claims; without any, it asks for the extended resource."""
    made = world_fixtures.pod(name, *claims, **spec)
    return parts.Part(name=name, kind="pod", documents=(made,), when=when, is_at_once=is_at_once)


def pod_of_template(
    name: str, *, entries: Sequence[str] = ("device",), when: str = parts.BEGIN
) -> parts.Part:
    made = world_fixtures.pod_of_template(name, entries=entries)
    return parts.Part(name=name, kind="pod", documents=(made,), when=when)


def pods(count: int, claim: str = "claim-{}") -> list[parts.Part]:
    """Return that many pods; `claim` is the name of their claim, or a format for that of each."""
    return [pod(f"pod-{n}", claim.format(n)) for n in range(1, count + 1)]


def does(
    action: str, target: str = "", *, when: str = parts.ANY_TIME, needs: tuple[str, ...] = ()
) -> parts.Part:
    """Return what another client does to an object, or to something else."""
    name = "-".join([action.replace("_", "-"), *target.split()])
    return parts.Part(name=name, kind="action", does=action, target=target, when=when, needs=needs)


def actor(name: str, how: str = "") -> parts.Part:
    return parts.Part(name=name, kind="actor", target=how)
