"""A depth-first search for the devices of all claims on one node: the first solution wins.

As upstream, claims, requests, alternatives and devices are tried in order, all of them. The search
keeps its own stack, so that no number of devices is too deep, and it ends at its deadline.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from harness.subject.allocation import (
    attributes,
    device_requests,
    devices,
    holdings,
    inventories,
    results,
)

DEVICES_BETWEEN_CHECKS = 16
"""Devices that are looked at before the time is checked again; their selectors may be slow."""


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """The requests and constraints to satisfy, the same on all nodes."""

    requests: Sequence[device_requests.DeviceRequest]
    constraints: Sequence[tuple[attributes.Constraint, ...]]
    """Constraints of each claim."""
    check_time: Callable[[], None]
    """Raises an error when the search has to end."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Begin:
    """The move to an alternative of the next request."""

    option: device_requests.Option
    every: tuple[devices.Device, ...] | None
    """All devices that the option asks for; None: any that match."""
    needed: int


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Take:
    """The move to one more device for the current request."""

    choice: results.Choice
    position: int
    """Index of the device among those of the node."""
    states: tuple[attributes.State, ...]
    """State of the claim's constraints, with this device."""


_Move = Begin | Take


class Search:
    """One search; `chosen` is the solution after `run` has returned True."""

    is_monotonic: ClassVar[bool] = True
    """If it finds nothing, it finds nothing when more devices are in use."""

    def __init__(
        self,
        problem: Problem,
        view: inventories.NodeView,
        held: holdings.Holdings,
        every: Callable[[device_requests.Option], tuple[devices.Device, ...]],
    ) -> None:
        """`every` returns the devices of an option that asks for all; `held` is changed."""
        self._problem, self._view, self._held, self._every = problem, view, held, every
        self.chosen: list[results.Choice] = []
        self._path: list[_Move] = []
        self._begun: list[Begin] = []
        """The alternatives of the requests so far; the last one may not be complete."""
        self._taken: list[int] = []
        """Number of devices taken for each of them."""
        self._states: list[tuple[attributes.State, ...]] = []
        """States of the constraints of its claim, after each device."""

    # ------------------------------------------------------------------- the stack

    def run(self) -> bool:
        """Search; return whether there is a solution."""
        if self._is_complete():  # there are no requests
            return True
        stack = [self._moves()]
        while stack:
            self._problem.check_time()
            move = next(stack[-1], None)
            if move is None:
                stack.pop()
                if self._path:
                    self._undo()
                continue
            self._do(move)
            if self._is_complete():
                return True
            stack.append(self._moves())
        return False

    def _is_complete(self) -> bool:
        return len(self._begun) == len(self._problem.requests) and self._is_request_complete()

    def _is_request_complete(self) -> bool:
        return not self._begun or self._taken[-1] == self._begun[-1].needed

    def _results_of(self, claim: int) -> int:
        count = 0
        for choice in reversed(self.chosen):
            if choice.claim != claim:
                break
            count += 1
        return count

    def _constraint_states(self, claim: int) -> tuple[attributes.State, ...]:
        if self.chosen and self.chosen[-1].claim == claim:
            return self._states[-1]
        return (None,) * len(self._problem.constraints[claim])

    # ------------------------------------------------------------------- moves

    def _moves(self) -> Iterator[_Move]:
        if self._is_request_complete():
            return self._beginnings()
        if self._begun[-1].every is not None:
            return self._next_of_all(self._begun[-1].every)
        return self._devices()

    def _beginnings(self) -> Iterator[Begin]:
        """Yield the alternatives of the next request that the limit of the claim allows."""
        request = self._problem.requests[len(self._begun)]
        room = device_requests.DEVICES_PER_CLAIM_MAX - self._results_of(request.claim)
        for option in request.options:
            every = self._every(option) if option.count is None else None
            needed = len(every) if every is not None else option.count or 0
            if 0 < needed <= room:
                yield Begin(option, every, needed)

    def _next_of_all(self, every: tuple[devices.Device, ...]) -> Iterator[Take]:
        """Yield the next device of a request for all. Raises AllocationError for a constraint."""
        option, device, claim = self._begun[-1].option, every[self._taken[-1]], self._claim_now()
        if not self._held.can_take(claim, option, device):
            return
        states = self._accepted(claim, option, device)
        if states is None:
            raise refused_by_constraint(option, device)
        if (choice := self._held.choice(claim, option, device)) is not None:
            yield Take(choice, -1, states)

    def _devices(self) -> Iterator[Take]:
        """Yield the devices that can be taken next.

        Devices up to the last one taken for the request are left out: their turn came earlier, and
        no device, shared or not, is taken twice for one request.
        """
        option, claim = self._begun[-1].option, self._claim_now()
        for position in range(self._first_position(), len(self._view.devices)):
            if position % DEVICES_BETWEEN_CHECKS == DEVICES_BETWEEN_CHECKS - 1:
                self._problem.check_time()
            device = self._view.devices[position]
            if (move := self._taking(claim, option, device, position)) is not None:
                yield move

    def _first_position(self) -> int:
        last = self._path[-1]
        return last.position + 1 if isinstance(last, Take) else 0

    def _taking(
        self, claim: int, option: device_requests.Option, device: devices.Device, position: int
    ) -> Take | None:
        if self._held.is_held(claim, option, device) or not device.satisfies(option.selectors):
            return None
        if not self._held.can_take(claim, option, device):
            return None
        states = self._accepted(claim, option, device)
        choice = self._held.choice(claim, option, device) if states is not None else None
        return None if states is None or choice is None else Take(choice, position, states)

    def _accepted(
        self, claim: int, option: device_requests.Option, device: devices.Device
    ) -> tuple[attributes.State, ...] | None:
        states = self._constraint_states(claim)
        return attributes.accept_all(self._problem.constraints[claim], states, option, device)

    def _claim_now(self) -> int:
        return self._problem.requests[len(self._begun) - 1].claim

    # ------------------------------------------------------------------- doing and undoing

    def _do(self, move: _Move) -> None:
        self._path.append(move)
        if isinstance(move, Begin):
            self._begun.append(move)
            self._taken.append(0)
            return
        self._taken[-1] += 1
        self._states.append(move.states)
        self.chosen.append(move.choice)
        self._held.take(move.choice)

    def _undo(self) -> None:
        move = self._path.pop()
        if isinstance(move, Begin):
            self._begun.pop()
            self._taken.pop()
            return
        self._held.give_back(move.choice)
        self.chosen.pop()
        self._states.pop()
        self._taken[-1] -= 1


def refused_by_constraint(
    option: device_requests.Option, device: devices.Device
) -> device_requests.AllocationError:
    return device_requests.AllocationError(
        f"request {option.name}: cannot add device {device.id} because a claim constraint"
        " would not be satisfied"
    )
