"""Sound run directories with any number of holds.

Users keep their claims, which are allocated one after another: every claim is created, gets a
device and loses it HOLDS_PER_CLAIM times, and is deleted. No device is given away twice.
"""

import itertools
import pathlib
from collections.abc import Iterable, Iterator

import msgspec

from harness.checks.observed import observations
from harness.history import directories, journal_writer, manifests, plans, records
from tests.histories import building, language

HOLDS_PER_CLAIM = 10
SLOTS, DEVICES_PER_SLOT = 1_000, 4
"""Claims that exist at once, and the devices that each of them and its successors use in turn."""
DEVICES_PER_SLICE = 100
BATCH = 5_000
FIRST_RV = 1_000


def build(path: pathlib.Path, holds: int) -> directories.RunDirectory:
    """Write a run directory. Raises RunDirectoryError if the path exists."""
    directory = directories.create(path)
    plan = msgspec.structs.replace(
        building.plan(), resources=[observations.CLAIMS, observations.PODS, observations.SLICES]
    )
    plans.write(directory.plan, plan)
    commits = _Commits(holds)
    _write(directory.observations, "recorder", commits.observations())
    _write(directory.operations(building.TRAFFIC), building.TRAFFIC, commits.calls())
    for process in building.KUBELET, building.SCHEDULER:
        _write(directory.operations(process), process, ())
    _write(directory.preparations(building.KUBELET), "kubelet's driver", ())
    _write(directory.steps(building.SCHEDULER), building.SCHEDULER, ())
    _write(directory.processes, "run", building.processes())
    manifests.write(directory, run_id=plan.run_id)
    return directory


def _write(path: pathlib.Path, process: str, body: Iterable[records.Body]) -> None:
    writer = journal_writer.Writer(path, process=process, run_id=building.RUN_ID)
    left = iter(body)
    while batch := list(itertools.islice(left, BATCH)):
        writer.write_many(batch)
    writer.close()


class _Commits:
    """The commits of the claims, in their order."""

    def __init__(self, holds: int) -> None:
        self._holds = holds
        self._slots = min(SLOTS, -(-holds // HOLDS_PER_CLAIM))
        self._rv = FIRST_RV

    def observations(self) -> Iterator[records.Body]:
        slices = list(self._slices())
        for resource in (observations.CLAIMS, observations.PODS):
            yield language.listed(resource, "first", self._rv, 0)
        yield language.listed(observations.SLICES, "first", self._rv, len(slices))
        yield from slices
        for round_number in range(-(-self._holds // (self._slots * HOLDS_PER_CLAIM))):
            yield from self._round(round_number)
        for resource in (observations.CLAIMS, observations.PODS):
            yield language.listed(resource, "final", self._rv, 0)
        yield language.listed(observations.SLICES, "final", self._rv, len(slices))
        yield from (msgspec.structs.replace(item, type="FINAL") for item in slices)

    def calls(self) -> Iterator[records.Body]:
        rounds = -(-self._holds // (self._slots * HOLDS_PER_CLAIM))
        for op in range(rounds * self._slots):
            name, uid = _identity(*divmod(op, self._slots))
            yield building.invocation(op, language.CLAIMS, name)
            yield building.acknowledgement(op, uid, FIRST_RV)

    def _round(self, number: int) -> Iterator[records.Body]:
        left = self._holds - number * self._slots * HOLDS_PER_CLAIM
        for slot in range(self._slots):
            yield self._claim("ADDED", number, slot)
        for turn in range(HOLDS_PER_CLAIM):
            holding = range(min(self._slots, left - turn * self._slots))
            for slot in holding:
                yield self._claim("MODIFIED", number, slot, _device(slot, turn))
            for slot in holding:
                yield self._claim("MODIFIED", number, slot)
        for slot in range(self._slots):
            yield self._claim("DELETED", number, slot)

    def _claim(
        self, kind: str, number: int, slot: int, device: tuple[str, str] | None = None
    ) -> records.Observation:
        self._rv += 1
        name, uid = _identity(number, slot)
        status = "" if device is None else _ALLOCATED % (*device, name, uid)
        obj = _CLAIM % (name, uid, self._rv, _FINALIZERS if device else "", status)
        return self._observed(observations.CLAIMS, kind, obj)

    def _slices(self) -> Iterator[records.Observation]:
        everything = [
            _device(slot, turn) for slot in range(self._slots) for turn in range(DEVICES_PER_SLOT)
        ]
        for pool, found in itertools.groupby(everything, key=lambda device: device[0]):
            self._rv += 1
            meta = {"name": pool, "uid": f"uid-{pool}", "resourceVersion": str(self._rv)}
            spec = {
                "driver": language.DRIVER,
                "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1},
                "nodeName": pool,
                "devices": [{"name": name} for _, name in found],
            }
            obj = msgspec.json.encode({"metadata": meta, "spec": spec}).decode()
            yield self._observed(observations.SLICES, "LISTED", obj)

    def _observed(self, resource: str, kind: str, obj: str) -> records.Observation:
        return records.Observation(
            resource=resource,
            type=kind,  # type: ignore[arg-type]
            resource_version=self._rv,
            ts_ns=language.at(self._rv),
            object=msgspec.Raw(obj.encode()),
        )


def _identity(number: int, slot: int) -> tuple[str, str]:
    """The name and uid of the claim that uses a slot in a round."""
    return f"user-{slot}-{number}", f"{slot:08x}-0000-4000-8000-{number:012x}"


def _device(slot: int, turn: int) -> tuple[str, str]:
    number = slot * DEVICES_PER_SLOT + turn % DEVICES_PER_SLOT
    return f"worker-{number // DEVICES_PER_SLICE}", f"device-{number:05}"


_FINALIZERS = '"finalizers":["resource.kubernetes.io/delete-protection"],'
_CLAIM = (
    '{"kind":"ResourceClaim","apiVersion":"resource.k8s.io/v1","metadata":{"name":"%s",'
    f'"namespace":"{language.NAMESPACE}",'
    '"uid":"%s","creationTimestamp":"2026-01-31T00:00:00Z","resourceVersion":"%s",%s'
    '"labels":{"flake-hunt/run":"f00dfeed"},"managedFields":[{"manager":"flake-hunt","operation":'
    '"Update","apiVersion":"resource.k8s.io/v1","time":"2026-01-31T00:00:00Z","fieldsType":'
    '"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:flake-hunt/run":{}}},"f:spec":'
    '{"f:devices":{"f:requests":{}}}}}]},"spec":{"devices":{"requests":[{"name":"device",'
    '"exactly":{"deviceClassName":"flake-hunt","allocationMode":"ExactCount","count":1}}]}},'
    '"status":{%s}}'
)
_ALLOCATED = (
    '"allocation":{"devices":{"results":[{"request":"device",'
    f'"driver":"{language.DRIVER}",'
    '"pool":"%s","device":"%s"}]},"nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":'
    '"metadata.name","operator":"In","values":["worker"]}]}]}},"reservedFor":[{"resource":"pods",'
    '"name":"%s","uid":"pod-%s"}]'
)
