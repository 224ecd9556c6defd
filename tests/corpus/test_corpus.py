"""The embedded server answers as a kube-apiserver did when the corpus was recorded.

Differences are listed with their reasons in `differences.toml`; the list has to be complete and may
not name a case that matches.
"""

import collections
import pathlib
import tomllib
from collections.abc import Iterator

import pytest

from harness.client import kubeconfigs
from tests.corpus import replaying, wires
from tests.support import api_servers

GROUPS = collections.defaultdict(list)
for _case in replaying.cases():
    GROUPS[_case["group"]].append(_case)
_LIST = pathlib.Path(__file__).with_name("differences.toml")
KNOWN = tomllib.loads(_LIST.read_text(encoding="utf-8"))["difference"]
CASES = {case for item in KNOWN for case in item["cases"]}
ALWAYS = {case for item in KNOWN if not item.get("sometimes") for case in item["cases"]}
"""The others match if another event happens late enough."""


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kubeconfigs.Endpoint]:
    folder = tmp_path_factory.mktemp("server")
    process = api_servers.start(folder)
    yield kubeconfigs.load(folder / "plain")
    process.kill()


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_every_case_matches_but_for_the_known_differences(
    group: str, endpoint: kubeconfigs.Endpoint
) -> None:
    results = {
        item.case["id"]: item.differences
        for item in replaying.replay(wires.Wire(endpoint), GROUPS[group])
    }
    differing = {case: found for case, found in results.items() if found}
    unknown = {case: found for case, found in differing.items() if case not in CASES}
    assert not unknown, f"{len(unknown)} cases differ and are not in {_LIST.name}"
    assert results.keys() & ALWAYS <= differing.keys(), "cases of the list match: take them out"


def test_the_list_names_cases_of_the_corpus_with_reasons() -> None:
    assert {case["id"] for cases in GROUPS.values() for case in cases} >= CASES
    assert all(item["reason"] for item in KNOWN)
