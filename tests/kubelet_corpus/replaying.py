"""Replays what a real kubelet did with recorded drivers: our DRA manager gets the same answers.

A conversation is a list of steps. `pod`, `claim` and `driver` say what is there from then on; `do`
is what the kubelet did for a pod: which claims it read, which calls it made, with the bytes of both
sides and the checkpoint file at that moment, and how it ended; `container` has the CDI ids that the
container runtime got.
"""

import json
import lzma
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from google.protobuf import message

from harness.cluster.dra import (
    claim_infos,
    claim_managers,
    driver_calls,
    node_claims,
    pod_claims,
)
from harness.cluster.kubelet_api import messages, preparations, services

Step = dict[str, Any]
CORPUS = pathlib.Path(__file__).with_name("conversations.jsonl.xz")
NODE, NAMESPACE = "worker-0", "default"
NODE_PREPARE = "NodePrepareResources"


def conversations() -> dict[str, list[Step]]:
    found: dict[str, list[Step]] = {}
    with lzma.open(CORPUS, "rt", encoding="utf-8") as lines:
        for step in map(json.loads, lines):
            if "conversation" in step:
                steps = found[step["conversation"]] = []
            else:
                steps.append(step)
    return found


def replay(
    steps: Sequence[Step],
    folder: pathlib.Path,
    manager: type[claim_managers.ClaimManager],
    *,
    once: bool = False,
) -> list[str]:
    """Return how a manager differs from the real kubelet in a conversation; none: not at all.

    `once`: each CDI id that a container got several times counts once.
    """
    played = Replay(folder, manager)
    return [
        f"step {number}: {difference}"
        for number, step in enumerate(steps)
        for difference in played.differences(step, once=once)
    ]


class Replay:
    """One conversation; the methods return what our manager does, in the recording's words."""

    def __init__(self, folder: pathlib.Path, manager: type[claim_managers.ClaimManager]) -> None:
        self._kind, self._claims, self._pods = manager, dict[str, Step](), dict[str, Step]()
        self._drivers, self._checkpoint = _Drivers(self), claim_infos.Checkpoint(folder / "claims")
        self._reads: list[str] = []
        self.restart()

    def differences(self, step: Step, *, once: bool) -> Iterator[str]:
        if self.is_told(step):
            return
        if step.get("do") == "restart":
            self.restart()
        elif "do" in step:
            yield from differences(step, self.attempt(step))
        else:
            yield from self._cdi_differences(step, once=once)

    def _cdi_differences(self, step: Step, *, once: bool) -> Iterator[str]:
        meant = list(dict.fromkeys(step["cdi"])) if once else step["cdi"]
        try:
            found = self.cdi(step["pod"])[step["container"]]
        except preparations.PreparationError as error:
            if len(meant) == len(set(meant)):
                yield str(error)
            return
        if sorted(found) != sorted(meant):
            yield f"{step['container']} gets {found}, not {meant}"

    def restart(self) -> None:
        """Start another kubelet, which has the checkpoint only."""
        self._manager = self._kind(
            NODE,
            get_claim=self._get,
            drivers=self._drivers,
            checkpoint=self._checkpoint,
            write=lambda _: None,
        )

    def is_told(self, step: Step) -> bool:
        """Note a step that says what is there; return False for any other."""
        if "claim" in step:
            self._claims.pop(step["claim"], None)
            if "deleted" not in step:
                self._claims[step["claim"]] = _claim(step)
        elif "do" not in step and "uid" in step:
            self._pods[step["pod"]] = _pod(step)
        elif "statuses" in step:
            _note_status(self._pods[step["pod"]], step)
        elif "registered" in step:
            registered = self._drivers.registered
            (registered.add if step["registered"] else registered.discard)(step["driver"])
        else:
            return False
        return True

    def attempt(self, step: Step) -> Step:
        """Do what the kubelet did for a pod; the drivers answer as they did."""
        pod, self._reads = self._pods[step["pod"]], []
        self._drivers.expected, self._drivers.calls = list(step["calls"]), []
        error = ""
        try:
            if step["do"] == "prepare":
                self._manager.prepare(pod, pod_claims.of(pod))
            else:
                self._manager.unprepare(pod["metadata"]["uid"])
        except preparations.PreparationError as found:
            error = str(found)
        return {"reads": self._reads, "calls": self._drivers.calls, "error": error}

    def cdi(self, pod: str) -> dict[str, list[str]]:
        """Return container -> its CDI ids.

        Raises PreparationError if a device is noted twice.
        """
        meant, asked = self._pods[pod], list[list[str]]()

        def find(ids: list[str]) -> dict[str, str]:
            asked.append(ids)
            return {}

        users = node_claims.environments(meant, self._manager.infos(meant["metadata"]["uid"]), find)
        names = [container["name"] for container in meant["spec"]["containers"]]
        return {**{name: [] for name in names}, **dict(zip(users, asked, strict=True))}

    def checkpoint(self) -> Step:
        return {
            info.name: {
                "pods": sorted(info.pods),
                "devices": {
                    driver: [
                        name
                        for device in info.prepared.get(driver, ())
                        for name in device.cdi_device_ids
                    ]
                    for driver in sorted(info.drivers)
                },
            }
            for info in self._checkpoint.load()
        }

    def _get(self, namespace: str, name: str) -> Step | None:
        assert namespace == NAMESPACE
        self._reads.append(name)
        return self._claims.get(name)


