"""Mutants of the search: what a claim asks for is not asked of the devices. None was ever shipped.

The API server accepts any allocation, and kubelets prepare what is allocated, so that pods run with
devices that they must not have, or with too few.
"""

import dataclasses
from collections.abc import Iterator

from harness.subject.allocation import allocators, attributes, device_requests, devices, searches


class _SelectorsNotAskedSearch(searches.Search):
    def _taking(
        self, claim: int, option: device_requests.Option, device: devices.Device, position: int
    ) -> searches.Take | None:
        unselective = dataclasses.replace(option, selectors=())
        return super()._taking(claim, unselective, device, position)


class SelectorsNotAskedAllocator(allocators.Allocator):
    """The selectors of requests and classes are not asked: a claim gets any device of its node.

    So a claim for a quarter of a GPU gets a whole one, and a claim for one kind of device another
    kind. A mutant; no release is known to be affected.
    """

    search_class = _SelectorsNotAskedSearch


class _ConstraintsNotAskedSearch(searches.Search):
    def _accepted(
        self, claim: int, option: device_requests.Option, device: devices.Device
    ) -> tuple[attributes.State, ...] | None:
        del option, device
        return self._constraint_states(claim)


class ConstraintsNotAskedAllocator(allocators.Allocator):
    """The constraints of claims are not asked: `matchAttribute` and `distinctAttribute` do nothing.

    So a claim for a GPU and a network card of one NUMA node gets them from two. A mutant; releases
    up to 1.36.2 have related mistakes, in what a search that gives a device up again remembers of
    it.
    """

    search_class = _ConstraintsNotAskedSearch


class _OneDeviceEnoughSearch(searches.Search):
    def _beginnings(self) -> Iterator[searches.Begin]:
        for move in super()._beginnings():
            yield dataclasses.replace(move, needed=1)


class OneDeviceEnoughAllocator(allocators.Allocator):
    """A request is satisfied by one device, however many it asks for.

    A mutant; no release is known to be affected.
    """

    search_class = _OneDeviceEnoughSearch
