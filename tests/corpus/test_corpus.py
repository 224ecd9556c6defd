"""The embedded server answers as a kube-apiserver did when the corpus was recorded.

Differences are listed with their reasons in `differences.toml`; the list has to be complete and may
not name a case that matches.
"""

import collections
from collections.abc import Iterator

import pytest

from harness.client import kubeconfigs
from tests.corpus import differences, replaying, servers, wires

GROUPS = collections.defaultdict(list)
for _case in replaying.cases():
    GROUPS[_case["group"]].append(_case)
REASONS = differences.reasons()


@pytest.fixture(scope="module")
def endpoint() -> Iterator[kubeconfigs.Endpoint]:
    with servers.running() as made:
        yield made


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_every_case_matches_but_for_the_known_differences(
    group: str, endpoint: kubeconfigs.Endpoint
) -> None:
    results = {
        item.case["id"]: item for item in replaying.replay(wires.Wire(endpoint), GROUPS[group])
    }
    differing = {
        case: item.judgement.structure for case, item in results.items() if not item.matches
    }
    unknown = {case: found for case, found in differing.items() if case not in REASONS}
    assert not unknown, f"{len(unknown)} cases differ and are not in {differences.LIST.name}"
    settled = results.keys() & differences.always()
    assert settled <= differing.keys(), "cases of the list match: take them out of it"


def test_the_list_names_cases_of_the_corpus() -> None:
    ids = {case["id"] for cases in GROUPS.values() for case in cases}
    assert REASONS.keys() <= ids
