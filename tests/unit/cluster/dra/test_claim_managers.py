"""The DRA manager of a kubelet: who may use a claim, and when it is prepared and unprepared."""

import pathlib
import threading
from typing import Any

import pytest

from harness import clocks, errors
from harness.cluster.dra import claim_infos, claim_managers, node_claims
from harness.cluster.kubelet_api import preparations
from harness.history import journal_reader, records
from harness.scenario import driver_specs

TIMEOUT_S = 30
NODE = "worker-0"


class Api:
    """The claims that a live GET finds."""

    def __init__(self) -> None:
        self.claims: dict[str, Any] = {}
        self.gets = 0

    def get(self, resource: object, name: str, *, namespace: str) -> Any:
        del resource, namespace
        self.gets += 1
        if name not in self.claims:
            from harness.client import apis

            raise apis.ApiError(404, "NotFound", name)
        return self.claims[name]


class Nodes:
    """A kubelet process that can be killed and started again."""

    def __init__(self, folder: pathlib.Path, **driver: Any) -> None:
        self.folder, self.api, self.starts = folder, Api(), 0
        self.spec, self.parts = driver_specs.DriverSpec(**driver), claim_managers.CORRECT
        self.start()

    def start(self) -> None:
        self.starts += 1
        self.journal = self.folder / f"preparations-{self.starts}.jsonl"
        self.claims = node_claims.NodeClaims(
            self.api,  # type: ignore[arg-type]
            node_claims.NodeClaimsOptions(
                driver=self.spec,
                state=self.folder / "state",
                journal=self.journal,
                parts=self.parts,
            ),
        )

    def records(self) -> list[Any]:
        return journal_reader.read(self.journal).records

    def prepared(self) -> list[tuple[str, str]]:
        return [(r.claim, r.pod) for r in self.records() if isinstance(r, records.Prepared)]

    def unprepared(self) -> list[tuple[str, str]]:
        return [(r.claim, r.pod) for r in self.records() if isinstance(r, records.Unprepared)]

    def refused(self) -> list[tuple[str, str]]:
        return [(r.claim, r.reason) for r in self.records() if isinstance(r, records.PrepareFailed)]

    def claim(
        self, name: str, *pods: Any, device: str = "d", uid: str = "", driver: str = "gpu.example"
    ) -> Any:
        drivers = driver.split()
        results = [
            {"request": "gpu", "driver": driver, "pool": "n", "device": device}
            for driver in drivers
        ]
        entries = [{"uid": pod["metadata"]["uid"]} for pod in pods]
        self.api.claims[name] = {
            "metadata": {"namespace": "ns", "name": name, "uid": uid or f"uid-of-{name}"},
            "status": {"allocation": {"devices": {"results": results}}, "reservedFor": entries},
        }
        return self.api.claims[name]

    def ready(self) -> list[str]:
        """The CDI devices that containers find."""
        return sorted(
            one for driver in self.claims._own._drivers.values() for _, one in driver.edits
        )


@pytest.fixture
def nodes(tmp_path: pathlib.Path) -> Nodes:
    return Nodes(tmp_path)


def pod(name: str, *claims: str, node: str = NODE, generated: bool = False) -> Any:
    key = "resourceClaimTemplateName" if generated else "resourceClaimName"
    entries = [{"name": f"entry-{claim}", key: claim} for claim in claims]
    statuses = [{"name": f"entry-{claim}", "resourceClaimName": claim} for claim in claims]
    return {
        "metadata": {"namespace": "ns", "name": name, "uid": f"uid-of-{name}"},
        "spec": {"nodeName": node, "resourceClaims": entries},
        "status": {"resourceClaimStatuses": statuses if generated else []},
    }


def test_a_claim_is_prepared_once_and_unprepared_after_its_last_pod(nodes: Nodes) -> None:
    a, b = pod("a", "c"), pod("b", "c")
    nodes.claim("c", a, b)
    nodes.claims.prepare(a)
    nodes.claims.prepare(b)
    nodes.claims.prepare(b)  # again, as after a failure to report the pod
    assert nodes.prepared() == [("c", "a")]
    assert nodes.api.gets == 3  # live, for each pod
    nodes.claims.unprepare(NODE, "uid-of-a")
    assert nodes.unprepared() == []
    assert len(nodes.ready()) == 1
    nodes.claims.unprepare(NODE, "uid-of-b")
    assert nodes.unprepared() == [("c", "b")]
    assert nodes.ready() == []


