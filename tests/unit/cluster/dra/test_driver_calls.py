"""Journal of the calls of drivers; `tests/kubelet_corpus` has which calls are made."""

import dataclasses
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.client import journaling
from harness.cluster.dra import claim_infos, claim_managers, driver_calls, pod_claims
from harness.cluster.kubelet_api import preparations
from harness.history import journal_reader, records

NODE = "worker-0"
Answer = Callable[[dict[str, Any]], dict[str, Any]]


def failed(*uids: str) -> Answer:
    error = preparations.PreparationError("DriverError", "no such device")
    return lambda answer: {uid: error if uid in uids else good for uid, good in answer.items()}


@dataclasses.dataclass
class Drivers:
    """Drivers whose answers are changed before the kubelet sees them."""

    keeps_endings: bool = False
    names: set[str] = dataclasses.field(default_factory=lambda: {"a.example", "b.example"})
    answers: dict[str, Answer] = dataclasses.field(default_factory=dict)
    calls: list[tuple[str, str, list[str]]] = dataclasses.field(default_factory=list)

    def plugin(self, driver: str, node: str) -> Any:
        if driver not in self.names:
            raise driver_calls.not_registered(driver)
        return Plugin(self, driver)

    def is_prepared(self, info: claim_infos.ClaimInfo, node: str) -> bool:
        return not info.is_ending

    def stop(self) -> None:
        pass


@dataclasses.dataclass
class Plugin:
    drivers: Drivers
    name: str

    def answered(self, call: str, claims: Sequence[tuple[str, str]], good: Any) -> dict[str, Any]:
        self.drivers.calls.append((call, self.name, [name for _, name in claims]))
        change = self.drivers.answers.get(self.name, dict)
        return change({uid: good for uid, _ in claims})

    def prepare(self, claims: Sequence[Any]) -> Any:
        device = preparations.PreparedDevice(pool="n", device="d", cdi_device_ids=("v/c=d",))
        names = [(claim["metadata"]["uid"], claim["metadata"]["name"]) for claim in claims]
        return self.answered("prepare", names, (device,))

    def unprepare(self, claims: Sequence[claim_infos.ClaimInfo]) -> Any:
        return self.answered("unprepare", [(one.uid, one.name) for one in claims], None)


