"""The DRA test driver: exclusivity, failures on demand, and the environment of containers."""

import json
import pathlib
from typing import Any

import pytest

from harness import concurrency, errors
from harness.cluster.driver import cdi_files, driver_settings, drivers
from harness.cluster.kubelet_api import preparations
from harness.scenario import driver_specs
from tests.support import controlled_runtimes


def allocated(name: str, *results: dict[str, Any], config: Any = ()) -> Any:
    devices = {"results": list(results), "config": list(config)}
    meta = {"namespace": "ns", "name": name, "uid": f"uid-of-{name}"}
    return {"metadata": meta, "status": {"allocation": {"devices": devices}}}


def result(device: str, request: str = "gpu", **more: Any) -> dict[str, Any]:
    return {"request": request, "driver": "gpu.example", "pool": "p", "device": device, **more}


def config(source: str, *requests: str, driver: str = "gpu.example", **parameters: Any) -> Any:
    opaque = {"driver": driver, "parameters": parameters}
    return {"source": source, "requests": list(requests), "opaque": opaque}


def prepare(driver: drivers.Driver, claim: Any, node: str = "worker-0") -> Any:
    return answered(driver.prepare([claim], node), claim)


def unprepare(driver: drivers.Driver, claim: Any, node: str = "worker-0") -> None:
    answered(driver.unprepare([reference(claim)], node), claim)


def reference(claim: Any) -> preparations.ClaimReference:
    meta = claim["metadata"]
    return preparations.ClaimReference(meta["namespace"], meta["name"], meta["uid"])


def answered(answers: Any, claim: Any) -> Any:
    """Return the only answer, or raise it."""
    [(uid, answer)] = answers.items()
    assert uid == claim["metadata"]["uid"]
    if isinstance(answer, preparations.PreparationError):
        raise answer
    return answer


def driver(folder: pathlib.Path | None = None, **spec: Any) -> drivers.Driver:
    files = drivers.NOWHERE
    if folder is not None:
        files = drivers.DriverFiles(cdi=f"{folder}/{{node}}", state=f"{folder}/state/{{node}}")
    return drivers.Driver(driver_specs.DriverSpec(**spec), name="gpu.example", files=files)


def test_a_device_that_another_claim_holds_is_refused() -> None:
    exclusive, a, b = driver(exclusivity=True), allocated("a", result("d")), None
    b = allocated("b", result("e"), result("d"))
    prepare(exclusive, a)
    with pytest.raises(preparations.PreparationError, match=r"p/d is prepared for claim uid-of-a"):
        prepare(exclusive, b, node="worker-1")  # also on another node: the device may be shared
    prepare(exclusive, a, node="worker-1")
    unprepare(exclusive, a)
    with pytest.raises(preparations.PreparationError):
        prepare(exclusive, b)
    unprepare(exclusive, a, "worker-1")
    prepare(exclusive, b)


@pytest.mark.parametrize("shared", [[{"adminAccess": True}] * 2, [{"shareID": i} for i in "st"]])
def test_devices_that_may_be_shared_are_not_refused(shared: list[dict[str, Any]]) -> None:
    exclusive = driver(exclusivity=True)
    for name, more in zip("ab", shared, strict=True):
        prepare(exclusive, allocated(name, result("d", **more)))


def test_a_share_that_another_claim_holds_is_refused() -> None:
    exclusive, a, b = (
        driver(exclusivity=True),
        *(allocated(n, result("d", shareID="s")) for n in "ab"),
    )
    prepare(exclusive, a)
    with pytest.raises(preparations.PreparationError, match="p/d/s is prepared for claim uid-of-a"):
        prepare(exclusive, b)
    unprepare(exclusive, a)
    prepare(exclusive, b)


def test_a_failed_preparation_holds_nothing(tmp_path: pathlib.Path) -> None:
    exclusive = driver(tmp_path, exclusivity=True)
    bad = allocated("a", result("d"), config=[config("FromClaim", **{"a=b": 1})])
    with pytest.raises(preparations.PreparationError, match="expected opaque parameters"):
        prepare(exclusive, bad)
    prepare(exclusive, allocated("b", result("d")))


def test_the_driver_fails_on_demand() -> None:
    failing = driver(prepare={"failure_probability": 0.5}, unprepare={"failure_probability": 0.5})
    claim, outcomes = allocated("a", result("d")), []
    for call in (prepare, unprepare):
        for _ in range(100):
            try:
                call(failing, claim)
                outcomes.append("ok")
            except preparations.PreparationError as error:
                outcomes.append(error.reason)
    for part in (outcomes[:100], outcomes[100:]):
        assert set(part) == {"ok", "FailedOnDemand"}


