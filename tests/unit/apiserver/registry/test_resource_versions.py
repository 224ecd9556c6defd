"""One integer counts all commits; who writes against an old version is refused; what changes
nothing is no commit.
"""

from typing import Any

import pytest

from harness.apiserver.registry import preconditions
from harness.apiserver.scheme import resources

R = resources


def config(name: str = "one", **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


def test_one_integer_counts_the_commits_of_every_resource(store: Any) -> None:
    before = store.resource_version
    made = [
        store.create(R.CONFIGMAPS, "default", config()),
        store.create(R.NODES, "", {"metadata": {"name": "node"}}),
        store.create(R.LEASES, "default", {"metadata": {"name": "lease"}, "spec": {}}),
        store.update(R.CONFIGMAPS, "default", "one", config(a="b")),
        store.delete(R.NODES, "", "node")[0],
    ]
    assert [stored.resource_version for stored in made] == [before + n for n in range(1, 6)]
    assert store.resource_version == before + 5


# ---------------------------------------------------------------- creation


def test_a_generated_name_that_is_taken_is_drawn_again(
    store: Any, refuses: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter(["taken", "taken", "free", *["taken"] * 100])
    monkeypatch.setattr(preconditions, "generated", lambda base, stream: next(drawn))
    for expected in ("taken", "free"):
        made = store.create(R.CONFIGMAPS, "default", {"metadata": {"generateName": "b"}})
        assert made.name == expected
    with refuses(409, "AlreadyExists"):
        store.create(R.CONFIGMAPS, "default", {"metadata": {"generateName": "b"}})


# ---------------------------------------------------------------- updates


def test_an_update_creates_what_some_kinds_miss(live: Any) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    lease = {"metadata": {"name": "a", "resourceVersion": "7"}, "spec": {"holderIdentity": "me"}}
    assert live.call("PUT", f"{leases}/a?dryRun=All", lease)[0] == 201
    assert live.call("GET", f"{leases}/a")[0] == 404
    status, made = live.call("PUT", f"{leases}/a", lease)
    assert (status, made["spec"]["holderIdentity"]) == (201, "me")
    assert live.call("PUT", f"{leases}/a", made)[0] == 200
    assert live.call("PUT", f"{leases}/b", made)[0] == 400, "another name"
    foreign = {"metadata": {"name": "b", "uid": "u"}}
    status, refused = live.call("PUT", f"{leases}/b", foreign)
    assert (status, refused["reason"]) == (409, "Conflict")
    status, _ = live.call(
        "PUT", "/api/v1/namespaces/default/configmaps/a", {"metadata": {"name": "a"}}
    )
    assert status == 404, "config maps are created by a POST only"


def test_a_version_that_is_given_at_creation_is_refused_by_the_storage(live: Any) -> None:
    configmaps = "/api/v1/namespaces/default/configmaps"

    def create(name: str, version: str = "1", query: str = "") -> int:
        document = {"metadata": {"name": name, "resourceVersion": version}}
        status: int = live.call("POST", configmaps + query, document)[0]
        return status

    assert create("c", query="?dryRun=All") == 201, "a dry run does not reach the storage"
    assert create("c") == 500
    assert create("Not A Name") == 422, "the rules come first"
    assert [create(f"c{n}", text) for n, text in enumerate(("", "0", "00", "abc"))] == [201] * 4
