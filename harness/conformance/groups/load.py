"""Rules about many claims at the same time.

The calls are gRPC's own, many at a time on one connection, as a kubelet's. Locust's users would
need a gRPC that gevent can switch, in a process of their own, and find nothing more.
"""

import dataclasses
import threading
from collections.abc import Callable, Sequence

from harness.cluster.kubelet_api import calls
from harness.conformance import allocations, benches, requirements, results

_USERS = 8
_ROUNDS = 6
_USERS_OF_DEVICE = 3
Devices = Sequence[allocations.Device]


def all_answered(bench: benches.Bench) -> None:
    users = _churned(bench)
    for user in users:
        for problem in user.problems:
            raise results.Failed(f"among {len(users)} users, {problem}")


def exclusive(bench: benches.Bench) -> None:
    """Several users for each device: all but one are refused at a time."""
    devices = bench.devices.exclusive()[:_USERS]
    holders = {device: _Holders(_USERS_OF_DEVICE) for device in devices}
    users = [_User(bench, [device], holders[device]) for device in devices * _USERS_OF_DEVICE]
    _run([user.churn for user in users])
    for device, held in holders.items():
        results.require(
            not held.doubles,
            f"{device.name} was prepared for two claims at a time, {held.doubles} times "
            f"among {held.count} preparations",
        )
        if not held.count:
            raise results.Undecided(f"{device.name} was never prepared")
    if not any(held.refusals for held in holders.values()):
        raise results.Undecided("no Prepare of a device that another claim held was answered")


def leaves_nothing(bench: benches.Bench) -> None:
    _churned(bench)
    if left := bench.left_files():
        raise results.Failed(f"{len(left)} CDI files are left, one is {left[0].name}")


class _Holders:
    """The judge of one device: how many claims have it prepared, by the driver's own answers."""

    def __init__(self, users: int = 1) -> None:
        self._changed = threading.Condition()
        self._now, self._users, self._answers = 0, users, 0
        self.count = self.doubles = self.refusals = 0

    def take(self) -> None:
        """Note that Prepare was answered: from now on a claim has the device."""
        with self._changed:
            self.doubles += self._now > 0
            self._now += 1
            self.count += 1
            self._note_answer()

    def give_back(self, *, after_s: float) -> None:
        """Wait for the answer to another user's Prepare; then the device may be free.

        It is given back as Unprepare is about to be called. `after_s` is the time limit.
        """
        with self._changed:
            seen = self._answers
            self._changed.wait_for(
                lambda: self._answers > seen or self._users < 2,
                timeout=after_s,
            )
            self._now -= 1

    def refuse(self) -> None:
        with self._changed:
            self.refusals += self._now > 0
            self._note_answer()

    def leave(self) -> None:
        with self._changed:
            self._users -= 1
            self._changed.notify_all()

    def _note_answer(self) -> None:
        self._answers += 1
        self._changed.notify_all()


@dataclasses.dataclass
class _User:
    """Prepares and unprepares claims with the same devices."""

    bench: benches.Bench
    devices: Devices
    holders: _Holders
    problems: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.claims = [self.bench.claim(*self.devices, apart=True) for _ in range(_ROUNDS)]

    def churn(self) -> None:
        try:
            for claim in self.claims:
                self._use(claim)
        except calls.CallError as error:
            self.problems.append(f"a call fails: {error}")
        finally:
            self.holders.leave()

    def _use(self, claim: benches.Claim) -> None:
        answer = self.bench.driver.start_prepare([claim.reference]).answer()
        if isinstance(answer.get(claim.uid), tuple):
            self.holders.take()
            self.holders.give_back(after_s=self.bench.options.deadline_s)
        else:
            self.holders.refuse()
        try:
            requirements.require_own([claim], answer)
        except results.Failed as failure:
            self.problems.append(str(failure))
        self.bench.driver.start_unprepare([claim.reference]).answer()


def _churned(bench: benches.Bench) -> list[_User]:
    """Let users prepare and unprepare devices of their own, again and again."""
    users = [_User(bench, devices, _Holders()) for devices in bench.devices.sets(_USERS)]
    _run([user.churn for user in users])
    return users


def _run(tasks: Sequence[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=task, daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
