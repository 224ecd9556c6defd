"""Steps of a subject that gives a device away twice, in the orders that are known."""

from collections.abc import Sequence

from harness.history import records
from tests.histories import building, language

DEVICE = language.device_id("D1")
TEXT = "a+D1 a^p p* b+D1 b^q q* a~ b~"
A, B, C = "uid-a", "uid-b", "uid-c"
Line = tuple[str, str, dict[str, object]]
"""thread, name, fields"""


def added(claim: str, device: str = DEVICE) -> Line:
    """The scheduling thread plans a claim."""
    return "scheduling", "in-flight.added", {"claim": claim, "device": device}


def inserted(claim: str, thread: str = "binder-0") -> Line:
    """The device is put among the allocated ones."""
    return thread, "allocated-devices.inserted", {"claim": claim, "device": DEVICE}


def freed(claim: str) -> Line:
    """The device is taken out of the allocated ones."""
    return "informer", "allocated-devices.removed", {"claim": claim, "device": DEVICE}


def removed(claim: str, *, found: bool = True) -> Line:
    """The claim leaves the claims in flight."""
    return "binder-0", "in-flight.removed", {"claim": claim, "found": found}


def gather(name: str) -> Line:
    """A step of a gather."""
    return "scheduling", f"gather.{name}", {"count": 0}


STARTED, CLONED = gather("started"), gather("devices.cloned")
LISTED, FINISHED = gather("in-flight.listed"), gather("finished")
GATHER = [STARTED, CLONED, LISTED, FINISHED]

NOT_ATOMIC = [added(A), STARTED, CLONED, inserted(A), removed(A), LISTED, FINISHED, added(B)]
EARLY_RETURN = [added(A), removed(A), *GATHER, added(B), inserted(A, "informer"), removed(B)]
BRED = [added(A), inserted(A), removed(A), freed(C), *GATHER, added(B), inserted(B), removed(B)]
SOUND = [added(A), inserted(A), removed(A), *GATHER, added(B)]


def steps(lines: Sequence[Line], *, first_ns: int = language.at(1)) -> list[records.Step]:
    """The lines as steps, a tenth of a millisecond apart."""
    return [
        building.step(seq, thread, name, first_ns + seq * 100_000, **fields)
        for seq, (thread, name, fields) in enumerate(lines)
    ]
