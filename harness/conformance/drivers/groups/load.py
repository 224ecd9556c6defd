"""Rules about many claims at the same time.

The calls are gRPC's own, many at a time on one connection, as a kubelet's. Locust's users would
need a gRPC that gevent can switch, in a process of their own, and find nothing more.
"""

import dataclasses
import threading
from collections.abc import Callable, Sequence

from harness import clocks
from harness.cluster.kubelet_api import calls
from harness.conformance import results
from harness.conformance.drivers import benches, published_devices

_USERS = 8
_ROUNDS = 6
_USERS_OF_DEVICE = 3
_HELD_S = 0.003
"""Time in seconds for which a user keeps a device."""


def all_answered(bench: benches.Bench) -> None:
    """Each device is prepared and unprepared by a user of its own, again and again."""
    bench.devices(2)
    users = [_User(bench, device, _Holders()) for device in bench.all_devices()[:_USERS]]
    _run([user.churn for user in users])
    for user in users:
        if user.problems:
            raise results.Failed(f"among {len(users)} users, {user.problems[0]}")


def exclusive(bench: benches.Bench) -> None:
    """Several users for each device: all but one are refused at a time."""
    devices = [device for device in bench.all_devices() if not device.is_shared][:_USERS]
    if not devices:
        raise results.Skipped("the driver has published no device for one claim alone")
    holders = {device: _Holders() for device in devices}
    users = [_User(bench, device, holders[device]) for device in devices * _USERS_OF_DEVICE]
    _run([user.churn for user in users])
    for device, held in holders.items():
        if held.doubles:
            raise results.Failed(
                f"{device.name} was prepared for two claims at a time, {held.doubles} times "
                f"among {held.count} preparations"
            )
        if not held.count:
            raise results.Undecided(f"{device.name} was never prepared")


def leaves_nothing(bench: benches.Bench) -> None:
    """The same load."""
    bench.devices(2)
    before = set(bench.cdi())
    users = [_User(bench, device, _Holders()) for device in bench.all_devices()[:_USERS]]
    _run([user.churn for user in users])
    if left := set(bench.cdi()) - before:
        raise results.Failed(f"{len(left)} CDI files are left, one is {min(left).name}")


class _Holders:
    """The judge of one device: how many claims have it prepared, by the driver's own answers."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._now = 0
        self.count, self.doubles = 0, 0

    def take(self) -> None:
        """Note that Prepare was answered: from now on a claim has the device."""
        with self._guard:
            self.doubles += self._now > 0
            self._now += 1
            self.count += 1

    def give_back(self) -> None:
        """Note that Unprepare is about to be called: from now on it may be free."""
        with self._guard:
            self._now -= 1


@dataclasses.dataclass
class _User:
    """Prepares and unprepares claims with one device."""

    bench: benches.Bench
    device: published_devices.Device
    holders: _Holders
    problems: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.claims = [self.bench.claim(self.device) for _ in range(_ROUNDS)]

    def churn(self) -> None:
        """Prepare and unprepare each of its claims; end at the first call that fails."""
        try:
            for claim in self.claims:
                self._use(claim)
        except calls.CallError as error:
            self.problems.append(f"a call fails: {error}")

    def _use(self, claim: benches.Claim) -> None:
        answer = self.bench.driver.prepare([claim.reference])
        if isinstance(answer.get(claim.uid), tuple):
            self.holders.take()
            clocks.sleep(_HELD_S)
            self.holders.give_back()
        else:
            self.problems.append(f"Prepare fails: {answer.get(claim.uid)}")
        self.bench.driver.unprepare([claim.reference])


def _run(tasks: Sequence[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=task, daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
