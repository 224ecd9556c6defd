"""Changes of pools on a real store: what the API server has at each moment, and the journal."""

import collections
import json
import pathlib
from typing import Any

import pytest

from harness import clocks, concurrency, errors
from harness.client import apis
from harness.cluster.driver import driver_settings
from harness.cluster.pool_changes import pool_changers, pool_changing, pool_states
from harness.history import journal_reader, records
from harness.model import naming
from harness.scenario import pool_changes
from harness.seeds import Seeds
from tests.support import api_objects, local_servers

Object = dict[str, Any]
RUN = "r1"


@pytest.fixture
def server() -> local_servers.LocalServer:
    return local_servers.LocalServer()


@pytest.fixture
def api(server: local_servers.LocalServer) -> apis.Api:
    return apis.Api(server)


def publish_pools(api: apis.Api, *nodes: str) -> None:
    for node in nodes:
        made = api_objects.slice_of(f"{node}-a", f"{node}-b", f"{node}-c", pool=node)
        made["metadata"]["labels"] = {naming.RUN_LABEL: RUN}
        api.create(apis.SLICES, made)


def change(**keys: Any) -> pool_changes.AnyPoolChange:
    return pool_changes.PoolChanges.model_validate({"changes": [keys]}).changes[0]


class Changing:
    """The pools of a server, to be changed one step after another."""

    def __init__(self, api: apis.Api) -> None:
        self.api = api
        self.stopped = concurrency.Event("stopped")
        self._changing = pool_changing.PoolChanging(api, self.stopped, run_id=RUN)
        listed = api.list(apis.SLICES).items
        self._states = list(pool_states.of_slices(listed).values())

    def make(self, **keys: Any) -> pool_changing.Made:
        dice = Seeds(1).stream("test")
        return self._changing.make("c-1", change(**keys), self._states, dice)

    def pieces(self) -> list[tuple[int, int, list[str]]]:
        specs = [item["spec"] for item in self.api.list(apis.SLICES).items]
        return [
            (
                spec["pool"]["generation"],
                spec["pool"]["resourceSliceCount"],
                [item["name"][-1] for item in spec.get("devices") or ()],
            )
            for spec in specs
        ]


@pytest.fixture
def changing(api: apis.Api) -> Changing:
    publish_pools(api, "n")
    return Changing(api)


def test_a_pool_of_one_slice_is_changed_in_place(changing: Changing) -> None:
    made = changing.make(kind="shrink", devices=2)
    [(generation, count, left)] = changing.pieces()
    assert (generation, count, len(left)) == (1, 1, 1)
    assert [item.rpartition("-")[2] for item in made.devices] == sorted({*"abc"} - {*left})
    assert made.pools == [f"{api_objects.DRIVER}/n"]
    made.undo()
    assert changing.pieces() == [(1, 1, ["a", "b", "c"])]


def test_a_new_generation_is_incomplete_until_its_last_slice(
    server: local_servers.LocalServer, changing: Changing
) -> None:
    seen: list[list[tuple[int, int, list[str]]]] = []
    server.before("POST", "resourceslices", lambda: seen.append(changing.pieces()), times=2)
    assert changing.make(kind="renew", slices=3, pause_s=0).undos == []
    assert seen == [[(2, 3, ["a"])], [(2, 3, ["a"]), (2, 3, ["b"])]]
    assert changing.pieces() == [(2, 3, ["a"]), (2, 3, ["b"]), (2, 3, ["c"])]
    changing.make(kind="renew", pause_s=0)
    assert changing.pieces() == [(3, 1, ["a", "b", "c"])]


def test_a_pool_flaps(changing: Changing) -> None:
    made = changing.make(kind="flap")
    assert changing.pieces() == []
    made.undo()
    assert changing.pieces() == [(1, 1, ["a", "b", "c"])]


def test_a_change_that_stays_is_not_undone(changing: Changing) -> None:
    made = changing.make(kind="grow", devices=2, lasts_s=None)
    assert made.undos == []
    assert [len(names) for _, _, names in changing.pieces()] == [5]


def test_taints_in_slices_come_and_go(changing: Changing) -> None:
    made = changing.make(kind="taint", devices=9, effect="NoExecute")
    [known] = changing.api.list(apis.SLICES).items
    for item in known["spec"]["devices"]:
        assert [(one["key"], one["effect"]) for one in item["taints"]] == [
            (pool_changing.TAINT_KEY, "NoExecute")
        ]
    made.undo()
    [known] = changing.api.list(apis.SLICES).items
    assert not any(item.get("taints") for item in known["spec"]["devices"])


class Rules(pool_changing.PoolChanging):
    """Keeps the rules; the store in the process does not serve them."""

    def __init__(self) -> None:
        self.rules: dict[str, Object] = {}

    def create_rule(self, name: str, spec: Object) -> None:
        self.rules[name] = spec

    def delete_rule(self, name: str) -> None:
        del self.rules[name]


