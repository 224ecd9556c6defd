"""Judges, at rest, that what a scheduler believes is what the API has.

The scheduler writes its final books as steps.
"""

from collections.abc import Callable, Iterator

from harness import concurrency
from harness.explore.worlds.oracles import states
from harness.model.objects import Object


def differing(state: states.State) -> str | None:
    """Return how the books of a scheduler differ from the claims of the API; None: none do.

    Shares of devices are not compared.
    """
    found = (_difference(write_books, state.claims) for write_books in state.books)
    return next(filter(None, found), None)


def _difference(write_books: Callable[[], None], known: list[Object]) -> str | None:
    """Compare the books; `write_books` takes the steps of `subject.final_books`."""
    steps: list[tuple[str, concurrency.StepFields]] = []
    with concurrency.listening(lambda name, fields: steps.append((name, fields))):
        write_books()
    return _devices_differ(steps, known) or _versions_differ(steps, known) or _in_flight(steps)


def _devices_differ(
    steps: list[tuple[str, concurrency.StepFields]], claims: list[Object]
) -> str | None:
    believed = {
        device
        for name, fields in steps
        if name == "scheduler.books.devices"
        for device in fields["devices"]
    }
    allocated = {device for claim in claims for device in _exclusive(claim)}
    if believed == allocated:
        return None
    return (
        f"books: the scheduler believes in {_listed(believed)}, allocated is {_listed(allocated)}"
    )


def _versions_differ(
    steps: list[tuple[str, concurrency.StepFields]], claims: list[Object]
) -> str | None:
    believed = {
        entry["uid"]: entry["version"]
        for name, fields in steps
        if name == "scheduler.books.claims"
        for entry in fields["claims"]
    }
    for claim in claims:
        meta = claim["metadata"]
        version = believed.pop(meta["uid"], None)
        if version != meta["resourceVersion"]:
            return (
                f"books: the scheduler knows version {version} of {meta['name']}, "
                f"not {meta['resourceVersion']}"
            )
    if believed:
        return f"books: the scheduler knows {len(believed)} claims that are gone"
    return None


def _in_flight(steps: list[tuple[str, concurrency.StepFields]]) -> str | None:
    name, fields = steps[-1]
    if name != "scheduler.books" or fields["in_flight"]:
        return f"books: {len(fields.get('in_flight', ()))} claims are in flight"
    return None


def _exclusive(claim: Object) -> Iterator[str]:
    allocation = claim.get("status", {}).get("allocation") or {}
    for result in allocation.get("devices", {}).get("results") or ():
        if not result.get("adminAccess") and not result.get("shareID"):
            yield f"{result['driver']}/{result['pool']}/{result['device']}"


def _listed(devices: set[str]) -> str:
    return ", ".join(sorted(devices)) or "no device"
