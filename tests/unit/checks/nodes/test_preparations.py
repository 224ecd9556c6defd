"""Preparations are counted, and their journal is part of the certificate."""

import json
import pathlib
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import judging, protocol, verdict_files, verdicts
from harness.checks.nodes import preparations, started_containers
from harness.history import directories, histories, records
from harness.report import publishing
from tests.histories import building, claim_judging, damages, judged_runs, language

TEXT = "a+D1 a^p p* b+D2 a-D1 b^q q* c+D1"


def identity(claim: str, at: int, *, node: str = "worker-0") -> dict[str, Any]:
    return {
        "node": node,
        "namespace": language.NAMESPACE,
        "claim": claim,
        "claim_uid": f"uid-{claim}",
        "devices": ["gpu.example/p/d"],
        "pod": "p",
        "pod_uid": "uid-p",
        "begun_ns": language.at(at),
        "ts_ns": language.at(at + 1),
    }


def refused(claim: str, at: int, reason: str) -> records.PrepareFailed:
    return records.PrepareFailed(
        **identity(claim, at), call="prepare", reason=reason, message="in words"
    )


BODY = [
    records.Prepared(**identity("a", 0)),
    refused("b", 1, "DeviceHeld"),
    refused("b", 2, "DeviceHeld"),
    refused("c", 2, "NotReserved"),
    records.Unprepared(**identity("a", 3)),
    records.Prepared(**identity("b", 4)),
    records.Prepared(**identity("b", 5, node="worker-1")),
    records.Unprepared(**identity("b", 6)),
    records.Unprepared(**identity("killed", 7)),  # its kubelet could not write that it prepared it
]