def test_parameters_of_claim_and_class_reach_the_environment() -> None:
    claim = allocated(
        "my-claim",
        result("d", request="gpu/large"),
        result("e", request="nic"),
        config=[
            config("FromClass", size="1"),
            config("FromClaim", "gpu", mode="fast"),
            config("FromClaim", "gpu/large", mode="slow"),
            config("FromClaim", "gpu/small", mode="no"),
            config("FromClaim", driver="other.example", mode="no"),
        ],
    )
    assert cdi_files.environments(claim) == {
        ("gpu.example", "gpu"): {
            "admin_size": "1",
            "user_mode": "slow",
            "claim_my_claim_gpu": "true",
        },
        ("gpu.example", "nic"): {"admin_size": "1", "claim_my_claim_nic": "true"},
    }


@pytest.mark.parametrize(
    "parameters",
    [[], ["a"], 0, 1.5, "", "text", False, {"a=b": 1}, {"a\0": 1}, {"a": "b\0"}],
    ids=repr,
)
def test_parameters_that_cannot_be_variables_are_refused(parameters: Any) -> None:
    opaque = {"driver": "gpu.example", "parameters": parameters}
    claim = allocated("c", result("d"), config=[{"source": "FromClaim", "opaque": opaque}])
    with pytest.raises(preparations.PreparationError, match="expected opaque parameters") as caught:
        cdi_files.environments(claim)
    assert caught.value.reason == "InvalidParameters"


@pytest.mark.parametrize("parameters", [None, {}])
def test_no_parameters_are_no_variables(parameters: Any) -> None:
    opaque = {"driver": "gpu.example", "parameters": parameters}
    claim = allocated("c", result("d"), config=[{"source": "FromClaim", "opaque": opaque}])
    assert list(cdi_files.environments(claim).values()) == [{"claim_c_gpu": "true"}]


def test_parameters_that_are_no_texts_are_there_as_json() -> None:
    sharing = {"strategy": "TimeSlicing", "config": {"interval": 2.5, "none": None}}
    given = {"sharing": sharing, "count": 3, "on": True, "ids": ["é", 1], "text": "{}"}
    claim = allocated("c", result("d"), config=[config("FromClaim", **given)])
    (found,) = cdi_files.environments(claim).values()
    assert found == {
        "user_sharing": '{"config":{"interval":2.5,"none":null},"strategy":"TimeSlicing"}',
        "user_count": "3",
        "user_on": "true",
        "user_ids": '["é",1]',
        "user_text": "{}",
        "claim_c_gpu": "true",
    }


def test_there_is_one_cdi_file_for_each_request(tmp_path: pathlib.Path) -> None:
    claim = allocated(
        "c", result("d"), result("e"), result("f", "nic"), config=[config("FromClaim", k="v")]
    )
    made = driver(tmp_path)
    prepare(made, claim)
    files = sorted((tmp_path / "worker-0").iterdir())
    assert [file.name for file in files] == [
        "gpu.example-uid-of-c-gpu.json",
        "gpu.example-uid-of-c-nic.json",
    ]
    assert json.loads(files[0].read_text()) == {
        "cdiVersion": "0.3.0",
        "kind": "gpu.example/test",
        "devices": [
            {
                "name": "claim-uid-of-c-gpu",
                "containerEdits": {"env": ["claim_c_gpu=true", "user_k=v"]},
            }
        ],
    }
    unprepare(made, claim)
    assert not list((tmp_path / "worker-0").iterdir())


def test_settings_are_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"termination_s": 2, "prepare": {"delay_s": 1}}')
    read = driver_settings.read(path)
    assert (read.termination_s, read.prepare.delay_s, read.exclusivity) == (2, 1, False)
    assert driver_settings.read(None).exclusivity


@pytest.mark.parametrize(
    ("content", "words"),
    [('{"prepare": {"delay": 1}}', "prepare.delay: Extra inputs"), ("{", "Invalid JSON")],
)
def test_settings_that_cannot_be_used_are_refused(
    tmp_path: pathlib.Path, content: str, words: str
) -> None:
    path = tmp_path / "settings.json"
    path.write_text(content)
    with pytest.raises(errors.UsageError, match=words):
        driver_settings.read(path)
    with pytest.raises(errors.UsageError, match="No such file"):
        driver_settings.read(tmp_path / "missing.json")


def test_calls_are_delayed_blocked_and_failed_for_a_time() -> None:
    time = controlled_runtimes.VirtualTime()
    misbehaviour = {
        "delay_s": 1,
        "blocked_from_s": 10,
        "blocked_s": 5,
        "failing_from_s": 20,
        "failing_s": 5,
    }
    with concurrency.install(time):
        slow = driver(prepare=misbehaviour)
        ends = []
        for begin_s in (0, 12, 21, 26):
            time.sleep(begin_s - time.now_s)
            try:
                prepare(slow, allocated("a", result("d")))
                ends.append((time.now_s, "ok"))
            except preparations.PreparationError as error:
                ends.append((time.now_s, error.reason))
    assert ends == [(1, "ok"), (16, "ok"), (22, "FailedForATime"), (27, "ok")]
