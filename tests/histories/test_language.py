"""The language says what it is meant to say: the judges' tests are worth no more than this."""

import pathlib
from typing import Any

import msgspec
import pytest

from harness.checks import judging, verdicts
from harness.history import records
from tests.histories import building, language
from tests.histories.words import fault_words


def _said(text: str) -> list[str]:
    lines = []
    for record in language.observe(text):
        match record:
            case records.Observation():
                lines.append(f"{record.type} {record.resource} {record.resource_version}")
            case records.Listed():
                lines.append(f"{record.purpose} {record.resource} {record.count}")
            case records.Gap():
                lines.append(f"gap after {record.after_resource_version}")
            case _:
                pytest.fail(f"unexpected {record}")
    return lines


FIRST = ["first resourceclaims 0", "first pods 0"]


def test_commits_count_resource_versions_from_one() -> None:
    assert _said("a+D1 p* . a~") == [
        *FIRST,
        "ADDED resourceclaims 1",
        "ADDED pods 2",
        "DELETED resourceclaims 4",
        "final resourceclaims 0",
        "final pods 1",
        "FINAL pods 2",
    ]


def test_commits_in_a_gap_are_not_seen_but_listed_afterwards() -> None:
    assert _said("a+D1 [ a-D1 b+D1 p* ] b~") == [
        *FIRST,
        "ADDED resourceclaims 1",
        "gap after 1",
        "ADDED pods 4",
        "relist resourceclaims 2",
        "LISTED resourceclaims 2",
        "LISTED resourceclaims 3",
        "DELETED resourceclaims 5",
        "final resourceclaims 1",
        "FINAL resourceclaims 2",
        "final pods 1",
        "FINAL pods 4",
    ]


def test_an_open_gap_is_never_listed_again() -> None:
    assert "relist resourceclaims 1" not in _said("a+D1 [ a-D1")
    assert "gap after 1" in _said("a+D1 [ a-D1")


def test_objects_look_like_those_of_the_api() -> None:
    seen = language.observe("a=D1!,D2% a^p", names={"D1": "gpu-0"})[3]
    assert isinstance(seen, records.Observation)
    assert msgspec.json.decode(seen.object) == {
        "metadata": {
            "name": "a",
            "namespace": "tests",
            "uid": "uid-a",
            "resourceVersion": "2",
            "finalizers": ["resource.kubernetes.io/delete-protection"],
        },
        "status": {
            "allocation": {
                "devices": {
                    "results": [
                        {
                            "request": "device",
                            "driver": "gpu.example",
                            "pool": "pool",
                            "device": "gpu-0",
                            "adminAccess": True,
                        },
                        {
                            "request": "device",
                            "driver": "gpu.example",
                            "pool": "pool",
                            "device": "D2",
                            "shareID": "share",
                        },
                    ]
                }
            },
            "reservedFor": [{"resource": "pods", "name": "p", "uid": "uid-p"}],
        },
    }


def test_a_name_that_is_reborn_has_another_uid() -> None:
    uids = [uid for _, _, uid, _ in language.created("a+D1 a~ a+D1 a~ a=")]
    assert uids == ["uid-a", "uid-a-2", "uid-a-3"]


def test_many_other_commits_are_one_word() -> None:
    [commit] = [item for item in language.commits("a+D1 .40 b+D1") if item.name == "b"]
    assert commit.rv == 42


FAULTS = {
    "a+D1 . /lose-response:a": ("a", 1, 2.5, 2.5),
    "a+D1 a-D1 /delay-events:a>9 .": ("a", 2, 2.5, 9.5),
    "a+D1 /delay-events:a> .": ("a", 1, 1.5, None),
    ". . /delay-request:b<1 b+D1": ("b", 0, 1.5, 2.5),
    ". /stale-list:@1": ("", 1, 1.5, 1.5),
}


@pytest.mark.parametrize(("text", "expected"), FAULTS.items())
def test_a_fault_hits_the_newest_version_between_two_commits(
    text: str, expected: tuple[str, int, float, float | None]
) -> None:
    [found] = fault_words.applications(text)
    begun, ended = (
        None if ns is None else (ns - language.START_NS) / language.COMMIT_NS
        for ns in (found.begun_ns, found.ended_ns)
    )
    assert (found.name, found.resource_version, begun, ended) == expected


