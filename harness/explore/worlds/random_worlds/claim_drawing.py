"""Draws what claims ask for, so that it fits the devices that there are, or nearly so."""

from collections.abc import Sequence

from harness.explore.worlds import world_fixtures
from harness.explore.worlds.random_worlds import device_drawing, drawings
from harness.model.objects import Object

Stream = drawings.DrawingStream
_CLASS = {"deviceClassName": world_fixtures.DEVICE_CLASS}
_ATTRIBUTES = "device.attributes['gpu.example']"
_LEAST = (
    f"'cores' in {_ATTRIBUTES} && {_ATTRIBUTES}.cores >= 2",
    f"'firmware' in {_ATTRIBUTES} && !{_ATTRIBUTES}.firmware.isLessThan(semver('1.10.0'))",
)
"""Selectors for a number of cores and for a version, or more."""


def asked(stream: Stream, supply: device_drawing.Supply) -> Object:
    if len(supply.drivers) > 1 and stream.chance(0.7, "claim: devices of two drivers"):
        requests = [
            _request(f"of-{number}", {**_of_driver(driver), "count": stream.number(1, 2)})
            for number, driver in enumerate(supply.drivers)
        ]
        return {"requests": requests}
    likely = 0.12 if supply.has_partitions else 0.07
    is_admin = not supply.has_shares and stream.chance(likely, "request: admin access")
    two = stream.chance(0.7 if is_admin else 0.15, "claim: two requests")
    names = ["first", "second"] if two else ["device"]
    if is_admin:
        return {"requests": [_request(name, {"adminAccess": True}) for name in names]}
    devices: Object = {"requests": [_drawn_request(stream, supply, name) for name in names]}
    likely = 0.9 if supply.has_lists else 0.2 if supply.has_partitions else 0.65
    if supply.kinds and not supply.has_shares and stream.chance(likely, "claim: constraint"):
        kinds = ("matchAttribute", "distinctAttribute")
        kind = "matchAttribute" if supply.has_lists else stream.one_of(kinds)
        stream.note(f"constraint: {kind}")
        devices["constraints"] = [{kind: device_drawing.KIND}]
    return devices


def _drawn_request(stream: Stream, supply: device_drawing.Supply, name: str) -> Object:
    if supply.has_shares:
        return _request(name, _of_shares(stream))
    if supply.has_partitions:
        return _of_partitions(stream, supply, name)
    if stream.chance(0.08, "request: firstAvailable"):
        return {"name": name, "firstAvailable": _alternatives(stream, supply)}
    exactly = _selected(stream, supply)
    if stream.chance(0.08, "request: All"):
        exactly["allocationMode"] = "All"
    elif (count := stream.weighted(_counts(supply))) > 1:
        stream.note("request: several devices")
        exactly["count"] = count
    if supply.has_taints and stream.chance(0.4, "request: toleration"):
        taint = device_drawing.TAINT
        exactly["tolerations"] = [{"key": taint["key"], "operator": "Exists"}]
    return _request(name, exactly)


def _counts(supply: device_drawing.Supply) -> Sequence[tuple[int, float]]:
    """Return how many devices a request may ask for, with weights."""
    if supply.has_lists:  # only a third device shows what the first two have in common
        return (1, 1.0), (2, 2.0), (3, 5.0)
    return ((1, 3.0), (2, 4.0), (3, 2.5)) if supply.is_tight else ((1, 9.0), (2, 1.0))


def _of_shares(stream: Stream) -> Object:
    if stream.chance(0.3, "request: whole device beside shares"):
        return _of_kind("whole")
    memory = stream.one_of(("3", "4", "6"))
    return {**_of_kind("shared"), "capacity": {"requests": {"memory": memory}}}


def _of_partitions(stream: Stream, supply: device_drawing.Supply, name: str) -> Object:
    """Return a request for partitions or cards, or for the better of two choices."""
    if stream.chance(0.2, "request: firstAvailable"):
        alternatives = [
            {"name": text, **_CLASS, **_partition(stream, supply)} for text in ("best", "next")
        ]
        return {"name": name, "firstAvailable": alternatives}
    return _request(name, _partition(stream, supply))


def _partition(stream: Stream, supply: device_drawing.Supply) -> Object:
    asked = _selector(stream.one_of(_LEAST)) if stream.chance(0.3, "request: least value") else {}
    if not asked and stream.chance(0.7, "request: selector"):
        asked = _of_kind(stream.one_of(supply.kinds))
    if stream.chance(0.12, "request: All"):
        asked["allocationMode"] = "All"
    elif stream.chance(0.2, "request: several devices"):
        asked["count"] = 2
    if stream.chance(0.25, "request: amount of a share"):
        amount = stream.one_of(("1", "600m", "1100m", "2"))
        asked["capacity"] = {"requests": {"slots": amount}}
    if supply.has_taints and stream.chance(0.5, "request: toleration"):
        asked["tolerations"] = [{"key": device_drawing.TAINT["key"], "operator": "Exists"}]
    return asked


def _alternatives(stream: Stream, supply: device_drawing.Supply) -> list[Object]:
    """Return two alternatives; the first one may ask for devices that do not exist."""
    missing = _of_driver("none.example") if stream.chance(0.6) else _selected(stream, supply)
    first: Object = {"name": "best", **_CLASS, **missing}
    if stream.chance(0.6, "request: All as an alternative"):
        first["allocationMode"] = "All"
    return [first, {"name": "next", **_CLASS}]


def _selected(stream: Stream, supply: device_drawing.Supply) -> Object:
    if not supply.kinds or supply.has_lists or not stream.chance(0.25, "request: selector"):
        return {}
    return _of_kind(stream.one_of(supply.kinds))


def _request(name: str, exactly: Object) -> Object:
    return {"name": name, "exactly": {**_CLASS, **exactly}}


def _of_driver(driver: str) -> Object:
    return _selector(f"device.driver == {driver!r}")


def _of_kind(kind: str) -> Object:
    driver, name = device_drawing.KIND.split("/")
    return _selector(f"device.attributes[{driver!r}].{name} == {kind!r}")


def _selector(expression: str) -> Object:
    return {"selectors": [{"cel": {"expression": expression}}]}
