"""Builds a whole, sound run directory around a history of the language, with the harness's own
writers.
"""

import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from harness import clocks
from harness.history import directories, journal_writer, manifests, plans, records
from tests.histories import audit_logs, language, recording
from tests.histories.words import fault_words

RUN_ID, SCENARIO, SEED = "f00dfeed", "written-by-hand", 7
TRAFFIC, KUBELET, SCHEDULER = "traffic-0", "kubelet", "scheduler"
NOTHING = plans.Requirements(allocations_min=0, pods_running_min=0)


def build(
    path: pathlib.Path,
    text: str,
    *,
    names: language.Names | None = None,
    requirements: plans.Requirements = NOTHING,
    steps: Sequence[records.Step] = (),
    scenario: str = SCENARIO,
    run_id: str = RUN_ID,
    faults: Sequence[plans.PlannedFault] | None = None,
    remedies: Sequence[str] = (),
    preparations: Sequence[records.Body] = (),
    observations: Sequence[records.Body] | None = None,
    changes: Mapping[str, Any] | None = None,
    phases: Sequence[records.Phase] = (),
    sealed: bool = False,
    audited: bool = False,
) -> directories.RunDirectory:
    """A run directory in which everything went as it should and `text` was observed.

    `faults` None: those of the text, by their kinds. `observations`: instead of those of the text.
    `changes`: other fields of the plan. `phases`: instead of the usual ones. `sealed`: with a
    manifest, as the plan says. `audited`: with an audit log, as the plan says.
    """
    directory = directories.create(path)
    applied = fault_words.applications(text, names=names)
    planned = planned_faults(applied) if faults is None else faults
    made = plan(
        requirements=requirements,
        scenario=scenario,
        run_id=run_id,
        faults=planned,
        remedies=remedies,
    )
    options: dict[str, Any] = {"expects_manifest": sealed, "audit_log": audited}
    made = msgspec.structs.replace(made, **options | dict(changes or {}))
    plans.write(directory.plan, made)
    if audited:
        directory.audit.mkdir()
        (directory.audit / "audit.log").write_bytes(audit_logs.lines(text, names=names))
    seen = language.observe(text, names=names) if observations is None else observations
    created = language.created(text, names=names) if text else recording.created(seen)
    files: dict[str, tuple[pathlib.Path, Iterable[records.Body]]] = {
        "run": (directory.processes, processes(phases, made.expected_steps)),
        "recorder": (directory.new_observations(made.compression), seen),
        TRAFFIC: (directory.operations(TRAFFIC), _calls(created)),
        KUBELET: (directory.operations(KUBELET), []),
        "kubelet's driver": (directory.preparations(KUBELET), preparations),
        SCHEDULER: (directory.steps(SCHEDULER), steps),
    }
    for process in made.expected_steps:
        files.setdefault(process, (directory.steps(process), ()))
    if planned:
        files["faults"] = (directory.faults, [*applied, *windows(planned, applied)])
    for process, (file, body) in files.items():
        write(file, body, process=process, run_id=run_id)
    if sealed:
        manifests.write(directory, run_id=run_id)
    return directory


def planned_faults(applied: Iterable[records.FaultApplied]) -> list[plans.PlannedFault]:
    return [fault(kind) for kind in dict.fromkeys(item.kind for item in applied)]


def fault(kind: str, **options: Any) -> plans.PlannedFault:
    plain = {"name": kind, "carrier": "server", "clients": [fault_words.CLIENT]}
    return plans.PlannedFault(
        **plain | {"kind": kind, "text": f"{kind}, written by hand"} | options
    )


def windows(
    planned: Iterable[plans.PlannedFault], applied: Sequence[records.FaultApplied]
) -> Iterable[records.FaultWindow]:
    """Every fault was on from the first commit to the last application, and was healed."""
    ends = [item.ended_ns or item.begun_ns for item in applied]
    for item in planned:
        yield records.FaultWindow(
            fault=item.name,
            kind=item.kind,
            begun_ns=language.at(0),
            ended_ns=max([language.at(1), *ends]),
            applied_count=sum(one.fault == item.name for one in applied),
        )


def plan(
    *,
    requirements: plans.Requirements = NOTHING,
    scenario: str = SCENARIO,
    run_id: str = RUN_ID,
    faults: Sequence[plans.PlannedFault] = (),
    remedies: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
) -> plans.Plan:
    """The plan of such a run; `settings` of its scenario in place of its name alone."""
    return plans.Plan(
        run_id=run_id,
        scenario=scenario,
        seed=SEED,
        subject="python",
        defects=[],
        cluster="embedded",
        namespace=language.NAMESPACE,
        boot_id=clocks.boot_id(),
        created_wall_ns=0,
        until_found=False,
        requirements=requirements,
        expected_operations=[TRAFFIC, KUBELET],
        expected_preparations=[KUBELET],
        expected_steps=[SCHEDULER],
        resources=[language.CLAIMS, language.PODS],
        settings={"name": scenario} if settings is None else dict(settings),
        faults=list(faults),
        remedies=list(remedies),
        again=["run", scenario, "--seed", str(SEED)],
        versions={"python": "3.11"},
    )


def write(
    path: pathlib.Path, body: Iterable[records.Body], *, process: str, run_id: str = RUN_ID
) -> None:
    """A file that was closed in order."""
    writer = journal_writer.Writer(path, process=process, run_id=run_id)
    for record in body:
        writer.write(record)
    writer.close()


def step(seq: int, thread: str, name: str, ts_ns: int, **fields: object) -> records.Step:
    return records.Step(seq=seq, ts_ns=ts_ns, thread=thread, name=name, fields=fields)


def processes(
    phases: Sequence[records.Phase] = (), subject: Sequence[str] = (SCHEDULER,)
) -> Iterable[records.Body]:
    start = language.at(0)
    names = ["recorder", KUBELET, *subject, "traffic"]
    first, *later = phases or (
        records.Phase(name="starting", ts_ns=start),
        records.Phase(name="load", ts_ns=start),
        records.Phase(name="ended", ts_ns=start + 1_000_000_000),
    )
    yield first
    for index, name in enumerate(names):
        yield records.ProcessStarted(process=name, pid=100 + index, argv=[name], ts_ns=start)
    yield from later[:-1]
    for index, name in enumerate(names):
        yield records.ProcessEnded(
            process=name, pid=100 + index, exit_code=0, expected=True, ts_ns=start
        )
    yield later[-1]
    if later[-1].name != "ended":
        yield records.Phase(name="ended", ts_ns=later[-1].ts_ns)


def _calls(created: Iterable[tuple[str, str, str, int]]) -> Iterable[records.Body]:
    """Every claim and pod was created by an acknowledged call; the first call of all was
    refused.
    """
    yield invocation(0, language.PODS, "refused")
    yield records.Completion(op=0, outcome="fail", ts_ns=0, status=409, reason="AlreadyExists")
    for op, (resource, name, uid, rv) in enumerate(created, start=1):
        yield invocation(op, resource, name)
        yield acknowledgement(op, uid, rv)


def invocation(op: int, resource: str, name: str) -> records.Invocation:
    return records.Invocation(
        op=op,
        user="user-0",
        verb="create",
        resource=resource,
        namespace=language.NAMESPACE,
        name=name,
        ts_ns=language.at(0),
    )


def acknowledgement(op: int, uid: str, rv: int) -> records.Completion:
    return records.Completion(
        op=op, outcome="ok", ts_ns=language.at(rv), status=201, uid=uid, resource_version=str(rv)
    )