def test_a_claim_of_pods_on_two_nodes_is_prepared_on_both(nodes: Nodes) -> None:
    here, there = pod("a", "c"), pod("b", "c", node="worker-1")
    nodes.claim("c", here, there)
    nodes.claims.prepare(here)
    nodes.claims.prepare(there)
    assert nodes.prepared() == [("c", "a"), ("c", "b")]


@pytest.mark.parametrize(
    ("section", "key", "reason"),
    [
        ("metadata", "ownerReferences", "NotOwned"),
        ("status", "allocation", "NotAllocated"),
        ("status", "reservedFor", "NotReserved"),
        ("", "", "NotFound"),
    ],
)
def test_a_claim_that_is_not_ready_is_refused_until_it_is(
    nodes: Nodes, section: str, key: str, reason: str
) -> None:
    user = pod("a", "c", generated=True)
    claim = nodes.claim("c", user)
    claim["metadata"]["ownerReferences"] = [{"controller": True, "uid": "uid-of-a"}]
    part = claim[section] if section else nodes.api.claims
    missing = part.pop(key or "c")
    with pytest.raises(preparations.PreparationError):
        nodes.claims.prepare(user)
    assert nodes.refused() == [("c", reason)]
    part[key or "c"] = missing
    nodes.claims.prepare(user)
    assert nodes.prepared() == [("c", "a")]


@pytest.mark.parametrize(
    ("change", "reason", "words"),
    [
        ({"uid": "reborn"}, "StillPrepared", "different UID uid-of-c still exists"),
        ({"device": "second"}, "AllocationChanged", "is still prepared with gpu.example/n/d"),
    ],
)
def test_a_claim_that_is_still_prepared_otherwise_is_refused(
    nodes: Nodes, change: dict[str, str], reason: str, words: str
) -> None:
    """As after a deletion by force: another claim, or other devices, while the old pod runs."""
    old, new = pod("old", "c"), pod("new", "c")
    nodes.claim("c", old)
    nodes.claims.prepare(old)
    nodes.claim("c", new, **change)
    with pytest.raises(preparations.PreparationError, match=words):
        nodes.claims.prepare(new)
    nodes.claims.unprepare(NODE, "uid-of-old")
    nodes.claims.prepare(new)
    assert nodes.refused() == [("c", reason)]
    assert nodes.prepared() == [("c", "old"), ("c", "new")]


def test_a_kubelet_that_is_killed_knows_its_claims_when_it_is_back(tmp_path: pathlib.Path) -> None:
    nodes = Nodes(tmp_path, exclusivity=True)
    a, b, rival = pod("a", "c"), pod("b", "c"), pod("rival", "other")
    nodes.claim("c", a, b)
    nodes.claim("other", rival)  # of the same device
    nodes.claims.prepare(a)
    nodes.start()  # without an end
    assert nodes.claims.pods() == {("ns/a", "uid-of-a", NODE)}
    with pytest.raises(preparations.PreparationError):
        nodes.claims.prepare(rival)
    nodes.claims.prepare(b)
    assert nodes.prepared() == [("c", "b")]  # the driver is asked again after a restart
    nodes.claims.unprepare(NODE, "uid-of-a")
    nodes.claims.unprepare(NODE, "uid-of-b")
    assert nodes.unprepared() == [("c", "b")]
    nodes.start()
    assert nodes.claims.pods() == {("ns/rival", "uid-of-rival", NODE)}
    nodes.claims.prepare(rival)
    assert nodes.prepared() == [("other", "rival")]
    nodes.claims.unprepare(NODE, "uid-of-rival")
    nodes.start()
    assert nodes.claims.pods() == set()


