"""Each effect of a hazard is found in the record of a script that a real program has followed.

The runs have no steps and no journal of the subject: there is nothing but versions of objects.
"""

import copy
import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import judging, verdict_files, verdicts
from harness.history import directories, plans, records
from tests.histories import building, recording, worlds
from tests.histories.golden_cases import claims as words
from tests.histories.golden_cases.words import NODE, Object, claim, gone, pod

VALID, UNKNOWN, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.UNKNOWN, verdicts.Verdict.INVALID
IMPLICIT = f"deviceclass.resource.kubernetes.io/{worlds.CLASS}"
D0 = worlds.device("n", 0)
History = Sequence[recording.Commit]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Effect:
    """The record of a run that shows a hazard, and of runs that do not show it."""

    check: str
    summary: str
    """Begin of the summary of its violation."""
    broken: History
    kept: Sequence[History]
    cluster: str = "embedded"


def node(name: str) -> recording.Commit:
    return words.changed(words.node(name), "metadata", "labels", to={"node": name})


def extended(name: str, *, claim: str = "", node: str = "", phase: str = "") -> recording.Commit:
    """A version of a pod with an extended resource; its status names this claim."""
    value = worlds.pod(name, node=node, phase=phase or ("Running" if node else "Pending"))
    del value["spec"]["resourceClaims"]
    requests = {"requests": {IMPLICIT: "1"}}
    value["spec"]["containers"] = [{"name": "work", "resources": requests}]
    if claim:
        mapping = {"containerName": "work", "resourceName": IMPLICIT, "requestName": "device"}
        named = {"resourceClaimName": claim, "requestMappings": [mapping]}
        value["status"]["extendedResourceClaimStatus"] = named
    return recording.pod(value)


def on_n(commit: recording.Commit) -> recording.Commit:
    """The same version; its allocation, if it has one, admits node n only."""
    if "allocation" not in commit.object["status"]:
        return commit
    return words.changed(commit, "status", "allocation", "nodeSelector", to=words.only("n"))


def made(name: str, *devices: str, owner: str = "p", **options: Any) -> recording.Commit:
    """A version of a claim that a scheduler made for the extended resource of a pod."""
    commit = on_n(claim(name, *devices, owner=owner, finalizer=bool(devices), **options))
    note = {"resource.kubernetes.io/extended-resource-claim": "true"}
    return words.changed(commit, "metadata", "annotations", to=note)


def generated(
    name: str, *devices: str, entry: str = "device", owner: str = "p", **options: Any
) -> recording.Commit:
    commit = on_n(claim(name, *devices, owner=owner, finalizer=bool(devices), **options))
    note = {"resource.kubernetes.io/pod-claim-name": entry}
    return words.changed(commit, "metadata", "annotations", to=note)


def taken(name: str, *devices: str, users: Sequence[str] = ()) -> recording.Commit:
    """A version of a user's claim that is allocated on node n."""
    return on_n(claim(name, *devices, users=users, finalizer=True))


def naming(*names: str, node: str = "", phase: str = "Pending") -> recording.Commit:
    """A version of pod p whose entries name these claims."""
    value = worlds.pod("p", claim="a", node=node, phase=phase)
    value["spec"]["resourceClaims"] = [
        {"name": f"entry-{index}", "resourceClaimName": name} for index, name in enumerate(names)
    ]
    return recording.pod(value)


def told(*, node: str = "", phase: str = "Pending", **names: str) -> recording.Commit:
    """A version of pod p with two templates; its status names these claims by their entries."""
    value = worlds.pod("p", generated="x", node=node, phase=phase)
    value["spec"]["resourceClaims"] = [
        {"name": entry, "resourceClaimTemplateName": "template"} for entry in "xy"
    ]
    value["status"]["resourceClaimStatuses"] = [
        {"name": entry, "resourceClaimName": name} for entry, name in names.items()
    ]
    return recording.pod(value)


