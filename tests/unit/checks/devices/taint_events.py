"""Slices, rules and claims with taints, and what the check of tainted devices says of them."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from harness.checks import verdicts
from harness.checks.devices import device_timelines, tainted_devices
from harness.history import records
from tests.histories import building, claim_judging, placements

Object = dict[str, Any]
DRIVER, POOL = placements.DRIVER, "p"
TOLD = building.plan(
    settings={
        "pools": {"changes": [{"kind": "taint"}]},
        "subject": {"schedulers": [{"scheduler_name": ""}]},
    }
)
"""A plan of which the steps of the only scheduler show what it has seen."""
VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID


def device(name: str, *effects: str) -> Object:
    return placements.device(name, taints=[{"key": "k", "effect": effect} for effect in effects])


def observed(version: int, event: placements.Event, *, gone: bool = False) -> records.Observation:
    """The record of an event, a nanosecond for each version."""
    return placements.recorded(placements.gone(event) if gone else event, version, 1)


def piece(
    version: int, *devices: Object, uid: str = "s", gone: bool = False, generation: int = 1
) -> records.Body:
    event = placements.piece(*devices, pool=POOL, name=uid, generation=generation)
    return observed(version, event, gone=gone)


def rule(
    version: int,
    selector: Object | None,
    effect: str = "NoSchedule",
    *,
    gone: bool = False,
    name: str = "r",
) -> records.Body:
    spec: Object = {"taint": {"key": "k", "effect": effect}}
    if selector is not None:
        spec["deviceSelector"] = selector
    obj = {"kind": "DeviceTaintRule", "metadata": {"name": name, "uid": name}, "spec": spec}
    return observed(version, placements.Event(obj), gone=gone)


def claim(
    version: int,
    *,
    allocated: str | None = None,
    tolerations: Sequence[Object] = (),
    others: Sequence[Object] = (),
) -> Any:
    asked = placements.exactly("r", **({"tolerations": tolerations} if tolerations else {}))
    results = [placements.result(allocated, pool=POOL)] if allocated else []
    made = placements.claim("c", *results, requests=[asked, *others])
    return observed(version, made if allocated else dataclasses.replace(made, type="ADDED"))


def judge(body: Iterable[records.Body], view: device_timelines.View | None) -> Any:
    """The result where the scheduler's steps show this view; None: they show none."""
    views = device_timelines.AttemptViews({"c": view} if view else {})
    given = {device_timelines.AttemptViews: views}
    check = tainted_devices.TAINTED_DEVICES
    return check.judge(claim_judging.evidence(body, [check], of=TOLD, given=given))


def judge_record(body: Iterable[records.Observation]) -> verdicts.Answer:
    """The result without steps; each record was made at the second that its version says."""
    timed = (
        msgspec.structs.replace(item, ts_ns=item.resource_version * 1_000_000_000) for item in body
    )
    check, given = (
        tainted_devices.TAINTED_DEVICES,
        {device_timelines.AttemptViews: device_timelines.AttemptViews()},
    )
    answer = check.judge(claim_judging.evidence(timed, [check], given=given))
    assert isinstance(answer, verdicts.Answer)
    return answer


def view(slices: int, rules: int = 0) -> device_timelines.View:
    return device_timelines.View(slices, rules)


def history(text: str, words: Mapping[str, Callable[[int], Any]]) -> list[Any]:
    """The records for the words of a test and their versions, as in `clean@1 tainted@3`."""
    return [words[name](int(version)) for name, version in (w.split("@") for w in text.split())]
