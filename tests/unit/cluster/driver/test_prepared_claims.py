"""The claims that a driver remembers, and those of kubelets' calls that come at the same time."""

import pathlib
import threading
from concurrent import futures
from typing import Any

from harness.cluster.driver import drivers, prepared_claims, served_drivers
from harness.cluster.kubelet_api import preparations
from harness.scenario import driver_specs

REFERENCE = preparations.ClaimReference("ns", "a", "uid-a")


def claim(**result: Any) -> Any:
    results = [
        {"request": "gpu/large", "driver": "gpu.example", "pool": "p", "device": "d", **result},
        {"request": "nic", "driver": "nic.example", "pool": "p", "device": "e"},
    ]
    meta = {"namespace": "ns", "name": "a", "uid": "uid-a"}
    return {"metadata": meta, "status": {"allocation": {"devices": {"results": results}}}}


def known(claim_object: Any) -> prepared_claims.PreparedClaim:
    return prepared_claims.of(claim_object, driver="gpu.example", node="n")


def test_the_devices_of_other_drivers_are_left_out() -> None:
    found = known(claim())
    assert [(item.request_names, item.device) for item in found.devices] == [(("gpu",), "d")]
    assert found.exclusive == {"gpu.example/p/d"}
    assert list(found.environments) == ["gpu"]
    assert known(claim(shareID="s")).exclusive == set()
    assert known(claim(shareID="s")).devices[0].share_id == "s"
    assert known(claim(adminAccess=True)).exclusive == set()


def test_files_tell_a_restart_what_is_prepared(tmp_path: pathlib.Path) -> None:
    template = f"{tmp_path}/[1]/{{node}}"  # no pattern of glob
    first = prepared_claims.PreparedClaims("gpu.example", template)
    first.add(known(claim()))
    prepared_claims.PreparedClaims("other.example", template).load()
    again = prepared_claims.PreparedClaims("gpu.example", template)
    assert again.load() == [known(claim())]
    assert prepared_claims.PreparedClaims("other.example", template).load() == []
    again.remove("n", "uid-a")
    assert again.load() == []


def test_the_devices_of_a_damaged_file_may_be_any(tmp_path: pathlib.Path) -> None:
    def restarted() -> drivers.Driver:
        spec = driver_specs.DriverSpec(exclusivity=True)
        files = drivers.DriverFiles(cdi=str(tmp_path / "cdi"), state=str(tmp_path / "state"))
        return drivers.Driver(spec, name="gpu.example", files=files)

    other = claim(device="f")
    other["metadata"] = {"namespace": "ns", "name": "b", "uid": "uid-b"}
    path = tmp_path / "state" / "gpu.example" / "uid-a.json"
    for resolve in ("prepare", "unprepare"):
        restarted().prepare([claim()], "n")
        path.write_bytes(path.read_bytes()[:20])
        driver = restarted()
        [problem] = driver.recover()
        assert problem.startswith(f"{path}: expected a claim that was prepared (Input data was")
        assert "is damaged" in str(driver.prepare([other], "n")["uid-b"])
        if resolve == "prepare":
            assert driver.prepare([claim()], "n") == {"uid-a": known(claim()).devices}
        else:
            assert driver.unprepare([REFERENCE], "n") == {"uid-a": None}
            assert list((tmp_path / "cdi").iterdir()) == []
        assert driver.prepare([other], "n") == {"uid-b": known(other).devices}
        assert restarted().recover() == []
        driver.unprepare([preparations.ClaimReference("ns", "b", "uid-b")], "n")


class Slow(drivers.Driver):
    """A driver in whose middle of a preparation a test waits."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.begun, self.may_go_on = threading.Event(), threading.Event()

    def prepare_claim(self, claim: Any, node: str) -> Any:
        self.begun.set()
        assert self.may_go_on.wait(30)
        return super().prepare_claim(claim, node)


class Api:
    """Has the claim, which is reserved."""

    def get(self, resource: object, name: str, *, namespace: str) -> Any:
        found = claim()
        found["status"]["reservedFor"] = [{"uid": "pod"}]
        return found


def served(driver: drivers.Driver) -> served_drivers.ServedDriver:
    api: Any = Api()
    return served_drivers.ServedDriver(driver, api, at=lambda moment, name: None)


def test_calls_for_one_claim_wait_for_each_other(tmp_path: pathlib.Path) -> None:
    files = drivers.DriverFiles(cdi=str(tmp_path / "cdi"))
    driver = Slow(driver_specs.DriverSpec(), name="gpu.example", files=files)
    both = served(driver)
    with futures.ThreadPoolExecutor() as pool:
        slow = pool.submit(both.prepare, [REFERENCE], "n")
        assert driver.begun.wait(30)
        other = pool.submit(both.unprepare, [REFERENCE], "n")
        assert both.unprepare([REFERENCE], "another-node") == {"uid-a": None}  # another claim
        assert not slow.done()
        assert not other.done()
        driver.may_go_on.set()
    assert slow.result() == {"uid-a": known(claim()).devices}
    assert other.result() == {"uid-a": None}
    assert list((tmp_path / "cdi").iterdir()) == []


def test_an_error_of_files_is_told_to_the_kubelet(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").touch()
    files = drivers.DriverFiles(cdi=str(tmp_path / "file"))
    driver = drivers.Driver(driver_specs.DriverSpec(), name="gpu.example", files=files)
    answer = served(driver).prepare([REFERENCE], "n")["uid-a"]
    assert isinstance(answer, preparations.PreparationError)
    assert "cannot write" in str(answer)
    assert driver.unprepare([REFERENCE], "n") == {"uid-a": None}


def test_a_claim_with_other_devices_is_refused() -> None:
    driver = drivers.Driver(driver_specs.DriverSpec(), name="gpu.example")
    assert driver.prepare([claim()], "n") == driver.prepare([claim()], "n")
    answer = driver.prepare([claim(device="f")], "n")["uid-a"]
    assert str(answer) == ("the claim is still prepared with gpu.example/p/d, not gpu.example/p/f")