def selecting(where: str, *, node: str = "", phase: str = "Pending") -> recording.Commit:
    """A version of pod p, which names claim a and runs on one node only."""
    return words.changed(
        pod("p", claim="a", node=node, phase=phase), "spec", "nodeSelector", to={"node": where}
    )


def preferring(where: str) -> recording.Commit:
    term = {"matchExpressions": [{"key": "node", "operator": "In", "values": [where]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return words.changed(pod("p", claim="a"), "spec", "affinity", to={"nodeAffinity": required})


def ended(name: str, **options: Any) -> recording.Commit:
    return pod(name, phase="Succeeded", node="n", **options)


def finished(name: str) -> list[recording.Commit]:
    """A pod ends, its reservation is taken back, and it gets another claim (kubernetes#141274)."""
    first, second = f"{name}-1", f"{name}-2"

    def version(claimed: str, *devices: str, **options: Any) -> recording.Commit:
        return generated(claimed, *devices, owner=name, **options)

    device = "0" if name == "p" else "1"
    return [
        pod(name),
        version(first),
        pod(name, generated=first),
        version(first, device, users=[name]),
        pod(name, generated=first, node="n", phase="Running"),
        ended(name, generated=first),
        version(first),
        gone(version(first)),
        version(second),
    ]


CLUSTER = [node("n"), node("m"), words.device_class(), NODE]
M_TOO = [*CLUSTER, recording.piece(worlds.devices_of("m", 1))]
BOUND = pod("p", claim="a", node="n", phase="Running")
ASKED = [*CLUSTER, claim("a"), pod("p", claim="a")]
RUNS = [*ASKED, taken("a", "0", users=["p"]), BOUND]
ENDS = [ended("p", claim="a"), claim("a"), gone(claim("a"))]
BOTH = [*CLUSTER, claim("a"), claim("b"), naming("a", "b")]
RESERVED = [*BOTH, taken("a", "0", users=["p"])]
B_RESERVED = taken("b", "1", users=["p"])
BOTH_BOUND = naming("a", "b", node="n", phase="Running")
OWN = [*CLUSTER, extended("p"), made("c"), made("c", "0", users=["p"]), extended("p", claim="c")]
OWN_RUNS = [*OWN, extended("p", claim="c", node="n")]
AGAIN = [*OWN, made("c"), gone(made("c")), made("d"), made("d", "1", users=["p"])]
AGAIN_RUNS = [*AGAIN, extended("p", claim="d"), extended("p", claim="d", node="n")]
FROM_TEMPLATE = [*CLUSTER, pod("p"), generated("a")]
LOST = [*FROM_TEMPLATE, pod("p", generated="a"), gone(generated("a"))]
MADE_AGAIN = [generated("b"), pod("p", generated="b"), generated("b", "0", users=["p"])]
TWO = [
    *CLUSTER,
    told(),
    generated("a", entry="x"),
    told(x="a"),
    generated("b", entry="y"),
    told(x="a", y="b"),
]
TWO_RUN = [
    generated("a", "0", entry="x", users=["p"]),
    generated("b", "1", entry="y", users=["p"]),
    told(x="a", y="b", node="n", phase="Running"),
]
ELSEWHERE = [*M_TOO, claim("a"), taken("a", "0")]
REMOVED = gone(taken("a", "0", users=["p"]))

EFFECTS: dict[str, Effect] = {
    "double allocation (H1, H2, H3, H7)": Effect(
        check="device_exclusivity",
        summary=f"{D0}: a and b from version",
        broken=[*RUNS, claim("b"), taken("b", "0")],
        kept=[RUNS, [*RUNS, *ENDS, claim("b"), taken("b", "0"), claim("b"), gone(claim("b"))]],
    ),
    "second claim for an entry (H8, H17)": Effect(
        check="generated_claims",
        summary="pod p has a second claim for device",
        broken=[*FROM_TEMPLATE, *MADE_AGAIN, pod("p", generated="b", node="n", phase="Running")],
        kept=[[*LOST, *MADE_AGAIN, pod("p", generated="b", node="n", phase="Running")]],
    ),
    "reservation for a pod that is gone (H9)": Effect(
        check="resource_leaks",
        summary="claim a is leaked",
        broken=[*RUNS, gone(BOUND)],
        kept=[[*RUNS, gone(BOUND), claim("a")], RUNS],
    ),
    "claim that its pod does not name (H13)": Effect(
        check="resource_leaks",
        summary="claim c outlives its pod",
        broken=[*AGAIN_RUNS[:8], made("d"), *AGAIN_RUNS[-3:], gone(AGAIN_RUNS[-1]), made("d"), gone(made("d"))],
        kept=[[*OWN_RUNS, gone(OWN_RUNS[-1]), made("c"), gone(made("c"))]],
    ),
    "claim of a pod that has ended (H13, H16)": Effect(
        check="resource_leaks",
        summary="claim c outlives its pod",
        broken=[*OWN_RUNS, extended("p", claim="c", node="n", phase="Succeeded")],
        kept=[
            [
                *OWN_RUNS,
                extended("p", claim="c", node="n", phase="Succeeded"),
                made("c"),
                gone(made("c")),
            ]
        ],
    ),
    "claims for pods that have ended (kubernetes#141274)": Effect(
        check="claim_controller",
        summary="pod p got a claim after its end",
        broken=[*CLUSTER, *finished("p"), *finished("q")],
        kept=[[*CLUSTER, *finished("p")[:-1], *finished("q")[:-1]]],
    ),
    "bound after its reservation was taken back (H10)": Effect(
        check="bound_pods",
        summary="pod p: claim a was not allocated and reserved for it",
        broken=[*RESERVED, taken("a", "0"), B_RESERVED, BOTH_BOUND, taken("a", "0", users=["p"])],
        kept=[
            [*RESERVED, B_RESERVED, BOTH_BOUND],
            [*RESERVED, taken("a", "0"), taken("a", "0", users=["p"]), B_RESERVED, BOTH_BOUND],
        ],
    ),
    "reservation taken back from a bound pod (H11, H18, H19)": Effect(
        check="claims_in_use",
        summary="claim a lost its reservation while pod p used it",
        broken=[*RUNS, taken("a", "0"), taken("a", "0", users=["p"])],
        kept=[RUNS, [*RUNS, ended("p", claim="a"), taken("a", "0"), *ENDS[1:]]],
    ),
    "runs without its extended resource, whose claim went (H19)": Effect(
        check="claims_in_use",
        summary="claim c was deallocated while pod p used it",
        broken=[*OWN_RUNS, made("c"), gone(made("c")), claim("b"), taken("b", "0")],
        kept=[OWN_RUNS],
    ),
    "begins to run when its claim is gone (H19)": Effect(
        check="extended_claims",
        summary="pod p runs without its extended resource: the claim c is not there",
        broken=[
            *OWN,
            extended("p", claim="c", node="n", phase="Pending"),
            made("c"),
            gone(made("c")),
            extended("p", claim="c", node="n"),
        ],
        kept=[OWN_RUNS],
    ),
    "waits without a claim for its extended resource (H12)": Effect(
        check="claim_progress",
        summary=f"STUCK: pod p waits while {D0} is idle",
        broken=[*CLUSTER, extended("p"), made("c"), gone(made("c"))],
        kept=[
            [*OWN[:5], made("b"), gone(made("b")), *OWN_RUNS[5:]],
            [
                *CLUSTER,
                extended("p"),
                *(item for name, device in zip("qrst", "0123", strict=True) for item in (
                    claim(name),
                    pod(f"of-{name}", claim=name),
                    taken(name, device, users=[f"of-{name}"]),
                    pod(f"of-{name}", claim=name, node="n", phase="Running"),
                )),
            ],
        ],
    ),
    "its generated claim is not made again (H14)": Effect(
        check="claim_progress",
        summary="STUCK: pod p has no claim",
        broken=LOST,
        kept=[
            [*LOST, *MADE_AGAIN, pod("p", generated="b", node="n", phase="Running")],
            [*LOST, gone(pod("p", generated="a"))],
        ],
    ),
    "its claim is not freed for the only node of the pod (H15)": Effect(
        check="claim_progress",
        summary=f"STUCK: pod p waits while {worlds.device('m', 0)} is idle",
        broken=[*ELSEWHERE, selecting("m")],
        kept=[
            [*M_TOO, claim("a"), selecting("n"), taken("a", "0", users=["p"]), selecting("n", node="n", phase="Running")],
            [  # another pod uses it
                *M_TOO,
                claim("a"),
                pod("q", claim="a"),
                taken("a", "0", users=["q"]),
                pod("q", claim="a", node="n", phase="Running"),
                selecting("m"),
            ],
            [*CLUSTER, claim("a"), selecting("nowhere")],
            [*CLUSTER, claim("a"), selecting("m")],  # node m has no device
        ],
    ),
    "the same by an affinity (H15)": Effect(
        check="claim_progress",
        summary=f"STUCK: pod p waits while {worlds.device('m', 0)} is idle",
        broken=[*ELSEWHERE, preferring("m")],
        kept=[[*CLUSTER, claim("a"), preferring("m")]],
    ),
    "its claim is allocated where it may run (H15)": Effect(
        check="claim_progress",
        summary="STUCK: pod p is not bound",
        broken=[*ELSEWHERE, selecting("n")],
        kept=[RUNS],
    ),
    "one claim in two entries, unbound (kubernetes#137897)": Effect(
        check="claim_progress",
        summary="STUCK: pod p waits while gpu.example/m/d0 is idle",
        broken=[node("m"), words.device_class(), M_TOO[-1], claim("a"), naming("a", "a")],
        kept=[
            [
                *CLUSTER,
                claim("a"),
                naming("a", "a"),
                taken("a", "0", users=["p"]),
                naming("a", "a", node="n", phase="Running"),
            ]
        ],
    ),
    "one claim in two entries, allocated (kubernetes#137897)": Effect(
        check="claim_progress",
        summary="STUCK: pod p is not bound",
        broken=[*CLUSTER, claim("a"), naming("a", "a"), taken("a", "0")],
        kept=[RUNS],
    ),
    "the status names a claim that is gone (H16)": Effect(
        check="extended_claims",
        summary="pod p names the claim c in its status, which is gone",
        broken=[*AGAIN_RUNS, extended("p", claim="c", node="n")],
        kept=[
            AGAIN_RUNS,
            # before it is bound, the status may name the claim of an attempt that has failed
            [*AGAIN, extended("p", claim="d"), extended("p", claim="c"), *AGAIN_RUNS[-2:]],
        ],
    ),
    "the status names the claim of another pod": Effect(
        check="extended_claims",
        summary="pod p names the claim e in its status, which is not its own",
        broken=[
            *OWN_RUNS,
            extended("q"),
            made("e", "1", owner="q", users=["q"]),
            extended("q", claim="e"),
            extended("q", claim="e", node="n"),
            extended("p", claim="e", node="n"),
        ],
        kept=[OWN_RUNS],
    ),
    "a claim is removed in spite of its finalizer (H20)": Effect(
        check="allocation_finalizers",
        summary="the API server removed claim a although its finalizer was stored",
        broken=[*RUNS, REMOVED],
        kept=[RUNS, [*RUNS, *ENDS]],
        cluster="local",
    ),
    "statuses that are written alternately (kubernetes#138407)": Effect(
        check="claim_controller",
        summary="pod p lost the record of x",
        broken=[*TWO, *[told(y="b"), told(x="a")] * 3, told(x="a", y="b"), *TWO_RUN],
        kept=[[*TWO, *TWO_RUN]],
    ),
    "names that are written alternately (kubernetes#138407)": Effect(
        check="claim_controller",
        summary="pod p has alternating records of device",
        broken=[
            *FROM_TEMPLATE,
            generated("b"),
            *[pod("p", generated="a"), pod("p", generated="b")] * 3,
        ],
        kept=[[*LOST, *MADE_AGAIN, pod("p", generated="b", node="n", phase="Running")]],
    ),
}  # fmt: skip

STEP: Object = {"do": "wait", "seconds": 1}
SETTINGS: Object = {
    **worlds.SETTINGS,
    "subject": {"schedulers": [{"kind": "kube-scheduler", "binary": "/bin/kube-scheduler"}]},
}
RESOURCES = [*words.RESOURCES, words.TEMPLATES]
LOST_ANSWER = building.fault(
    "lose-response", required=False, clients=["scheduler", "claim-controller"]
)


def settings(effect: Effect, history: History) -> Object:
    asks = [
        {"kind": "Pod", "name": item.object["metadata"]["name"], "extended": True}
        for item in history
        if "containers" in item.object.get("spec", {})
    ]
    traffic = {"profile": "script", "expects": [effect.check], "objects": asks, "steps": [STEP]}
    return copy.deepcopy(SETTINGS) | {"traffic": traffic}


def follow(directory: directories.RunDirectory) -> None:
    played = records.ScriptStep(step=1, text="1 s passes", begun_ns=0, ended_ns=1)
    building.write(directory.script, [played], process="script")


def judged(
    folder: pathlib.Path,
    history: History,
    made: Object,
    *,
    cluster: str = "embedded",
    faults: Sequence[plans.PlannedFault] = (),
) -> verdict_files.Judgement:
    body = recording.record(history, RESOURCES)
    phases = [
        *worlds.phases(seconds=60, healed=2.0),
        records.Phase(name="ended", ts_ns=61 * worlds.SECOND_NS),
    ]
    changes: Object = {
        "settings": made,
        "subject": "kube-scheduler",
        "expected_steps": [],
        "expected_preparations": [],
        "progress_s": 10.0,
        "resources": RESOURCES,
        "cluster": cluster,
        "cluster_profile": {"provider": cluster},
        "collects_garbage": True,
    }
    directory = building.build(
        folder / "run", "", observations=body, changes=changes, phases=phases, faults=faults
    )
    follow(directory)
    return judging.judge(directory)


@pytest.mark.parametrize("faults", [[], [LOST_ANSWER]], ids=["no faults", "faults"])
@pytest.mark.parametrize("name", EFFECTS)
def test_an_effect_is_found_in_the_record(
    name: str, faults: list[plans.PlannedFault], tmp_path: pathlib.Path
) -> None:
    effect = EFFECTS[name]
    made = settings(effect, effect.broken)
    found = judged(tmp_path, effect.broken, made, cluster=effect.cluster, faults=faults)
    assert found.verdict is INVALID, found.reason
    [result] = [item for item in found.checks if item.check == effect.check]
    assert result.verdict is INVALID, found.reason
    assert result.violations[0].summary.startswith(effect.summary)


KEPT = {
    f"{name}, {number}": (effect, history)
    for name, effect in EFFECTS.items()
    for number, history in enumerate(effect.kept)
}


@pytest.mark.parametrize("name", KEPT)
def test_a_correct_program_leaves_nothing_of_the_kind(name: str, tmp_path: pathlib.Path) -> None:
    effect, history = KEPT[name]
    made = settings(effect, history)
    found = judged(tmp_path, history, made, cluster=effect.cluster)
    assert found.verdict is VALID, found.reason
    answered = {item.check for item in found.checks} | {item.check for item in found.not_examined}
    assert effect.check in answered


# ------------------------------------------------------------------- what the script has written

SCRIPTED = {"traffic": {"profile": "script", "steps": [STEP]}}


def patched(
    folder: pathlib.Path,
    text: str,
    version: int,
    *,
    uid: str = "uid-a",
    verb: str = "patch",
    made: Object = SCRIPTED,
) -> verdict_files.Judgement:
    changes = {"settings": made, "expected_operations": ["traffic-0", "kubelet", "script"]}
    directory = building.build(folder / "run", text, changes=changes)
    call = building.invocation(0, "resourceclaims/status", "a")
    calls = [
        msgspec.structs.replace(call, verb=verb),
        building.acknowledgement(0, uid, version),
    ]
    building.write(directory.operations("script"), calls, process="script")
    follow(directory)
    return judging.judge(directory)


BY_SCRIPT = {
    "it takes a reservation away": ("claims_in_use", "p:a a+D1 a^p p>n p* a/p", 6, (3, "uid-a")),
    "it allocates a device in use": ("device_exclusivity", "b+D1 a+D1", 2, (1, "uid-b")),
}


@pytest.mark.parametrize(("check", "text", "version", "earlier"), BY_SCRIPT.values(), ids=BY_SCRIPT)
def test_what_a_script_has_patched_is_not_the_subjects(
    check: str, text: str, version: int, earlier: tuple[int, str], tmp_path: pathlib.Path
) -> None:
    found = patched(tmp_path / "by-script", text, version)
    [result] = [item for item in found.checks if item.check == check]
    assert result.verdict is VALID
    assert "1 violation by the script left out" in result.reason
    load = {"traffic": {"profile": "churn"}}
    others = {
        "earlier": patched(tmp_path / "earlier", text, earlier[0], uid=earlier[1]),
        "created": patched(tmp_path / "created", text, version, verb="create"),
        "load": patched(tmp_path / "load", text, version, made=load),
    }
    for name, judgement in others.items():
        [result] = [item for item in judgement.checks if item.check == check]
        assert result.verdict is INVALID, name


def test_a_device_that_a_script_has_moved_is_not_free(tmp_path: pathlib.Path) -> None:
    """The scheduler gives it away all the same (H2)."""
    assert patched(tmp_path, "a+D1 a-D1 a+D2 b+D2", 3).verdict is INVALID


def test_a_pod_is_stuck_although_the_script_has_written_last(tmp_path: pathlib.Path) -> None:
    """As when another client annotates the claim that PostFilter wants to free (H15)."""
    effect = EFFECTS["its claim is allocated where it may run (H15)"]
    made = settings(effect, effect.broken)
    folder = tmp_path / "run"
    assert judged(tmp_path, effect.broken, made).verdict is INVALID
    directory = directories.existing(folder)
    last = len(effect.broken) - 1
    calls = [
        msgspec.structs.replace(building.invocation(0, "resourceclaims", "a"), verb="patch"),
        building.acknowledgement(0, "uid-a", last),
    ]
    building.write(directory.operations("script"), calls, process="script")
    assert judging.judge(directory).verdict is INVALID


@pytest.mark.parametrize(
    ("step", "verdict"),
    [
        ({"do": "request", "client": "scheduler"}, INVALID),
        ({"do": "kill", "process": "scheduler"}, INVALID),
        ({"do": "request", "client": "claim-controller"}, VALID),
        ({"do": "deliver", "client": "claim-controller.2"}, VALID),
        ({"do": "pause", "process": "claim-controller"}, VALID),
    ],
)
def test_a_controller_that_the_script_holds_may_not_know_the_end_of_a_pod(
    step: Object, verdict: verdicts.Verdict, tmp_path: pathlib.Path
) -> None:
    effect = EFFECTS["claims for pods that have ended (kubernetes#141274)"]
    made = settings(effect, effect.broken)
    made["traffic"]["steps"] = [step]
    found = judged(tmp_path, effect.broken, made)
    [result] = [item for item in found.checks if item.check == effect.check]
    assert result.verdict is verdict
