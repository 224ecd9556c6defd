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
History = Sequence[recording.Commit]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Effect:
    """The record of a run that shows a hazard, and of runs that do not show it."""

    check: str
    summary: str
    """Begin of the summary of its violation."""
    broken: History
    kept: Sequence[History]


def node(name: str) -> recording.Commit:
    return words.changed(words.node(name), "metadata", "labels", to={"node": name})


def on_n(commit: recording.Commit) -> recording.Commit:
    """The same version; its allocation, if it has one, admits node n only."""
    if "allocation" not in commit.object["status"]:
        return commit
    return words.changed(commit, "status", "allocation", "nodeSelector", to=words.only("n"))


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


def selecting(where: str, *, node: str = "", phase: str = "Pending") -> recording.Commit:
    """A version of pod p, which names claim a and runs on one node only."""
    return words.changed(
        pod("p", claim="a", node=node, phase=phase), "spec", "nodeSelector", to={"node": where}
    )


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
ELSEWHERE = [*M_TOO, claim("a"), taken("a", "0")]

EFFECTS: dict[str, Effect] = {
    "claims for pods that have ended (kubernetes#141274)": Effect(
        check="claim_controller",
        summary="pod p got a claim after its end",
        broken=[*CLUSTER, *finished("p"), *finished("q")],
        kept=[[*CLUSTER, *finished("p")[:-1], *finished("q")[:-1]]],
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


def settings(effect: Effect) -> Object:
    traffic = {"profile": "script", "expects": [effect.check], "steps": [STEP]}
    return copy.deepcopy(SETTINGS) | {"traffic": traffic}


def follow(directory: directories.RunDirectory) -> None:
    played = records.ScriptStep(step=1, text="1 s passes", begun_ns=0, ended_ns=1)
    building.write(directory.script, [played], process="script")


def judged(
    folder: pathlib.Path,
    history: History,
    made: Object,
    *,
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
        "cluster": "embedded",
        "cluster_profile": {"provider": "embedded"},
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
    made = settings(effect)
    found = judged(tmp_path, effect.broken, made, faults=faults)
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
    made = settings(effect)
    found = judged(tmp_path, history, made)
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
    calls = [msgspec.structs.replace(call, verb=verb), building.acknowledgement(0, uid, version)]
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


def test_a_pod_is_stuck_although_the_script_has_written_last(tmp_path: pathlib.Path) -> None:
    """As when another client annotates the claim that PostFilter wants to free (H15)."""
    effect = EFFECTS["its claim is allocated where it may run (H15)"]
    made = settings(effect)
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
    made = settings(effect)
    made["traffic"]["steps"] = [step]
    found = judged(tmp_path, effect.broken, made)
    [result] = [item for item in found.checks if item.check == effect.check]
    assert result.verdict is verdict