class Node:
    """One node with a kubelet that can be started again."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.drivers, self.claims = folder, Drivers(), {}
        self.starts = 0
        self.start()

    def start(self) -> None:
        self.starts += 1
        self.journal = self.folder / f"{self.starts}.jsonl"
        self.manager = claim_managers.ClaimManager(
            NODE,
            get_claim=lambda namespace, name: self.claims.get(name),
            drivers=self.drivers,
            checkpoint=claim_infos.Checkpoint(self.folder / "checkpoint.json"),
            write=journaling.opened(self.journal, process="kubelet", run_id="").write,
        )

    def claim(self, name: str, *drivers: str) -> str:
        results = [
            {"request": "r", "driver": f"{driver}.example", "pool": "n", "device": name}
            for driver in drivers
        ]
        self.claims[name] = {
            "metadata": {"namespace": "ns", "name": name, "uid": f"uid-of-{name}"},
            "status": {
                "allocation": {"devices": {"results": results}},
                "reservedFor": [{"uid": "uid-of-p"}, {"uid": "uid-of-q"}],
            },
        }
        return name

    def prepare(self, *claims: str, pod: str = "p") -> None:
        meta = {"namespace": "ns", "name": pod, "uid": f"uid-of-{pod}"}
        wanted = [pod_claims.PodClaim(claim, generated=False) for claim in claims]
        self.manager.prepare({"metadata": meta, "spec": {}}, wanted)

    def told(self) -> list[tuple[str, str]]:
        kinds = {
            records.Prepared: "prepared",
            records.Unprepared: "unprepared",
            records.PrepareFailed: "failed",
        }
        return [
            (kinds[type(record)], record.claim)
            for record in journal_reader.read(self.journal).records
        ]


@pytest.fixture
def node(tmp_path: pathlib.Path) -> Node:
    return Node(tmp_path)


def test_a_claim_whose_driver_is_gone_stays_until_it_is_back(node: Node) -> None:
    node.prepare(node.claim("x", "a"))
    node.drivers.names.clear()
    node.start()
    with pytest.raises(preparations.PreparationError, match=r"DRA driver a.example is not reg"):
        node.manager.unprepare("uid-of-p")
    assert node.told() == [("failed", "x")]
    assert node.manager.pods() == {("ns/p", "uid-of-p")}
    node.drivers.names.add("a.example")
    node.manager.unprepare("uid-of-p")
    assert node.told() == [("failed", "x"), ("unprepared", "x")]


def test_a_claim_that_was_not_unprepared_by_all_is_prepared_again_for_another_pod(
    node: Node,
) -> None:
    claims = [node.claim("x", "a"), node.claim("y", "a")]
    node.prepare(*claims)
    node.drivers.answers["a.example"] = failed("uid-of-y")
    with pytest.raises(preparations.PreparationError, match="NodeUnprepareResources failed for"):
        node.manager.unprepare("uid-of-p")
    assert node.told()[2:] == [("unprepared", "x"), ("failed", "y")]
    node.drivers.answers.clear()
    node.prepare("x", pod="q")
    assert node.drivers.calls[-1] == ("prepare", "a.example", ["x"])


def test_a_driver_that_does_not_answer_may_have_unprepared(node: Node) -> None:
    """It was killed at the end of the call, and can give the device to another claim."""

    def die(answer: dict[str, Any]) -> dict[str, Any]:
        raise driver_calls.CallFailedError("Unavailable", "rpc error: socket closed")

    node.drivers.answers["a.example"] = die
    with pytest.raises(preparations.PreparationError, match=r"^NodePrepareResources: rpc error"):
        node.prepare(node.claim("x", "a"))
    node.drivers.answers.clear()
    node.prepare("x")
    node.drivers.answers["a.example"] = die
    with pytest.raises(preparations.PreparationError, match=r"^NodeUnprepareResources: rpc error"):
        node.manager.unprepare("uid-of-p")
    assert node.told() == [
        ("failed", "x"),
        ("prepared", "x"),
        ("failed", "x"),
        ("unprepared", "x"),
    ]
    assert node.manager.pods() == {("ns/p", "uid-of-p")}  # it is asked again


def test_a_claim_of_two_drivers_is_prepared_by_both_and_freed_by_the_first(node: Node) -> None:
    claim = node.claim("x", "a", "b")
    node.drivers.answers["b.example"] = failed("uid-of-x")
    with pytest.raises(preparations.PreparationError):
        node.prepare(claim)
    assert node.told() == [("failed", "x")]
    node.drivers.answers.clear()
    node.prepare(claim)
    assert [call[1] for call in node.drivers.calls] == ["a.example", "b.example"] * 2
    node.drivers.answers["b.example"] = failed("uid-of-x")
    with pytest.raises(preparations.PreparationError):
        node.manager.unprepare("uid-of-p")
    told = ["failed", "prepared", "unprepared", "failed"]
    assert node.told() == [(kind, "x") for kind in told], "the first one frees its devices"


def test_a_kubelet_that_was_killed_while_a_driver_unprepared_says_that_it_may_have(
    node: Node,
) -> None:
    """Otherwise the driver may give the device to another claim, and the judge would object."""

    class KilledError(BaseException):
        """The kubelet was killed."""

    def kill(answer: dict[str, Any]) -> dict[str, Any]:
        raise KilledError

    node.drivers = Drivers(keeps_endings=True)
    node.start()
    node.prepare(node.claim("x", "a"))
    node.drivers.answers["a.example"] = kill
    with pytest.raises(KilledError):
        node.manager.unprepare("uid-of-p")
    node.start()
    assert node.told() == [("unprepared", "x")]
    node.drivers.answers.clear()
    node.prepare("x", pod="q")
    node.start()
    assert node.told() == []  # it is prepared again


def test_a_claim_without_devices_needs_no_driver(node: Node) -> None:
    node.prepare(node.claim("x"))
    node.manager.unprepare("uid-of-p")
    assert node.drivers.calls == []
    assert node.told() == [("prepared", "x"), ("unprepared", "x")]