class _Drivers:
    """Drivers that answer as recorded."""

    keeps_endings = True

    def __init__(self, replay: Replay) -> None:
        self._replay, self.registered = replay, set[str]()
        self.expected: list[Step] = []
        self.calls: list[Step] = []

    def plugin(self, driver: str, node: str) -> "_Plugin":
        assert node == NODE
        if driver not in self.registered:
            raise driver_calls.not_registered(driver)
        return _Plugin(self, driver)

    def is_prepared(self, info: claim_infos.ClaimInfo, node: str) -> bool:
        return node == NODE and bool(info.prepared)

    def stop(self) -> None:
        pass

    def answer(self, driver: str, method: str, asked: list[preparations.ClaimReference]) -> Any:
        """Return the recorded answer to a call; one that the real kubelet did not make fails."""
        same = (
            call for call in self.expected if (call["driver"], call["method"]) == (driver, method)
        )
        if recorded := next(same, None):
            self.expected.remove(recorded)
        service = services.DRA[recorded["service"] if recorded else "v1.DRAPlugin"]
        kind = service.prepare if method == NODE_PREPARE else service.unprepare
        request = messages.request(kind, asked).SerializeToString()
        made = {"driver": driver, "method": method, "request": request.hex()}
        self.calls.append({**made, "checkpoint": self._replay.checkpoint()})
        if recorded is None:
            raise driver_calls.CallFailedError("Unknown", "there was no such call")
        return _decoded(recorded, kind)


class _Plugin:
    def __init__(self, drivers: _Drivers, driver: str) -> None:
        self._drivers, self._driver = drivers, driver

    def prepare(self, claims: Sequence[Step]) -> driver_calls.PrepareAnswers:
        asked = [claim_infos.of(claim).reference for claim in claims]
        return messages.prepared(self._drivers.answer(self._driver, NODE_PREPARE, asked))

    def unprepare(self, claims: Sequence[claim_infos.ClaimInfo]) -> driver_calls.UnprepareAnswers:
        asked = [info.reference for info in claims]
        answer = self._drivers.answer(self._driver, "NodeUnprepareResources", asked)
        return messages.unprepared(answer)


def _decoded(call: Step, kind: services.Method) -> Any:
    if "error" not in call:
        return kind.answer.FromString(bytes.fromhex(call["answer"]))
    if call.get("answer"):  # the real one could not decode it either
        with pytest.raises(message.DecodeError):
            kind.answer.FromString(bytes.fromhex(call["answer"]))
    code, words = call["error"]["code"], call["error"]["message"]
    raise driver_calls.CallFailedError(code, f"rpc error: code = {code} desc = {words}")


def differences(recorded: Step, found: Step) -> Iterator[str]:
    """Yield how an attempt of ours differs from the recorded one.

    The real kubelet calls the drivers of a pod in no order, and so does the comparison.
    """
    if recorded.get("reads", found["reads"]) != found["reads"]:
        yield f"reads {found['reads']}, not {recorded['reads']}"
    for name, calls in _by_driver(recorded).items():
        ours = _by_driver(found).get(name, [])
        if [call["request"] for call in calls] != [call["request"] for call in ours]:
            yield f"{name}: calls {ours}, not {calls}"
        elif not all(map(_has, ours, calls)):
            yield f"{name}: checkpoints differ: {ours}, not {calls}"
    if len(found["calls"]) != len(recorded["calls"]):
        yield f"makes {len(found['calls'])} calls, not {len(recorded['calls'])}"
    words = recorded.get("error", "").partition("dynamic resources: ")[2]
    if words != found["error"]:
        yield f"ends with {found['error'] or 'success'!r}, not {words or 'success'!r}"


def _has(ours: Step, recorded: Step) -> bool:
    """Return whether our checkpoint has, before a call, what the recorded one has.

    After an attempt that failed, the real one has the devices of some of the other claims, as it
    reads an answer in no order. A pod that leaves a claim to others stays noted in it for longer.
    """
    found, meant = ours["checkpoint"], recorded["checkpoint"]
    if found.keys() != meant.keys():
        return False
    if not all(set(claim["pods"]) <= set(meant[name]["pods"]) for name, claim in found.items()):
        return False
    return all(
        set(ids) <= set(found[name]["devices"][driver])
        for name, claim in meant.items()
        for driver, ids in claim["devices"].items()
    )


def _by_driver(attempt: Step) -> dict[str, list[Step]]:
    found: dict[str, list[Step]] = {}
    for call in attempt["calls"]:
        found.setdefault(f"{call['driver']} {call['method']}", []).append(call)
    return found


def _pod(step: Step) -> Step:
    claims = [
        {"name": f"r{number}", **({"resourceClaimName": name} if name else {})}  # or a template's
        for number, name in enumerate(step["claims"])
    ]
    containers = [
        {"name": name, "resources": {"claims": used}} for name, used in step["containers"].items()
    ]
    return {
        "metadata": {"namespace": NAMESPACE, "name": step["pod"], "uid": step["uid"]},
        "spec": {"nodeName": NODE, "resourceClaims": claims, "containers": containers},
    }


def _note_status(pod: Step, step: Step) -> None:
    """Let a pod's status name its claims, also the one for extended resources."""
    pod["status"] = {"resourceClaimStatuses": step["statuses"]}
    if step["extended"]:
        pod["status"]["extendedResourceClaimStatus"] = step["extended"]
        wanted = {one["resourceName"]: "1" for one in step["extended"]["requestMappings"]}
        for container in pod["spec"]["containers"]:
            container["resources"]["requests"] = wanted


def _claim(step: Step) -> Step:
    status: Step = {"reservedFor": [{"uid": uid} for uid in step["reserved"]]}
    if step["results"] is not None:
        status["allocation"] = {"devices": {"results": step["results"]}}
    owners = [{"uid": uid, "controller": True} for uid in step["owners"]]
    meta = {"namespace": NAMESPACE, "name": step["claim"], "uid": step["uid"]}
    return {"metadata": {**meta, "ownerReferences": owners}, "status": status}
