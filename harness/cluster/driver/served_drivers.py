"""The driver as kubelets call it from outside: they only name claims, and repeat calls at any time.

So an Unprepare may overtake a Prepare that is slow. Calls for one claim on a node are handled one
after the other, and a claim is read when it is its turn.
"""

import contextlib
import fcntl
import pathlib
from collections.abc import Iterable, Iterator, Sequence

from harness import concurrency, errors
from harness.cluster.driver import claim_reading, device_statuses, drivers
from harness.cluster.kubelet_api import preparations
from harness.model.objects import Object


class ServedDriver:
    """Answers the calls of kubelets. Thread-safe."""

    def __init__(
        self,
        driver: drivers.Driver,
        *,
        reader: claim_reading.ClaimReader,
        at: drivers.Moments,
        lock_file: pathlib.Path | None = None,
        statuses: device_statuses.DeviceStatuses | None = None,
    ) -> None:
        """`lock_file`: another instance of the driver may work with the same state folder.

        `statuses` None: nothing is reported in the claims.
        """
        self._statuses = statuses
        self.driver, self._reader, self._at, self._lock_file = driver, reader, at, lock_file
        self._guard = concurrency.lock("driver.turns")
        self._turns: dict[tuple[str, str], _Turn] = {}
        """Node and uid of the claims that calls are about at this time."""

    def prepare(self, claims: Iterable[preparations.ClaimReference], node: str) -> drivers.Prepared:
        """Prepare the claims of one call; each has its own answer."""
        self.driver.wait_to_prepare()
        return {claim.uid: drivers.answer(self._prepare_one, claim, node) for claim in claims}

    def unprepare(
        self, claims: Sequence[preparations.ClaimReference], node: str
    ) -> drivers.Unprepared:
        """Unprepare the claims of one call; one that is not prepared is a success."""
        self.driver.begin_unprepare(claims, node)
        return {claim.uid: drivers.answer(self._unprepare_one, claim, node) for claim in claims}

    def _prepare_one(self, claim: preparations.ClaimReference, node: str) -> preparations.Prepared:
        self._happened("prepare.received", claim)
        with _told(), self._turn(claim, node):
            found = self._reader.read(claim)
            self._happened("prepare.claim-read", claim)
            prepared = self.driver.prepare_claim(found, node)
            self._report(found, node)
        self._happened("prepare.before-answer", claim)
        return prepared

    def _unprepare_one(self, claim: preparations.ClaimReference, node: str) -> None:
        self._happened("unprepare.received", claim)
        with _told(), self._turn(claim, node):
            self.driver.unprepare_claim(claim, node)
        self._happened("unprepare.before-answer", claim)

    def _report(self, claim: Object, node: str) -> None:
        if self._statuses is not None:
            self._statuses.report(claim, self.driver.name, node)

    def _happened(self, moment: str, claim: preparations.ClaimReference) -> None:
        self._at(moment, f"{claim.namespace}/{claim.name}")

    @contextlib.contextmanager
    def _turn(self, claim: preparations.ClaimReference, node: str) -> Iterator[None]:
        """Wait until no other call is about the claim on the node."""
        key = node, claim.uid
        with self._guard:
            turn = self._turns.setdefault(key, _Turn())
            turn.waiting += 1
        try:
            with turn.lock, self._alone():
                yield
        finally:
            with self._guard:
                turn.waiting -= 1
                if not turn.waiting:
                    del self._turns[key]

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other instances out, and know what they have done."""
        if self._lock_file is None:
            yield
            return
        with self._lock_file.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.driver.load()
            yield


class _Turn:
    """A claim that calls are about."""

    def __init__(self) -> None:
        self.lock = concurrency.lock("driver.turn")
        self.waiting = 0
        """Number of calls that have the lock, or wait for it."""


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Raise PreparationError for an error of files, which the kubelet gets."""
    try:
        yield
    except errors.HarnessError as error:
        raise preparations.PreparationError("DriverFailed", str(error)) from error
