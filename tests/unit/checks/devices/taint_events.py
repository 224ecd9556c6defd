"""Slices, rules and claims with taints, and what the check of tainted devices says of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from harness.checks import verdicts
from harness.checks.devices import device_timelines, tainted_devices
from harness.history import records
from tests.histories import building, claim_judging, language

Object = dict[str, Any]
DRIVER, POOL = "gpu.example", "p"
TOLD = building.plan(
    settings={
        "pools": {"changes": [{"kind": "taint"}]},
        "subject": {"schedulers": [{"scheduler_name": ""}]},
    }
)
"""A plan of which the steps of the only scheduler show what it has seen."""
VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID


def device(name: str, *effects: str) -> Object:
    taints = [{"key": "k", "effect": effect} for effect in effects]
    return {"name": name} | ({"taints": taints} if taints else {})


def observed(
    resource: str, version: int, obj: Object, kind: Any = "MODIFIED"
) -> records.Observation:
    return language.observation(resource, version, obj, kind, ts_ns=version)


def piece(version: int, *devices: Object, uid: str = "s", gone: bool = False) -> records.Body:
    spec = {"driver": DRIVER, "pool": {"name": POOL}, "devices": devices}
    meta = {"name": uid, "uid": uid}
    kind = "DELETED" if gone else "MODIFIED"
    return observed("resourceslices", version, {"metadata": meta, "spec": spec}, kind)


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
    kind = "DELETED" if gone else "MODIFIED"
    meta = {"name": name, "uid": name}
    return observed("devicetaintrules", version, {"metadata": meta, "spec": spec}, kind)


def claim(
    version: int,
    *,
    allocated: str | None = None,
    tolerations: Sequence[Object] = (),
    others: Sequence[Object] = (),
) -> Any:
    exactly: Object = {"tolerations": list(tolerations)} if tolerations else {}
    obj: Object = {
        "metadata": {"name": "c", "namespace": "n", "uid": "c"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}, *others]}},
    }
    if allocated:
        row = {"request": "r", "driver": DRIVER, "pool": POOL, "device": allocated}
        obj["status"] = {"allocation": {"devices": {"results": [row]}}}
    return observed("resourceclaims", version, obj, "MODIFIED" if allocated else "ADDED")


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
