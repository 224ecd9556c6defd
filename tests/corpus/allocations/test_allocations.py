"""Recorded allocations of a real kube-scheduler 1.36.2, decided again in this process.

By the default subject, which differs where the release is known to be wrong, and as the release.
"""

import collections
import functools
import json
import lzma
import pathlib
import tomllib
from collections.abc import Callable
from typing import Any

import pytest

from harness.apiserver.validation import dra_rules
from tests.corpus.allocations import agreeing, deciding

Object = dict[str, Any]
CORPUS = pathlib.Path(__file__).with_name("allocations.jsonl.xz")
CASES_MIN = 859
RECORDED_WITH = "1.36.2"
"""The release that made the recordings, apart from those that name another one."""
EXPLAINED = tomllib.loads(pathlib.Path(__file__).with_name("differences.toml").read_text())
DIFFERENCES = {case: found for found in EXPLAINED["difference"] for case in found["cases"]}
OF_ANY_RELEASE = {case for case, found in DIFFERENCES.items() if found.get("of_any_release")}


@functools.cache
def groups() -> dict[str, list[Object]]:
    found: dict[str, list[Object]] = collections.defaultdict(list)
    with lzma.open(CORPUS, "rt") as lines:
        for case in map(json.loads, lines):
            found[case["group"]].append(case)
    return found


def found_differences(cases: list[Object], release: str | None) -> dict[str, list[str]]:
    """The differences by name of the case; with a release, a case is decided as by that which it
    was recorded with.
    """
    found = {}
    for case in cases:
        like = case.get("recordedWith", release) if release else None
        differences = agreeing.differences(case, deciding.Case(case, like).decide())
        if differences:
            found[case["name"]] = differences
    return found


@pytest.mark.parametrize("group", sorted(groups()))
@pytest.mark.parametrize(
    ("release", "table"),
    [(None, {*DIFFERENCES}), (RECORDED_WITH, OF_ANY_RELEASE)],
)
def test_a_group_is_decided_as_recorded(
    group: str,
    release: str | None,
    table: set[str],
    record_property: Callable[[str, object], None],
) -> None:
    """Each difference is in the table, and each entry of the table is still a difference."""
    cases = groups()[group]
    found = found_differences(cases, release)
    record_property("as recorded", f"{len(cases) - len(found)} of {len(cases)}")
    known = table & {case["name"] for case in cases}
    unexplained = {name: found[name] for name in found.keys() - known}
    assert not unexplained
    assert not known - found.keys(), "the table explains what is as recorded"


def test_the_corpus_is_whole_and_the_tables_name_what_is_in_it() -> None:
    names = {case["name"] for cases in groups().values() for case in cases}
    assert len(names) == CASES_MIN
    assert DIFFERENCES.keys() <= names


def test_our_api_server_accepts_every_selector() -> None:
    refused = [case["name"] for case in groups()["cel-zoo"] if any(map(is_refused, case["claims"]))]
    assert refused == []


def is_refused(claim: Object) -> bool:
    return any(
        list(dra_rules.SELECTORS(request["exactly"].get("selectors"), ""))
        for request in json.loads(json.dumps(claim).replace("{{p}}", ""))["spec"]["devices"][
            "requests"
        ]
    )


def test_a_wrong_outcome_is_a_difference() -> None:
    """The comparison can fail: no device, another one, another node, another configuration."""
    case = next(item for item in groups()["config"] if item["name"] == "config-admin")
    right = deciding.Case(case).decide()
    assert agreeing.differences(case, right) == []
    for wrong in (
        json.loads(json.dumps(right).replace('"d0"', '"d1"')),
        json.loads(json.dumps(right).replace("FromClass", "FromClaim")),
        {"pods": {"p": right["pods"]["p"] | {"node": "elsewhere"}}},
        {"pods": {"p": {"unschedulable": "cannot allocate all claims"}}},
    ):
        assert agreeing.differences(case, wrong)
