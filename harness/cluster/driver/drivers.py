"""The DRA test driver of all fake nodes: prepares claims, and misbehaves on demand.

One driver serves all nodes, so that it also knows the users of a device that is attached by a
network. After a restart, its CDI files and the kubelets' checkpoints show which claims it has
prepared.
"""

import pathlib
import random
from collections.abc import Callable, Sequence
from typing import Protocol

from harness import concurrency, seeds, writing
from harness.cluster.driver import cdi_files
from harness.cluster.kubelet_api import preparations
from harness.model.objects import Object
from harness.scenario import driver_specs


class ClaimInfo(Protocol):
    """A claim as the kubelet knows it."""

    @property
    def uid(self) -> str:
        """uid of the claim."""

    @property
    def devices(self) -> Sequence[str]:
        """`driver/pool/device` of all devices of its allocation."""

    @property
    def exclusive(self) -> set[str]:
        """The devices that no other claim may use."""


class Driver:
    """Prepares and unprepares claims on fake nodes. Thread-safe."""

    def __init__(
        self, spec: driver_specs.DriverSpec, *, folder: pathlib.Path | None, seed: int = 0
    ) -> None:
        """`folder` is for the CDI files, one folder for each node in it; None: no files."""
        self._exclusivity, self._folder = spec.exclusivity, folder
        self._guard = concurrency.lock("driver.holders")
        self._holders: dict[str, dict[str, set[str]]] = {}
        """Device -> uids of the claims that use it alone -> nodes where they are prepared."""
        self._files: dict[tuple[str, str], list[pathlib.Path]] = {}
        """Node and uid of a claim -> its CDI files, of claims that this process has prepared."""
        self._stopped = concurrency.Event("driver.stopped")
        stream = seeds.Seeds(seed).stream
        self._prepare = _Call(spec.prepare, stream("driver", "prepare"), self._stopped.wait)
        self._unprepare = _Call(spec.unprepare, stream("driver", "unprepare"), self._stopped.wait)

    def prepare(self, claim: Object, info: ClaimInfo, node: str) -> None:
        """Prepare a claim on a node; a claim that is prepared already is prepared again.

        Raises PreparationError if another claim holds one of its devices prepared, if its
        parameters cannot be understood, or on demand.
        """
        self._prepare.wait()
        is_new = self._take(info, node)
        try:
            self._prepare.fail()
            self._configure(self._configured(claim, info), info, node)
        except BaseException:
            if is_new:
                self._give_back(info, node)
            raise

    def unprepare(self, info: ClaimInfo, node: str) -> None:
        """Unprepare a claim on a node.

        Raises PreparationError on demand.
        """
        self._unprepare.wait()
        self._unprepare.fail()
        if self._folder is not None:
            files = self._files.pop((node, info.uid), None)
            cdi_files.remove(files or cdi_files.find(self._folder / node, info.uid))
        self._give_back(info, node)

    def restore(self, info: ClaimInfo, node: str) -> bool:
        """Note a claim that an earlier process has prepared on a node; return False if it has not.

        Its CDI files show it: they are written when the driver has the devices.
        """
        if not self._was_prepared(info, node):
            return False
        with self._guard:
            self._note(info, node)
        return True

    def stop(self) -> None:
        """End the waits of all calls."""
        self._stopped.set()

    def _configured(self, claim: Object, info: ClaimInfo) -> Object:
        """Return the claim with the configuration that its devices get: its own."""
        del info
        return claim

    def _configure(self, claim: Object, info: ClaimInfo, node: str) -> None:
        """Let the containers on the node find the devices, and their parameters."""
        if self._folder is not None:
            self._files[node, info.uid] = cdi_files.write(_made(self._folder / node), claim)

    def _was_prepared(self, info: ClaimInfo, node: str) -> bool:
        """Return whether an earlier process has prepared the claim."""
        return self._folder is not None and bool(cdi_files.find(self._folder / node, info.uid))

    def _take(self, info: ClaimInfo, node: str) -> bool:
        """Take the devices; return False if the claim has them on this node already."""
        with self._guard:
            if self._exclusivity:
                self._require_free(info)
            is_new = not self._has(info, node)
            self._note(info, node)
            return is_new

    def _has(self, info: ClaimInfo, node: str) -> bool:
        users = [self._holders.get(device, {}).get(info.uid, ()) for device in info.exclusive]
        return bool(users) and all(node in nodes for nodes in users)

    def _require_free(self, info: ClaimInfo) -> None:
        for device in sorted(info.exclusive):
            others = self._holders.get(device, {}).keys() - {info.uid}
            if others:
                raise preparations.PreparationError(
                    "DeviceHeld", f"device {device} is prepared for claim {min(others)}"
                )

    def _note(self, info: ClaimInfo, node: str) -> None:
        for device in info.exclusive:
            self._holders.setdefault(device, {}).setdefault(info.uid, set()).add(node)

    def _give_back(self, info: ClaimInfo, node: str) -> None:
        with self._guard:
            for device in info.exclusive:
                holders = self._holders.get(device, {})
                nodes = holders.get(info.uid, set())
                nodes.discard(node)
                if not nodes:
                    holders.pop(info.uid, None)
                if not holders:
                    self._holders.pop(device, None)


class _Call:
    """Delays, blocks and fails the calls of one kind."""

    def __init__(
        self,
        spec: driver_specs.CallSpec,
        stream: random.Random,
        wait: Callable[[float], bool],
    ) -> None:
        self._spec, self._stream, self._wait = spec, stream, wait
        self._guard = concurrency.lock("driver.failures")
        self._started_s = concurrency.monotonic_s()

    def wait(self) -> None:
        """Wait as long as the settings say."""
        left_s = self._spec.delay_s + self._blocked_s()
        if left_s > 0:
            self._wait(left_s)

    def _blocked_s(self) -> float:
        """Return the seconds until a call that comes now is let through, 0 for none."""
        start_s, now_s = self._spec.blocked_from_s, self._since_start_s()
        if start_s is None or now_s < start_s:
            return 0.0
        return max(0.0, start_s + self._spec.blocked_s - now_s)

    def _is_failing(self, start_s: float) -> bool:
        return 0.0 <= self._since_start_s() - start_s < self._spec.failing_s

    def _since_start_s(self) -> float:
        return concurrency.monotonic_s() - self._started_s

    def fail(self) -> None:
        """Raise PreparationError as often as the settings say."""
        if self._spec.failing_from_s is not None and self._is_failing(self._spec.failing_from_s):
            raise preparations.PreparationError("FailedForATime", "the driver fails for a time")
        if not self._spec.failure_probability:
            return
        with self._guard:
            fails = self._stream.random() < self._spec.failure_probability
        if fails:
            raise preparations.PreparationError("FailedOnDemand", "the driver fails on demand")


def _made(folder: pathlib.Path) -> pathlib.Path:
    with writing.explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder
