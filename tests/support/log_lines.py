"""Lines of a scheduler's log, in each of the forms that kube-scheduler and its tests write."""

import dataclasses
import json
import pathlib
from collections.abc import Callable, Iterable
from typing import Any

FOLDER = pathlib.Path(__file__).parent / "scheduler_logs"
RECORDED = FOLDER / "kube-scheduler-1.34.2-v6.log.xz"
"""Lines of interest of a run of kube-scheduler 1.34.2, with four double allocations."""
KTESTING = FOLDER / "ktesting-gather-race.log"
"""The log of the non-atomic gather in the commit that fixed it; it ends within a value."""
DEVICE = "gpu.example/worker-0/device-0"
Object = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Line:
    """A line before it has a form."""

    us: int
    """Microseconds after midnight."""
    message: str
    values: Object
    thread: int = 7


def klog(line: Line) -> str:
    pairs = "".join(f" {key}={_text(value)}" for key, value in line.values.items())
    return f'I0115 {_time(line)} {line.thread:7d} file.go:1] "{line.message}"{pairs}\n'


def ktesting(line: Line) -> str:
    pairs = "".join(f" {key}={_text(value)}" for key, value in line.values.items())
    return f"file.go:1: I0115 {_time(line)} {line.thread}] scheduler: {line.message}{pairs}\n"


def cri(line: Line) -> str:
    head = "2026-01-15T15:11:04.407714000Z stderr F "
    return "".join(f"{head}{part}\n" for part in klog(line).splitlines())


def in_json(line: Line) -> str:
    ts = 1768435200000 + line.us / 1e3
    values = {key: _map(key, value) for key, value in line.values.items()}
    return (
        json.dumps({"ts": ts, "caller": "file.go:1", "msg": line.message, "v": 6} | values) + "\n"
    )


FORMS: dict[str, Callable[[Line], str]] = {
    "klog": klog,
    "ktesting": ktesting,
    "cri": cri,
    "json": in_json,
}


def text(lines: Iterable[Line], form: str = "klog") -> str:
    return "".join(map(FORMS[form], lines))


class Story:
    """A log under construction; each line is 10 µs after the one before."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    def add(self, message: str, *, thread: int = 7, **values: Any) -> "Story":
        us = 54664407714 + 10 * len(self.lines)
        named = {key.replace("_", " "): value for key, value in values.items()}
        self.lines.append(Line(us, message, named, thread))
        return self

    def attempt(self, name: str, **more: Any) -> "Story":
        claims = [f"default/{name}"]
        return self.add(
            "pod resource claims", pod=f"default/pod-{name}", resourceclaims=claims, **more
        )

    def gather(self, *in_flight: tuple[str, str], devices: Iterable[str] = ()) -> "Story":
        self.add("Starting GatherAllocatedState")
        return self.list(*in_flight).finish(devices)

    def list(self, *in_flight: tuple[str, str]) -> "Story":
        for device, name in in_flight:
            self.add("Device is in flight for allocation", device=device, claim=f"default/{name}")
        return self

    def finish(self, devices: Iterable[str], err: str | None = None) -> "Story":
        names = list(devices)
        found = {"count": len(names), "devices": names}
        return self.add("Finished GatherAllocatedState", allocatedDevices=found, err=err)

    def reserve(self, name: str, device: str = DEVICE, **more: Any) -> "Story":
        driver, pool, last = device.split("/")
        results = [{"request": "r", "driver": driver, "pool": pool, "device": last}]
        return self.add(
            "Reserved resource in allocation result",
            pod=f"default/pod-{name}",
            node="worker-0",
            claim=f"default/{name}",
            uid=f"uid-{name}",
            allocation=Document({"devices": {"results": results}}),
            **more,
        )

    def assume(self, name: str, **more: Any) -> "Story":
        values = {"description": "ResourceClaim", "cacheKey": f"default/{name}", "version": 5}
        return self.add("Assumed object", **values, **more)

    def remove(self, name: str) -> "Story":
        return self.add(
            "Removed in-flight claim", claim=f"default/{name}", uid=f"uid-{name}", version="5"
        )

    def lose_answer(self, name: str, reason: str = "unexpected EOF") -> "Story":
        """The write of a claim's status fails; kube-scheduler reports that three times."""
        url = f"https://10.0.0.1:6443/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/{name}"
        error = f'Put "{url}/status": {reason}'
        self.add("dynamic resource plugin failed", err=error, pod=f"default/pod-{name}")
        failed = {"err": error, "plugin": "DynamicResources", "pod": f"default/pod-{name}"}
        self.add("Plugin failed", **failed)
        error = f'running PreBind plugin "DynamicResources": {error}'
        return self.add("Error scheduling pod; retrying", err=error, pod=f"default/pod-{name}")

    def observe(self, name: str, device: str = DEVICE, **more: Any) -> "Story":
        return self.add(
            "Observed device allocation", device=device, claim=f"default/{name}", **more
        )

    def free(self, name: str, device: str = DEVICE) -> "Story":
        return self.add("Observed device deallocation", device=device, claim=f"default/{name}")

    def bind(self, name: str) -> "Story":
        return self.add(
            "Attempting to bind pod to node", pod=f"default/pod-{name}", node="worker-0"
        )

    def bound(self, name: str, **more: Any) -> "Story":
        values = {"pod": f"default/pod-{name}", "node": "worker-0"}
        return self.add("Successfully bound pod to node", **values, **more)

    def text(self, form: str = "klog") -> str:
        return text(self.lines, form)


class Document:
    """A value that klog writes on lines of its own."""

    def __init__(self, content: object) -> None:
        self.content = content


def _text(value: object) -> str:
    match value:
        case Document(content=content):
            shown = json.dumps(content, indent=2)
            return "<\n" + "".join(f"\t{part}\n" for part in shown.splitlines()) + " >"
        case str():
            return json.dumps(value)
        case _:
            return json.dumps(value, separators=(",", ":"))


def _map(key: str, value: object) -> object:
    match value:
        case Document(content=content):
            return content
        case str() if key in ("pod", "claim") and "/" in value:
            namespace, _, name = value.partition("/")
            return {"name": name, "namespace": namespace}
        case _:
            return value


def _time(line: Line) -> str:
    seconds, us = divmod(line.us, 1_000_000)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{us:06d}"
