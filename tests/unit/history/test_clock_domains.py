"""Journals of a load on other hosts: which are accepted, and when their calls were made."""

import pathlib
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import judging
from harness.history import clock_domains, directories, histories, journal_reader, plans, records
from tests.histories import building

TEXT = "a+D1 p* a~"
FAR_BOOT = "11111111-0000-0000-0000-000000000000"
PLAN = msgspec.structs.replace(building.plan(), remote_operations=[building.TRAFFIC])
OFFSET_NS = 5_000_000_000
LEFT = records.WorkerLeft(process=building.TRAFFIC, host="far", ts_ns=9)


def joined(**changes: Any) -> records.WorkerJoined:
    plain = {"process": building.TRAFFIC, "host": "far", "boot_id": FAR_BOOT, "pid": 1}
    times = {"offset_ns": OFFSET_NS, "uncertainty_ns": 1000, "ts_ns": 1}
    return records.WorkerJoined(**plain | times | changes)


def left(offset_ns: int) -> records.WorkerLeft:
    return msgspec.structs.replace(LEFT, offset_ns=offset_ns, uncertainty_ns=300)


def run(
    path: pathlib.Path, told: Sequence[records.Body] | None, *, boot: str = FAR_BOOT
) -> directories.RunDirectory:
    """A run whose load was made on a host of this boot; `told` of its worker."""
    directory = building.build(path, TEXT, changes={"remote_operations": [building.TRAFFIC]})
    calls = directory.operations(building.TRAFFIC)
    header = journal_reader.read(calls).header
    assert header is not None
    calls.write_bytes(calls.read_bytes().replace(header.boot_id.encode(), boot.encode()))
    if told is not None:
        building.write(directory.traffic_workers, told, process="traffic")
    return directory


def test_a_drifting_clock_is_known_as_well_as_it_was_measured_twice() -> None:
    found = clock_domains.fold([joined(), left(OFFSET_NS + 4000)], PLAN)
    domain = found.domains[building.TRAFFIC]
    assert (domain.host, domain.boot_id) == ("far", FAR_BOOT)
    assert (domain.offset_ns, domain.uncertainty_ns) == (OFFSET_NS + 2000, 3001)
    assert found.problems == []
    assert found.summary.startswith("1 remote workers on far, whose times are known to ± 0.003")


def test_a_worker_of_this_boot_has_this_clock_unless_it_is_shifted() -> None:
    """Containers may have a time namespace of their own."""
    here = {"boot_id": PLAN.boot_id, "uncertainty_ns": 1000}
    for offset_ns, expected in ((900, (0, 0)), (50_000, (50_000, 1000))):
        found = clock_domains.fold([joined(offset_ns=offset_ns, **here), LEFT], PLAN)
        domain = found.domains[building.TRAFFIC]
        assert (domain.offset_ns, domain.uncertainty_ns) == expected


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ([], "traffic-0: no worker joined"),
        ([joined()], "traffic-0 on far never ended"),
        (
            [joined(), msgspec.structs.replace(LEFT, lost="killed")],
            "traffic-0 on far was lost: killed",
        ),
        ([joined(), joined(), LEFT], "traffic-0 joined twice"),
        ([joined(), LEFT, joined(process="alien")], "alien joined, which the plan does not name"),
        (None, "traffic-workers.jsonl is missing: it tells on which hosts the load ran"),
    ],
)
def test_a_worker_that_is_missing_or_lost_is_named(
    tmp_path: pathlib.Path, told: list[records.Body] | None, problem: str
) -> None:
    boot = FAR_BOOT if told else building.plan().boot_id
    judgement = judging.examine(run(tmp_path / "run", told, boot=boot)).judgement
    assert judgement.verdict == "UNKNOWN"
    (item,) = [item for item in judgement.certificate if item.name == "operations"]
    assert not item.ok
    assert problem in item.reason


def test_a_journal_of_a_named_host_is_accepted_and_read_at_the_times_of_the_run(
    tmp_path: pathlib.Path,
) -> None:
    plain = building.build(tmp_path / "plain", TEXT)
    remote = run(tmp_path / "remote", [joined(), left(OFFSET_NS)])
    here, there = (histories.load(item.path) for item in (plain, remote))
    times = [
        [record.ts_ns for record in history.operations(building.TRAFFIC) or ()]
        for history in (here, there)
    ]
    assert times[1] == [at + OFFSET_NS for at in times[0]] != []
    examined = judging.examine(remote)
    assert not [item for item in examined.judgement.certificate if not item.ok]
    assert there.damages() == []
    assert histories.load(remote.path).damages() == []  # also where nothing was read before
    assert (there.remote_workers.summary != "", here.remote_workers.summary) == (True, "")


def test_a_journal_of_a_host_that_was_not_named_is_refused(tmp_path: pathlib.Path) -> None:
    named = run(tmp_path / "other", [joined(boot_id="22222222"), left(OFFSET_NS)])
    [damage] = histories.load(named.path).damages()
    assert damage == (
        "operations-traffic-0.jsonl: written on another boot of far than traffic-workers.jsonl says"
    )
    unplanned = run(tmp_path / "unplanned", [joined(), LEFT])
    plans.write(unplanned.plan, msgspec.structs.replace(building.plan(), remote_operations=[]))
    [damage] = histories.load(unplanned.path).damages()
    assert "written on another boot of the host than plan.json" in damage


def test_clocks_of_a_damaged_directory_are_not_known(tmp_path: pathlib.Path) -> None:
    directory = run(tmp_path / "run", [joined(), LEFT])
    assert set(clock_domains.of_directory(directory)) == {building.TRAFFIC}
    directory.traffic_workers.write_bytes(b"no record\n")
    assert clock_domains.of_directory(directory) == {}
