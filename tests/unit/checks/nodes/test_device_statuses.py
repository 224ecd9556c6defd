"""Reports in `status.devices`: each driver's own, and of allocated devices alone."""

import copy
import json
from collections.abc import Sequence
from typing import Any

from harness.checks import verdicts
from harness.checks.nodes import device_statuses
from harness.history import records
from tests.histories import claim_judging, judged_runs, language, recording, worlds

Object = dict[str, Any]
GPU, NIC, SCHEDULER = "gpu.example", "nic.example", "scheduler"


def row(driver: str, device: str) -> Object:
    return {"driver": driver, "pool": "p", "device": device}


DEVICES = [row(GPU, "g0"), row(GPU, "g1"), row(NIC, "n0")]


class Claim:
    """An allocated claim with reports, and the managers of its fields."""

    def __init__(self) -> None:
        self.results, self.entries = list(DEVICES), dict[str, Object]()
        self.managers: dict[tuple[str, str], Object] = {}
        self.versions: list[recording.Commit] = []
        self.commit()

    def commit(self) -> None:
        value = worlds.claim("a")
        results = [{"request": "device", **item} for item in self.results]
        value["status"] = {"allocation": {"devices": {"results": results}}} if results else {}
        if self.entries:
            value["status"]["devices"] = [*self.entries.values()]
        value["metadata"]["managedFields"] = list(self.managers.values())
        self.versions.append(recording.claim(copy.deepcopy(value)))

    def write(
        self, manager: str, *entries: Object, operation: str = "Apply", whole: bool = False
    ) -> None:
        """A manager writes entries; `whole`: the list has no others then."""
        keys = [_key(entry) for entry in entries]
        lost = set(self.entries) - set(keys) if whole else set()
        changed = {
            key for key, entry in zip(keys, entries, strict=True) if self.entries.get(key) != entry
        }
        self.entries = {key: value for key, value in self.entries.items() if key not in lost}
        self.entries |= dict(zip(keys, entries, strict=True))
        for name, item in list(self.managers.items()):
            owned = item["fieldsV1"]["f:status"]["f:devices"]
            for key in lost | (changed if name != (manager, operation) else set()):
                owned.pop(key, None)
            if not owned:
                del self.managers[name]
        self.managers[manager, operation] = self._entry(manager, operation, keys)
        self.commit()

    def _entry(self, manager: str, operation: str, keys: Sequence[str]) -> Object:
        known = self.managers.get((manager, operation), {}).get("fieldsV1", {})
        owned = known.get("f:status", {}).get("f:devices", {}) | {key: {".": {}} for key in keys}
        return {
            "manager": manager,
            "operation": operation,
            "subresource": "status",
            "time": f"{len(self.versions):020d}",
            "fieldsV1": {"f:status": {"f:devices": owned, "f:reservedFor": {}}},
        }

    def body(self) -> list[records.Body]:
        return recording.record(self.versions)


def _key(entry: Object) -> str:
    return "k:" + json.dumps({name: entry[name] for name in ("driver", "pool", "device")})


def judge(body: Sequence[records.Body]) -> verdicts.Answer:
    check = device_statuses.DEVICE_STATUSES
    return device_statuses._judge_statuses(claim_judging.evidence(body, [check]))


def summaries(claim: Claim) -> list[str]:
    answer = judged_runs.examined(judge(claim.body()))
    return [item.summary for item in answer.violations]


def reported(data: int = 0) -> Claim:
    claim = Claim()
    claim.write(f"{GPU}-n", DEVICES[0] | {"data": {"at": data}}, DEVICES[1])
    claim.write(f"{NIC}-n", DEVICES[2] | {"data": {"at": data}})
    return claim


def test_without_reports_nothing_is_examined() -> None:
    answer = judge(Claim().body())
    assert isinstance(answer, verdicts.NotExamined)
    assert answer.is_vacuous


def test_each_driver_changes_and_removes_what_is_its_own() -> None:
    claim = reported()
    claim.write(f"{GPU}-m", DEVICES[0] | {"data": {"at": 2}}, DEVICES[1])  # another node's
    del claim.entries[_key(DEVICES[2])], claim.managers[f"{NIC}-n", "Apply"]
    claim.commit()
    assert summaries(claim) == []


def test_a_driver_may_write_one_report_and_remove_another() -> None:
    claim = Claim()
    claim.write(f"{GPU}-n", *DEVICES[:2])
    claim.write(f"{GPU}-m", DEVICES[0] | {"data": {"at": 1}}, whole=True)
    assert summaries(claim) == []
    assert judged_runs.examined(judge(claim.body())).examined_count == 2


def test_a_share_of_a_device_that_has_another_share_is_not_allocated() -> None:
    claim = Claim()
    claim.write(f"{GPU}-n", DEVICES[0] | {"shareID": "s"})
    [found] = summaries(claim)
    assert "has an entry of gpu.example/p/g0 (share s) in status.devices" in found


def test_what_has_removed_a_report_is_told() -> None:
    claim = reported()
    claim.write(NIC, DEVICES[2] | {"data": {"at": 1}}, operation="Update", whole=True)
    claim.write(SCHEDULER, operation="Update", whole=True)
    assert [item.partition(": ")[::2] for item in summaries(claim)] == [
        (f"claim a lost the report on {device}", f"it was removed by {by}")
        for device, by in (
            ("gpu.example/p/g0", "the write of an entry of nic.example"),
            ("gpu.example/p/g1", "the write of an entry of nic.example"),
            ("nic.example/p/n0", "scheduler, which owns no entry of this driver"),
        )
    ]


def test_a_driver_that_repeats_itself_leaves_no_trace_of_dropping() -> None:
    """Within one second the managed fields do not show who wrote: nothing is counted."""
    claim = reported()
    claim.entries.clear()
    claim.managers.clear()
    claim.commit()
    assert summaries(claim) == []


def test_an_entry_that_a_stranger_changes_is_lost() -> None:
    claim = reported()
    foreign = DEVICES[2] | {"data": {"at": 1}}
    claim.managers["kubectl", "Update"] = claim._entry("kubectl", "Update", [])
    claim.entries[_key(foreign)] = foreign
    claim.commit()
    [found] = summaries(claim)
    assert "it was changed by kubectl, which owns no entry of this driver" in found


def test_a_version_of_two_writers_may_be_of_the_driver() -> None:
    claim = reported()
    claim.managers["kubectl", "Update"] = claim._entry("kubectl", "Update", [_key(DEVICES[0])])
    claim.write(f"{NIC}-m", DEVICES[2] | {"data": {"at": 1}})
    assert summaries(claim) == []


def test_what_is_deallocated_has_no_reports_any_more() -> None:
    claim = reported()
    claim.results, claim.entries = [], {}
    claim.managers[SCHEDULER, "Update"] = claim._entry(SCHEDULER, "Update", [])
    claim.commit()
    assert summaries(claim) == []


def test_a_report_is_of_an_allocated_device() -> None:
    claim = reported()
    claim.write(f"{GPU}-n", row(GPU, "g7"))
    assert summaries(claim) == [
        "claim a has an entry of gpu.example/p/g7 in status.devices, which is not allocated to it"
    ]


def test_after_a_gap_nothing_is_compared() -> None:
    claim = reported()
    claim.write(NIC, DEVICES[2] | {"data": {"at": 1}}, operation="Update", whole=True)
    body = claim.body()
    gap = language.gap("resourceclaims", 0, 0)
    last = max(i for i, item in enumerate(body) if getattr(item, "type", "") == "MODIFIED")
    answer = judged_runs.examined(judge([*body[:last], gap, *body[last:]]))
    assert answer.violations == []