def test_a_kubelet_that_is_killed_knows_the_shares_of_a_device(tmp_path: pathlib.Path) -> None:
    """kubernetes#136734: a checkpoint without them, up to 1.34."""
    nodes = Nodes(tmp_path, exclusivity=True)
    pods = {share: pod(share, f"claim-{share}") for share in ("first", "second")}
    for share, user in pods.items():
        [result] = allocated(nodes.claim(f"claim-{share}", user))
        result["shareID"] = f"share-{share}"
    nodes.claims.prepare(pods["first"])
    nodes.start()
    [kept] = claim_infos.Checkpoint(tmp_path / "state" / "checkpoints" / f"{NODE}.json").load()
    assert [device.share_id for device in kept.prepared["gpu.example"]] == ["share-first"]
    nodes.claims.prepare(pods["second"])  # is not refused: the device is shared
    nodes.claims.prepare(pods["first"])
    prepared = [record for record in nodes.records() if isinstance(record, records.Prepared)]
    assert [record.shared for record in prepared] == [["gpu.example/n/d"]] * 2


def allocated(claim: Any) -> Any:
    return claim["status"]["allocation"]["devices"]["results"]


def test_a_claim_of_the_checkpoint_that_the_driver_never_prepared(tmp_path: pathlib.Path) -> None:
    """The kubelet was killed before it called the driver: the journal tells that it is free."""
    nodes = Nodes(tmp_path, prepare={"failing_from_s": 0.0, "failing_s": 80_000})
    user = pod("a", "c")
    nodes.claim("c", user)
    with pytest.raises(preparations.PreparationError):
        nodes.claims.prepare(user)
    nodes.start()
    assert nodes.unprepared() == [("c", "a")]
    assert nodes.claims.pods() == {("ns/a", "uid-of-a", NODE)}  # it may be tried again


def test_a_container_that_asks_for_no_extended_resource_gets_no_device_of_it(nodes: Nodes) -> None:
    """Although the status of the pod says that it uses the request."""
    user = pod("a")
    user["spec"]["containers"] = [
        {"name": "asks", "resources": {"requests": {"example.com/gpu": "1"}}},
        {"name": "is silent"},
    ]
    mapping = {"resourceName": "example.com/gpu", "requestName": "gpu"}
    mapped = [{"containerName": name, **mapping} for name in ("asks", "is silent")]
    user["status"]["extendedResourceClaimStatus"] = {
        "resourceClaimName": "c",
        "requestMappings": mapped,
    }
    infos = [claim_infos.of(nodes.claim("c", user))]
    assert node_claims.environments(user, infos, lambda _: {}) == {"asks": {}}


def test_a_damaged_checkpoint_is_reported(nodes: Nodes) -> None:
    nodes.claim("c", pod("a", "c"))
    nodes.claims.prepare(pod("a", "c"))
    (checkpoint,) = (nodes.folder / "state" / "checkpoints").iterdir()
    checkpoint.write_bytes(b"[{")
    with pytest.raises(errors.UsageError, match=r"worker-0\.json: expected the checkpoint"):
        nodes.start()


def test_a_pod_that_comes_while_its_claim_is_unprepared_waits(tmp_path: pathlib.Path) -> None:
    """Otherwise the end of the unpreparation would also end what the new pod uses."""
    nodes = Nodes(tmp_path, unprepare={"blocked_from_s": 0.0, "blocked_s": 80_000})
    old, new = pod("old", "c"), pod("new", "c")
    nodes.claim("c", old, new)
    nodes.claims.prepare(old)
    leaving = threading.Thread(target=nodes.claims.unprepare, args=(NODE, "uid-of-old"))
    leaving.start()
    lock: Any = nodes.claims._managers[NODE]._entries["ns/c"].lock
    clocks.wait_until(
        lambda: lock.locked(),
        timeout_s=TIMEOUT_S,
        why="the claim to be unprepared",
    )
    coming = threading.Thread(target=nodes.claims.prepare, args=(new,))
    coming.start()
    nodes.claims.stop()  # the driver goes on
    leaving.join(TIMEOUT_S)
    coming.join(TIMEOUT_S)
    kinds = [type(record) for record in nodes.records()]
    assert kinds == [records.Prepared, records.Unprepared, records.Prepared]
    assert nodes.claims.pods() == {("ns/new", "uid-of-new", NODE)}
    assert len(nodes.ready()) == 1
