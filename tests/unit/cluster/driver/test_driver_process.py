"""`flake-hunt part driver` as a process, against a kubelet that speaks only the protocol."""

import json
import pathlib
import shutil
import subprocess
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import jsonschema
import pytest

from harness import clocks
from harness.client import apis
from harness.cluster.kubelet_api import preparations, services
from tests.support import cases
from tests.unit.cluster.driver import driving

pytestmark = pytest.mark.e2e

NAME, NODE = driving.NAME, driving.NODE


@pytest.fixture(scope="module", autouse=True)
def node(cluster: Any) -> Iterator[None]:
    with apis.connected(cluster.kubeconfig) as api:
        api.create(apis.NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
        yield
        api.delete(apis.NODES, NODE)


@pytest.fixture
def driver(cluster: Any) -> Iterator[driving.Driver]:
    with driving.driver(cluster.kubeconfig) as made:
        yield made


@pytest.fixture
def claims(api: apis.Api) -> Iterator[tuple[Any, Any]]:
    """Two claims of one device."""
    made = driving.claim(api, "a", mode="fast"), driving.claim(api, "b")
    yield made
    driving.remove(api, *made)


def device(claim: Any, name: str = "d-0") -> preparations.PreparedDevice:
    return preparations.PreparedDevice(
        request_names=("gpu",),
        pool=NODE,
        device=name,
        cdi_device_ids=(f"{NAME}/test=claim-{driving.uid(claim)}-gpu",),
    )


def own_slices(api: apis.Api) -> list[Any]:
    return [item for item in api.list(apis.SLICES).items if item["spec"]["driver"] == NAME]


def test_a_kubelet_finds_it_and_has_claims_prepared(
    driver: driving.Driver,
    api: apis.Api,
    claims: tuple[Any, Any],
    capfd: pytest.CaptureFixture[str],
) -> None:
    [a, b] = claims
    driver.start()
    reg = driver.registration()
    info = driver.call(services.GET_INFO, services.GET_INFO.request(), path=reg)
    assert (info.type, info.name, info.endpoint) == ("DRAPlugin", NAME, str(driver.endpoint()))
    assert list(info.supported_versions) == [*services.DRA]
    driver.call(services.NOTIFY, services.NOTIFY.request(plugin_registered=True), path=reg)
    bad = services.NOTIFY.request(error="too old")
    assert driving.refused(lambda: driver.call(services.NOTIFY, bad, path=reg)).message == (
        "failed registration process: too old"
    )
    for service in services.DRA.values():
        assert driver.prepare(a, b, service=service) == {
            driving.uid(a): (device(a),),
            driving.uid(b): f"device {NAME}/{NODE}/d-0 is prepared for claim {driving.uid(a)}",
        }
        [document] = driver.documents()
        jsonschema.validate(document, cases.read(__file__, "cdi"))
        assert document["devices"][0]["containerEdits"]["env"] == [
            "claim_a_gpu=true",
            "user_mode=fast",
        ]
        assert driver.unprepare(a, b, service=service) == {
            driving.uid(a): None,
            driving.uid(b): None,
        }
        assert driver.documents() == []
    assert driver.stop() == ""
    logged = capfd.readouterr().out
    for text in (
        "is registered",
        "has prepared claim default/a",
        "has not prepared claim default/b",
    ):
        assert f"{NAME} on {NODE} {text}" in logged
    assert not driver.endpoint().exists()
    assert not reg.exists()


def test_a_claim_that_is_late_is_refused(driver: driving.Driver, api: apis.Api) -> None:
    a = driving.claim(api, "late")
    unknown = {"metadata": {**a["metadata"], "name": "other", "uid": "no-uid"}}
    driver.start()
    driver.set(prepare={"block_at": "received"})
    with futures.ThreadPoolExecutor() as pool:
        slow = pool.submit(driver.prepare, a, unknown)
        assert driver.unprepare(a) == {driving.uid(a): None}
        driving.remove(api, a)
        again = driving.claim(api, "late")
        driver.set()
    answer = slow.result()
    assert "does not have the uid" in answer[driving.uid(a)]
    assert "404" in answer["no-uid"]
    assert driver.documents() == []
    driving.remove(api, again)


MOMENTS = [
    *(("prepare", when) for when in ("received", "claim-read", "before-checkpoint")),
    *(("prepare", when) for when in ("checkpoint-written", "cdi-written", "before-answer")),
    *(("unprepare", when) for when in ("received", "cdi-removed", "checkpoint-removed")),
    ("unprepare", "before-answer"),
]


def test_it_goes_on_after_it_was_killed_at_any_moment(
    driver: driving.Driver, claims: tuple[Any, Any]
) -> None:
    [a, b] = claims
    driver.start()
    for call, when in MOMENTS:
        driver.set(**{call: {"crash_at": when, "claims": ["default/a"]}})
        if call == "unprepare":
            assert driver.prepare(a) == {driving.uid(a): (device(a),)}
        failing = driver.prepare if call == "prepare" else driver.unprepare
        assert driving.refused(lambda do=failing: do(a)).code == "UNAVAILABLE", when  # type: ignore[misc]
        driver.wait_killed()
        driver.start()
        if call == "prepare":
            assert driver.prepare(a) == {driving.uid(a): (device(a),)}
            assert "is prepared for claim" in driver.prepare(b)[driving.uid(b)]
            assert len(driver.documents()) == 1
        assert driver.unprepare(a) == {driving.uid(a): None}
        assert driver.documents() == [], when
        assert driver.prepare(b) == {driving.uid(b): (device(b),)}, when
        assert driver.unprepare(b) == {driving.uid(b): None}


def test_a_reboot_leaves_the_checkpoint_and_no_cdi_files(
    driver: driving.Driver, claims: tuple[Any, Any]
) -> None:
    [a, b] = claims
    driver.start()
    driver.prepare(a)
    before = driver.documents()
    driver.kill()
    shutil.rmtree(driver.cdi)
    driver.start()
    assert driver.documents() == before
    assert "is prepared for claim" in driver.prepare(b)[driving.uid(b)]
    for path in driver.cdi.iterdir():
        path.unlink()
    assert driver.prepare(a) == {driving.uid(a): (device(a),)}
    assert driver.documents() == before


def test_two_instances_share_what_is_prepared(
    driver: driving.Driver, claims: tuple[Any, Any]
) -> None:
    [a, b] = claims
    driver.start(instance="1")
    driver.start(instance="2")
    assert driver.prepare(a, instance="1") == {driving.uid(a): (device(a),)}
    assert "is prepared for claim" in driver.prepare(b, instance="2")[driving.uid(b)]
    assert driver.unprepare(a, instance="2") == {driving.uid(a): None}
    assert driver.prepare(b, instance="1") == {driving.uid(b): (device(b),)}
    driver.stop("1")
    assert not driver.registration("1").exists()
    assert driver.unprepare(b, instance="2") == {driving.uid(b): None}
    assert driver.documents() == []


def test_it_misbehaves_for_chosen_claims(driver: driving.Driver, claims: tuple[Any, Any]) -> None:
    [a, _] = claims
    driver.start()
    driver.set(
        prepare={"error": "no luck", "claims": ["default/b*"]}, unprepare={"code": "INTERNAL"}
    )
    assert driver.prepare(a, claims[1]) == {
        driving.uid(a): (device(a),),
        driving.uid(claims[1]): "no luck",
    }
    assert driving.refused(lambda: driver.unprepare(a)).code == "INTERNAL"
    driver.settings.write_text('{"prepare": 1}')
    assert driving.refused(lambda: driver.unprepare(a)).code == "INTERNAL"
    driver.set(exclusivity=False)
    assert driver.prepare(claims[1]) == {driving.uid(claims[1]): (device(claims[1]),)}
    assert "expected a settings file of the driver" in driver.stop()


def test_its_slices_stay_as_they_should_be(driver: driving.Driver, api: apis.Api) -> None:
    driver.start("--devices", "200")
    [first, second] = sorted(own_slices(api), key=lambda item: str(item["metadata"]["name"]))
    pool = {"name": NODE, "generation": 1, "resourceSliceCount": 2}
    assert first["spec"]["pool"] == second["spec"]["pool"] == pool
    names = [item["name"] for piece in (first, second) for item in piece["spec"]["devices"]]
    assert len(set(names)) == len(names) == 200
    node = api.get(apis.NODES, NODE)
    [owner] = first["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == (
        "Node",
        NODE,
        node["metadata"]["uid"],
        True,
    )

    def is_whole(generation: int) -> bool:
        found = own_slices(api)
        devices = [item for piece in found for item in piece["spec"]["devices"]]
        pools = {tuple(piece["spec"]["pool"].values()) for piece in found}
        return len(devices) == 200 and pools == {(generation, NODE, 2)}

    api.delete(apis.SLICES, first["metadata"]["name"])
    clocks.wait_until(lambda: is_whole(2), timeout_s=60, why="the slice is there again")
    [changed] = [
        item for item in own_slices(api) if item["metadata"]["name"] == second["metadata"]["name"]
    ]
    changed["spec"]["devices"].pop()
    api.update(apis.SLICES, changed)
    clocks.wait_until(lambda: is_whole(3), timeout_s=60, why="the slice is as before")
    driver.kill()
    driver.start("--devices", "200")
    assert is_whole(3)  # as it should be: nothing is written
    driver.stop()
    assert own_slices(api) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "plugins_dir=/tmp/" + "x" * 100], "at most 107 bytes, got"),
        (["--node", "other"], "expected folders with {node} in them for 2 nodes"),
        (["--settings", "missing"], "missing: expected a settings file of the driver"),
        (["--devices", "missing"], "missing: expected a readable file of objects"),
        (["--defect", "kubelet-forgets-claims"], "expected a defect of the driver"),
        (["--set", "registry_dir={settings}"], "expected a place for a socket (file exists)"),
    ],
)
def test_what_cannot_work_is_refused_in_a_sentence(
    driver: driving.Driver, options: list[str], words: str
) -> None:
    words_of = [word.replace("{settings}", str(driver.settings)) for word in options]
    done = subprocess.run(
        driver.command(*words_of), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2, done.stderr
    assert words in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert list(driver.folder.rglob("*.sock")) == []


def test_the_devices_of_a_file_are_published(
    driver: driving.Driver, api: apis.Api, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "slices.yaml"
    outline = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice"}
    capacity = {"memory": {"value": "1024Mi"}}
    slices = [
        {**outline, "spec": {"devices": [{"name": name, "capacity": capacity}]}} for name in "ab"
    ]
    path.write_text("\n---\n".join(json.dumps(item) for item in slices))
    driver.start("--devices", str(path))
    [found] = own_slices(api)
    assert [item["name"] for item in found["spec"]["devices"]] == ["a", "b"]
    driver.stop()


def leaves_files_away(driver: driving.Driver, a: Any, b: Any) -> bool:
    driver.prepare(a)
    driver.kill()
    shutil.rmtree(driver.cdi)
    driver.start(*driver.options)
    driver.prepare(a)
    return driver.documents() == []


def drops_what_others_report(driver: driving.Driver, a: Any, b: Any) -> bool:
    other = {"driver": "other.example", "pool": "elsewhere", "device": "foreign"}
    with apis.connected(driver.kubeconfig) as api:
        driving.reallocate(api, a, {}, other, reports=[other])
        driver.set(device_status=True)
        driver.prepare(a)
        reported = {entry["driver"] for entry in driving.reports(api, a)}
    assert NAME in reported
    return "other.example" not in reported


SHOWS = {
    "cdi-files-not-restored": leaves_files_away,
    "device-status-overwritten": drops_what_others_report,
}
"""The others show in worlds, see `defects.toml`."""


@pytest.mark.parametrize("is_correct", [True, False])
@pytest.mark.parametrize("defect", SHOWS)
def test_a_known_defect_shows_through_the_socket(
    driver: driving.Driver, claims: tuple[Any, Any], defect: str, *, is_correct: bool
) -> None:
    driver.options = () if is_correct else ("--defect", defect)
    driver.start(*driver.options)
    assert SHOWS[defect](driver, *claims) is not is_correct


def test_each_share_of_a_device_is_reported_once(driver: driving.Driver, api: apis.Api) -> None:
    shares = [{"shareID": f"00000000-0000-4000-8000-00000000000{n}"} for n in range(2)]
    a = driving.claim(api, "shares")
    driving.reallocate(api, a, *shares)
    driver.start()
    driver.prepare(a)
    assert driving.reports(api, a) == []
    driver.set(device_status=True)
    for _ in range(2):
        driver.prepare(a)
        found = driving.reports(api, a)
        assert [{"shareID": entry["shareID"]} for entry in found] == shares
        assert [entry["data"] for entry in found] == [{"preparedOn": NODE}] * 2
    driving.remove(api, a)