def test_the_totals_are_figures_and_in_the_report(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", TEXT, preparations=BODY)
    judgement = judging.judge(directory)
    assert judgement.verdict is verdicts.Verdict.VALID
    totals = judgement.figures.prepared_claims
    assert totals is not None
    assert (totals.prepared, totals.unprepared, totals.still_prepared) == (3, 3, 1)
    assert totals.failed == {"prepare DeviceHeld": 2, "prepare NotReserved": 1}
    verdict_files.write(directory, judgement)
    publishing.publish(judging.examine(directory))
    page = directory.report.read_text()
    assert "3 prepared, 3 unprepared, 1 still prepared at the end." in page
    assert '<tr><td>prepare DeviceHeld</td><td class="n">2</td></tr>' in page


def test_a_killed_kubelet_may_leave_its_journal_open(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", TEXT, preparations=BODY)
    damages.no_trailer(damages.preparations)(directory)
    assert judging.judge(directory).verdict is verdicts.Verdict.UNKNOWN
    damages.killed(building.KUBELET)(directory)
    judgement = judging.judge(directory)
    [item] = [item for item in judgement.certificate if item.name == "preparations"]
    assert item.ok


def test_a_run_before_there_was_such_a_journal_is_judged_without_it(tmp_path: pathlib.Path) -> None:
    directory = building.build(tmp_path / "run", TEXT)
    damages.missing(damages.preparations)(directory)
    text = directory.plan.read_text().replace('"expected_preparations": [\n    "kubelet"\n  ],', "")
    directory.plan.write_text(text)
    assert histories.load(directory.path).expected_preparations() == []
    judgement = judging.judge(directory)
    assert judgement.verdict is verdicts.Verdict.VALID
    assert judgement.figures.prepared_claims is None


def _held_by(claim: str, at: int) -> records.PrepareFailed:
    message = f"device gpu.example/p/d is prepared for claim {UIDS[claim]}"
    return records.PrepareFailed(
        **identity("later", at), call="prepare", reason="DeviceHeld", message=message
    )


UIDS = {name: f"00000000-0000-4000-8000-00000000000{number}" for number, name in enumerate("ab")}


def _of(name: str, at: int) -> dict[str, Any]:
    return identity(name, at) | {"claim_uid": UIDS[name]}


def _kept(tmp_path: pathlib.Path, *body: records.Body) -> list[str]:
    directory = building.build(tmp_path / "run", TEXT, preparations=list(body))
    return [item.name for item in _read(directory).kept]


def _read(directory: directories.RunDirectory) -> preparations.Reading:
    history = histories.load(directory.path)
    return preparations.Reading.from_evidence(protocol.Evidence(history.plan, history=history))


def test_a_claim_that_only_the_driver_knows_of_is_kept(tmp_path: pathlib.Path) -> None:
    failed = records.PrepareFailed(**_of("a", 0), call="prepare", reason="Failed", message="m")
    ended = records.Unprepared(**_of("a", 2))
    assert _kept(tmp_path, failed, ended, _held_by("a", 5)) == ["a"]


def test_a_driver_that_refuses_most_calls_is_a_reason(tmp_path: pathlib.Path) -> None:
    refused = records.PrepareFailed(**_of("b", 3), call="prepare", reason="Failed", message="full")
    kept = records.PrepareFailed(**_of("b", 3), call="unprepare", reason="Failed", message="")
    begun = records.Prepared(**_of("a", 0))
    for number, (body, reason) in enumerate(
        [
            ([begun, refused], ""),
            ([begun, refused, kept], ""),
            ([begun, refused, refused], "prepared 1 claims and refused 2 calls, the last one"),
            ([refused], "because of Failed: full"),
        ]
    ):
        directory = building.build(tmp_path / str(number), TEXT, preparations=body)
        found = _read(directory).why_not_prepared
        assert reason in found
        assert bool(reason) == bool(found)


def test_a_reboot_ends_the_preparations_of_its_node_once(tmp_path: pathlib.Path) -> None:
    found_at = [
        records.NodeRebooted(node="worker-0", boot_id="b", ts_ns=language.at(at)) for at in (3, 9)
    ]
    begun = [records.Prepared(**identity("a", at)) for at in (0, 5)]
    other = records.Prepared(**identity("b", 0, node="worker-1"))
    body = [begun[0], other, found_at[0], begun[1], found_at[1]]
    reading = _read(building.build(tmp_path / "run", TEXT, preparations=body))
    ends = [(item.name, item.until_ns) for item in reading.prepared]
    assert ends == [("a", language.at(3)), ("b", None), ("a", None)]


def test_a_device_that_others_may_use_is_not_prepared_alone(tmp_path: pathlib.Path) -> None:
    devices = ["gpu.example/p/d", "gpu.example/p/e"]
    body = [records.Prepared(**identity("a", 0) | {"devices": devices}, shared=devices[:1])]
    [found] = _read(building.build(tmp_path / "run", TEXT, preparations=body)).prepared
    assert found.exclusive == {devices[1]}


def test_a_device_that_was_refused_in_time_is_not_kept(tmp_path: pathlib.Path) -> None:
    begun, ended = records.Prepared(**_of("a", 0)), records.Unprepared(**_of("a", 7))
    assert _kept(tmp_path / "1", begun, _held_by("a", 3), ended) == []
    assert _kept(tmp_path / "2", begun, _held_by("a", 3)) == []
    assert _kept(tmp_path / "3", _held_by("b", 3)) == []


VALID, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.INVALID
PLAN = building.plan(
    settings={
        "claim": {"parameters": {"who": "{claim}"}},
        "pools": {"device_class": {"parameters": {"mode": "shared"}}},
    }
)
POD = {"name": "p", "namespace": "tests", "uid": "uid-of-p", "resourceVersion": "1"}
OWN = {"user_who": "c-1", "admin_mode": "shared", "claim_c_1_gpu": "true"}


def observed(resource: str, document: Any) -> records.Observation:
    return language.observation(resource, 1, document, "ADDED")


def claim(name: str, **more: Any) -> records.Observation:
    opaque = {"driver": "gpu.example", "parameters": {"who": name, **more}}
    devices = {"requests": [{"name": "gpu"}], "config": [{"opaque": opaque}]}
    meta = {"name": name, "namespace": "tests", "uid": f"uid-of-{name}", "resourceVersion": "1"}
    return observed("resourceclaims", {"metadata": meta, "spec": {"devices": devices}})


def pod(**used: str) -> records.Observation:
    """Pod p, whose container uses all of claim c-1, or a request of it."""
    container = {"name": "work", "resources": {"claims": [{"name": "entry", **used}]}}
    entries = [{"name": "entry", "resourceClaimName": "c-1"}]
    return observed(
        "pods", {"metadata": POD, "spec": {"containers": [container], "resourceClaims": entries}}
    )


def started(**environment: str) -> records.ContainerStarted:
    return records.ContainerStarted(
        node="worker-0",
        namespace="tests",
        pod="p",
        pod_uid="uid-of-p",
        container="work",
        environment=environment,
        ts_ns=2,
    )


def answer(
    judge: protocol.Check, observations: Sequence[records.Body], ran: list[Any], *prepared: Any
) -> verdicts.Answer:
    reading = preparations.Reading()
    reading.prepared = list(prepared)
    for item in ran:
        reading.add(item)
    given = {preparations.Reading: reading}
    found = judge.judge(claim_judging.evidence(observations, [judge], of=PLAN, given=given))
    assert isinstance(found, verdicts.Answer)
    return found


def check(*observations: records.Body, ran: list[Any]) -> verdicts.CheckResult:
    return judged_runs.examined(answer(started_containers.CONTAINER_PARAMETERS, observations, ran))


def test_a_pod_and_its_claim_may_be_in_the_final_lists_only() -> None:
    lists = [msgspec.structs.replace(item, type="FINAL") for item in (claim("c-1"), pod())]
    assert check(*lists, ran=[started(**OWN)]).verdict is VALID
    more = check(*lists, ran=[started(**OWN, user_more="1")])
    assert (more.verdict, more.violation_count) == (INVALID, 1)
    assert more.reason == "container work of pod p: user_more is '1', not None"


def test_a_container_of_which_nothing_or_not_all_was_observed_is_not_examined() -> None:
    def with_another(value: Any) -> None:
        value["spec"]["resourceClaims"].append({"name": "other", "resourceClaimName": "d"})
        value["spec"]["containers"][0]["resources"]["claims"].append({"name": "other"})

    fine, both = [claim("c-1"), pod()], language.edited(pod(), with_another)
    stranger = msgspec.structs.replace(started(**OWN), pod_uid="uid-of-q")
    for body, ran, examined in (
        (fine, [started(**OWN, HOME="/")], 1),
        (fine, [started(**OWN), stranger], 1),
        ([claim("c-1"), both], [started(**OWN)], 0),
        (fine, [], 0),
    ):
        result = check(*body, ran=ran)
        assert result.verdict is (VALID if examined == len(ran) > 0 else verdicts.Verdict.UNKNOWN)
        assert (result.examined_count, result.violation_count) == (examined, 0)


# ------------------------------------------------------------------- prepared in time


def use(name: str, *times_ns: int, node: str = "worker-0") -> preparations.Preparation:
    from_ns, until_ns = [*times_ns, None][:2]
    return preparations.Preparation(
        node=node,
        namespace="tests",
        name=name,
        uid=f"uid-of-{name}",
        exclusive=frozenset(),
        from_ns=from_ns or 0,
        until_ns=until_ns,
    )


FAILED = records.ContainersFailed(
    node="worker-0",
    namespace="tests",
    pod="p",
    pod_uid="uid-of-p",
    reason="CreateContainerError",
    message="unresolvable CDI device",
    ts_ns=3,
)


@pytest.mark.parametrize(
    ("prepared", "ran", "wrong"),
    [
        ([use("c-1", 2)], [started()], []),
        ([use("c-1", 0, 1), use("c-1", 2, 3)], [started()], []),
        (
            [],
            [started()],
            ["Container work of pod p was started while claim c-1 was not prepared on worker-0"],
        ),
        ([use("c-1", 3), use("c-2", 1)], [started()], ["was not prepared on worker-0"]),
        ([use("c-1", 0, 2), use("c-1", 1, node="m")], [started()], ["was not prepared"]),
        ([use("c-1", 2)], [started(), FAILED], ["not started on worker-0: unresolvable CDI"]),
        ([use("c-1", 2)], [FAILED], ["not started on worker-0"]),
    ],
)
def test_a_container_starts_while_its_claim_is_prepared_on_its_node(
    prepared: list[preparations.Preparation], ran: list[Any], wrong: list[str]
) -> None:
    judge, seen = started_containers.PREPARED_CONTAINERS, [claim("c-1"), pod()]
    found = judged_runs.examined(answer(judge, seen, ran, *prepared))
    assert (found.verdict, found.examined_count) == (INVALID if wrong else VALID, len(ran))
    assert len(found.violations) == len(wrong)
    assert all(words in one.text for words, one in zip(wrong, found.violations, strict=True))
    stranger = msgspec.structs.replace(started(), pod_uid="uid-of-q")
    assert isinstance(answer(judge, seen, [stranger], *prepared), verdicts.NotExamined)


# ------------------------------------------------------------------- what is expected


def test_parameters_that_are_no_texts_are_expected_as_json() -> None:
    given = claim("c-1", sharing={"b": 1, "a": [True]})
    told = started(**OWN, user_sharing='{"a":[true],"b":1}')
    assert check(given, pod(), ran=[told]).verdict is VALID
    told = started(**OWN, user_sharing="{'b': 1, 'a': [True]}")
    assert check(given, pod(), ran=[told]).verdict is INVALID


def allocated(*results: tuple[str, str], config: list[Any]) -> records.Observation:
    """Claim c-1 with two requests, of two drivers: `results` are driver and request."""
    requests = [{"name": "gpu"}, {"name": "nic"}]
    granted = [{"driver": d, "pool": "p", "device": "d", "request": r} for d, r in results]
    of_class = {"source": "FromClass", "opaque": {"driver": "nic", "parameters": {"mtu": 9000}}}
    own = {"source": "FromClaim", "opaque": {"driver": "nic", "parameters": {"route": "r"}}}
    allocation = {"devices": {"results": granted, "config": [of_class, own]}}
    meta = {"name": "c-1", "namespace": "tests", "uid": "u", "resourceVersion": "1"}
    spec = {"devices": {"requests": requests, "config": config}}
    return observed(
        "resourceclaims", {"metadata": meta, "spec": spec, "status": {"allocation": allocation}}
    )


CONFIG = [
    {"requests": ["gpu/large"], "opaque": {"driver": "gpu", "parameters": {"size": "l"}}},
    {"requests": ["gpu/small"], "opaque": {"driver": "gpu", "parameters": {"size": "s"}}},
    {"opaque": {"driver": "nic", "parameters": {"route": "r"}}},
]
GRANTED = allocated(("gpu", "gpu/small"), ("nic", "nic"), config=CONFIG)
OF_GPU = {"user_size": "s", "claim_c_1_gpu": "true"}
OF_NIC = {"user_route": "r", "admin_mtu": "9000", "claim_c_1_nic": "true"}


@pytest.mark.parametrize(
    ("used", "wanted"),
    [({}, OF_GPU | OF_NIC), ({"request": "gpu"}, OF_GPU), ({"request": "nic"}, OF_NIC)],
)
def test_only_the_requests_of_the_container_and_what_is_for_their_drivers(
    used: dict[str, str], wanted: dict[str, str]
) -> None:
    wanted = wanted | {"admin_mode": "shared"}
    for environment, verdict in ((wanted, VALID), (wanted | {"user_size": "l"}, INVALID)):
        result = check(GRANTED, pod(**used), ran=[started(**environment)])
        assert result.verdict is verdict, result.reason


def test_a_claim_is_judged_by_the_devices_that_it_had() -> None:
    document = json.loads(bytes(GRANTED.object)) | {"status": {}}
    freed = observed("resourceclaims", document)
    told = started(**OF_GPU, **OF_NIC, admin_mode="shared")
    assert check(GRANTED, pod(), freed, ran=[told]).verdict is VALID


def test_a_claim_that_is_made_again_has_nothing_of_the_one_before() -> None:
    assert check(GRANTED, claim("c-1"), pod(), ran=[started(**OWN)]).verdict is VALID


def pod_of_resource(claim: str, node: str) -> records.Observation:
    """A pod whose container `work` has the request `gpu` of a claim of its scheduler."""
    mapped = [("work", "gpu"), ("other", "nic")]
    mappings = [{"containerName": name, "requestName": request} for name, request in mapped]
    status = {"resourceClaimName": claim, "requestMappings": mappings}
    return observed(
        "pods",
        {
            "metadata": POD,
            "spec": {"containers": [{"name": "work"}], "nodeName": node},
            "status": {"extendedResourceClaimStatus": status},
        },
    )


def test_containers_have_what_the_pod_was_bound_with_for_its_resources() -> None:
    """Neither the claim of an attempt before it, nor one that was named later (H16)."""
    named = [("c-0", ""), ("c-1", "worker-0"), ("c-2", "worker-0")]
    seen = [GRANTED, *(pod_of_resource(*item) for item in named)]
    told = started(**OF_GPU, admin_mode="shared")
    assert check(*seen, ran=[told]).verdict is VALID
    assert check(*seen, ran=[started()]).verdict is INVALID