def test_a_fault_of_a_process_hits_no_claim() -> None:
    [found] = fault_words.applications("a+D1 /kill-process:=scheduler>3")
    assert (found.process, found.client, found.resource) == ("scheduler", "", "")


def test_faults_are_neither_commits_nor_observed() -> None:
    assert language.observe("a+D1 /lose-response:a b+D2") == language.observe("a+D1 b+D2")


@pytest.mark.parametrize(
    "text", ["/", "/lose-response", "/lose-response:", "/x:a<", "/x:@a", "/x:a>b"]
)
def test_what_is_no_fault_is_refused(text: str) -> None:
    with pytest.raises(language.LanguageError):
        language.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "a+",
        "a+D",
        "a+D1?",
        "A+D1",
        "a~D1",
        "a^",
        "p*x",
        "p:",
        "p>",
        "p$1",
        "a|",
        "a<",
        "]",
        "[ [",
        "[ ] ]",
        "+D1",
    ],
)
def test_what_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(language.LanguageError):
        language.parse(text)


@pytest.mark.parametrize("text", ["a~", "a/p", "a+D1 a-D2", "a+D1 a-D1 a-D1", "a= a~ a~"])
def test_what_cannot_happen_is_refused(text: str) -> None:
    with pytest.raises(language.LanguageError):
        language.observe(text)


def test_a_built_directory_is_sound(tmp_path: pathlib.Path) -> None:
    judgement = judging.judge(building.build(tmp_path / "run", "a+D1 a^p p* a-D1 b+D1"))
    assert [item.name for item in judgement.certificate if not item.ok] == []
    assert judgement.verdict is verdicts.Verdict.VALID


def test_so_is_one_with_faults(tmp_path: pathlib.Path) -> None:
    text = "a+D1 /lose-response:a b+D2 /pause-process:=scheduler>9"
    judgement = judging.judge(building.build(tmp_path / "run", text))
    assert judgement.verdict is verdicts.Verdict.VALID
    assert [item.reason for item in judgement.certificate if item.name == "faults"] == [
        "lose-response: once, pause-process: once; healed"
    ]


def _documents(text: str, resource: str) -> list[dict[str, Any]]:
    return [
        msgspec.json.decode(item.object)
        for item in language.observe(text)
        if isinstance(item, records.Observation)
        and item.resource == resource
        and item.type != "FINAL"
    ]


def test_pods_name_claims_are_bound_and_end() -> None:
    pods = _documents("p:a,? p?b p>n p* p$ p~ p:a", "pods")
    entries = [
        {"name": "a", "resourceClaimName": "a"},
        {"name": "device", "resourceClaimTemplateName": "template"},
    ]
    assert pods[0]["spec"] == {"resourceClaims": entries}
    assert pods[4]["spec"] == {"resourceClaims": entries, "nodeName": "n"}
    assert pods[4]["status"] == {
        "phase": "Succeeded",
        "resourceClaimStatuses": [{"name": "device", "resourceClaimName": "b"}],
    }
    assert [pod["metadata"]["uid"] for pod in pods[-2:]] == ["uid-p", "uid-p-2"]


def test_claims_are_generated_reserved_for_a_uid_and_deleted() -> None:
    claims = _documents("p:?x a<p:x a+D1 a^p a^p#9 a/p a! b|D2", "resourceclaims")
    assert claims[0]["metadata"]["annotations"] == {"resource.kubernetes.io/pod-claim-name": "x"}
    assert claims[0]["metadata"]["ownerReferences"] == [
        {"kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    ]
    assert [len(claim["status"].get("reservedFor", ())) for claim in claims] == [
        0,
        0,
        1,
        2,
        1,
        1,
        0,
    ]
    assert claims[5]["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": "uid-9"}]
    assert ["deletionTimestamp" in claim["metadata"] for claim in claims] == [False] * 5 + [
        True,
        False,
    ]
    assert ["finalizers" in claim["metadata"] for claim in claims] == [False] + [True] * 5 + [False]
