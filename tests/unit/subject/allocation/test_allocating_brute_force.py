"""The allocator against a search that has no tricks: every choice in order, the first one that is
right.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import hypothesis
from hypothesis import strategies as st

from harness.subject.allocation import allocated_states, allocators, inventories
from tests.support import api_objects

Object = dict[str, Any]
KINDS = ("x", "y")
SELECTOR = f'device.attributes["{api_objects.DRIVER}"].kind == "%s"'
Row = tuple[int, str, str, bool]
"""Claim, request, device, admin access."""

devices = st.lists(
    st.tuples(st.sampled_from(KINDS), st.sampled_from([None, 0, 1]), st.booleans()), max_size=5
)
"""Of each device: its kind, its numa node, whether it is in use."""


@st.composite
def options(draw: st.DrawFn) -> Object:
    made: Object = {"deviceClassName": api_objects.CLASS}
    if draw(st.booleans()):
        made["selectors"] = [{"cel": {"expression": SELECTOR % draw(st.sampled_from(KINDS))}}]
    if draw(st.integers(0, 4)) == 0:
        made["allocationMode"] = "All"
    else:
        made["count"] = draw(st.integers(1, 3))
    return made


@st.composite
def requests(draw: st.DrawFn, name: str) -> Object:
    if draw(st.booleans()):
        admin = {"adminAccess": True} if draw(st.integers(0, 4)) == 0 else {}
        return {"name": name, "exactly": draw(options()) | admin}
    alternatives = draw(st.lists(options(), min_size=1, max_size=2))
    named = [{"name": f"s{index}", **item} for index, item in enumerate(alternatives)]
    return {"name": name, "firstAvailable": named}


@st.composite
def claims(draw: st.DrawFn, counts: int) -> Object:
    made = [draw(requests(f"r{index}")) for index in range(counts)]
    constraints = []
    if draw(st.booleans()):
        constraint: Object = {"matchAttribute": f"{api_objects.DRIVER}/numa"}
        if draw(st.booleans()):
            constraint["requests"] = [draw(st.sampled_from([item["name"] for item in made]))]
        constraints.append(constraint)
    return api_objects.claim("c", requests=made, constraints=constraints)


@hypothesis.settings(deadline=None, max_examples=300, derandomize=True)
@hypothesis.given(
    known=devices,
    wanted=st.sampled_from([(1,), (2,), (3,), (1, 1), (2, 1), (1, 2), (1, 1, 1)]).flatmap(
        lambda counts: st.tuples(*(claims(count) for count in counts))
    ),
)
def test_the_first_right_choice_is_found(
    known: list[tuple[str, int | None, bool]], wanted: tuple[Object, ...]
) -> None:
    documents = [_device(index, *item[:2]) for index, item in enumerate(known)]
    in_use = {f"d{index}" for index, item in enumerate(known) if item[2]}
    allocator = allocators.Allocator(
        inventories.snapshot_of([api_objects.slice_of(*documents)]),
        allocated_states.AllocatedState({api_objects.device_id(name) for name in in_use}),
        {api_objects.CLASS: api_objects.device_class()},
        wanted,
    )
    try:
        found = allocator.allocate(api_objects.node())
    except allocators.AllocationError:  # a constraint excludes one of all devices
        return
    expected = next(_right_choices(documents, in_use, wanted), None)
    hypothesis.event(f"found={expected is not None}")
    assert (None if found is None else _rows(found)) == expected


def _device(index: int, kind: str, numa: int | None) -> Object:
    more: dict[str, Any] = {} if numa is None else {"numa": numa}
    return api_objects.device(f"d{index}", kind=kind, **more)


def _rows(allocations: Sequence[Object]) -> list[Row]:
    return [
        (index, row["request"], row["device"], bool(row.get("adminAccess")))
        for index, allocation in enumerate(allocations)
        for row in allocation["devices"]["results"]
    ]


def _right_choices(
    documents: Sequence[Object], in_use: set[str], wanted: Sequence[Object]
) -> Iterator[list[Row]]:
    ways = [
        list(_ways(index, request, documents))
        for index, claim in enumerate(wanted)
        for request in claim["spec"]["devices"]["requests"]
    ]
    for combination in itertools.product(*ways):
        rows = [row for way in combination for row in way]
        if _is_right(rows, documents, in_use, wanted):
            yield rows


def _ways(claim: int, request: Object, documents: Sequence[Object]) -> Iterator[list[Row]]:
    """Every way to satisfy a request alone, in order of preference."""
    name = request["name"]
    named = [(f"{name}/{sub['name']}", sub) for sub in request.get("firstAvailable", ())]
    for label, option in named or [(name, request["exactly"])]:
        fitting = [item["name"] for item in documents if _fits(item, option)]
        if option.get("allocationMode") == "All" and not fitting:
            continue
        for chosen in itertools.combinations(fitting, option.get("count") or len(fitting)):
            yield [(claim, label, device, "adminAccess" in option) for device in chosen]


def _fits(device: Object, option: Object) -> bool:
    kind = device["attributes"]["kind"]["string"]
    return all(item["cel"]["expression"] == SELECTOR % kind for item in option.get("selectors", ()))


def _is_right(
    rows: Sequence[Row], documents: Sequence[Object], in_use: set[str], wanted: Sequence[Object]
) -> bool:
    for position, (claim, _, device, is_admin) in enumerate(rows):
        earlier = [row[0] for row in rows[:position] if row[2] == device]
        if claim in earlier if is_admin else earlier or device in in_use:
            return False
    for index, claim in enumerate(wanted):
        mine = [row for row in rows if row[0] == index]
        if not _agree(mine, documents, claim):
            return False
    return True


def _agree(rows: Sequence[Row], documents: Sequence[Object], claim: Object) -> bool:
    numa = {item["name"]: item["attributes"].get("numa") for item in documents}
    for constraint in claim["spec"]["devices"].get("constraints", ()):
        covered = constraint.get("requests")
        values = [
            numa[device]
            for _, label, device, _ in rows
            if covered is None or label.partition("/")[0] in covered
        ]
        if None in values or any(value != values[0] for value in values):
            return False
    return True