def test_each_device_that_a_rule_taints_has_a_rule(api: apis.Api) -> None:
    publish_pools(api, "n")
    rules, states = Rules(), pool_states.of_slices(api.list(apis.SLICES).items)
    keys = change(kind="taint", by="rule", devices=2)
    made = rules.make("c-1", keys, [*states.values()], Seeds(1).stream("x"))
    selected = [spec["deviceSelector"] for spec in rules.rules.values()]
    assert [
        f"{item['driver']}/{item['pool']}/{item['device']}" for item in selected
    ] == made.devices
    assert len(made.devices) == 2
    made.undo()
    assert rules.rules == {}


@pytest.mark.parametrize("status", [409, 429, 500, 503])
def test_a_write_that_may_succeed_later_is_repeated(
    server: local_servers.LocalServer, changing: Changing, status: int
) -> None:
    server.refuse("PUT", "resourceslices", status=status)
    changing.make(kind="grow")
    assert [len(names) for _, _, names in changing.pieces()] == [4]


def test_a_lost_answer_changes_nothing(
    server: local_servers.LocalServer, changing: Changing
) -> None:
    server.lose_answer("POST", "resourceslices")
    changing.make(kind="renew", slices=2, pause_s=0)
    assert changing.pieces() == [(2, 2, ["a"]), (2, 2, ["b", "c"])]


def test_a_refused_write_is_an_error(server: local_servers.LocalServer, changing: Changing) -> None:
    server.refuse("PUT", "resourceslices", status=422)
    with pytest.raises(apis.ApiError):
        changing.make(kind="grow")


# ------------------------------------------------------------------- the changer


def changer(
    api: apis.Api, journal: pathlib.Path, *changes: Object, seed: int = 1, begun: bool = True
) -> pool_changers.PoolChanger:
    made = pool_changers.PoolChanger(
        api,
        pool_changes.PoolChanges.model_validate({"changes": [*changes]}),
        journal=journal,
        run_id=RUN,
        seed=seed,
        has_begun=lambda: begun,
    )
    made.start()
    return made


def journaled(path: pathlib.Path) -> list[records.PoolChanged]:
    found = journal_reader.read(path).records
    return [record for record in found if isinstance(record, records.PoolChanged)]


OFTEN: Object = {"kind": "shrink", "pools": 2, "start_s": 0, "every_s": 0.01, "lasts_s": 0.01}


def test_changes_are_made_as_often_as_demanded_undone_and_journaled(
    api: apis.Api, tmp_path: pathlib.Path
) -> None:
    publish_pools(api, "n1", "n2", "n3")
    before = [item["spec"]["devices"] for item in api.list(apis.SLICES).items]
    journal = tmp_path / "changes.jsonl"
    renewing = {"kind": "renew", "start_s": 0, "every_s": 0.01, "times": 2}
    made = changer(api, journal, OFTEN | {"times": 3}, renewing)
    clocks.wait_until(lambda: len(lines(journal)) == 3 + 3 + 2, timeout_s=20, why="all changes")
    made.stop()
    counts = collections.Counter((item.change, item.undone) for item in journaled(journal))
    assert counts == {("shrink-1", False): 3, ("shrink-1", True): 3, ("renew-2", False): 2}
    assert all(len(item.pools) == 2 for item in journaled(journal) if item.change == "shrink-1")
    assert [item["spec"]["devices"] for item in api.list(apis.SLICES).items] == before


def lines(journal: pathlib.Path) -> list[str]:
    return [line for line in journal.read_text().splitlines() if '"pool-changed"' in line]


def test_the_seed_decides_what_is_changed(tmp_path: pathlib.Path) -> None:
    drawn = []
    for number, seed in enumerate((5, 5, 6)):
        api = apis.Api(local_servers.LocalServer())
        publish_pools(api, *(f"n{index}" for index in range(9)))
        journal = tmp_path / f"{number}.jsonl"
        made = changer(api, journal, OFTEN | {"times": 4, "lasts_s": None}, seed=seed)
        clocks.wait_until(lambda path=journal: len(lines(path)) == 4, timeout_s=20, why="changes")
        made.stop()
        drawn.append([item.devices for item in journaled(journal)])
    assert drawn[0] == drawn[1] != drawn[2]


def test_nothing_changes_before_the_first_pod(api: apis.Api, tmp_path: pathlib.Path) -> None:
    publish_pools(api, "n")
    version = api.list(apis.SLICES).resource_version
    made = changer(api, tmp_path / "j.jsonl", OFTEN, begun=False)
    made.stop()
    assert api.list(apis.SLICES).resource_version == version
    assert journaled(tmp_path / "j.jsonl") == []


def test_rules_that_the_cluster_does_not_serve(api: apis.Api, tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.ClusterError, match="DRADeviceTaintRules"):
        changer(api, tmp_path / "j.jsonl", {"kind": "taint", "by": "rule"})


def test_settings_that_are_none(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "changes.json"
    path.write_text(json.dumps({"changes": [{"kind": "vanish"}]}))
    with pytest.raises(errors.UsageError, match=r"changes\.json: expected a settings file"):
        driver_settings.decode(path, pool_changes.PoolChanges)
