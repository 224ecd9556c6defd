"""Says which lines a log lacks, and which verbosity or release would have written them."""

from collections import Counter
from collections.abc import Iterator

from harness.log_analysis import log_files, messages
from harness.log_analysis.analysis_results import Analysis
from harness.log_analysis.double_allocations import DoubleAllocation
from harness.log_analysis.messages import Message
from harness.log_analysis.signatures.causes import Cause, Signature

FIXED = "1.32.12, 1.33.8, 1.34.4, 1.35.1 and 1.36"
"""The first releases with the two fixes, which also brought the lines about gathers."""
_ASK = "run the scheduler with -v=6"


def of_finding(found: DoubleAllocation, cause: Cause, counts: Counter[Message]) -> Iterator[str]:
    """Yield what is missing for a certain signature."""
    if cause.is_certain and cause.signature is not Signature.UNKNOWN:
        return
    if not counts[Message.OBSERVED]:
        yield f"no line “{Message.OBSERVED}”: {_ASK}"
    if not counts[Message.RESERVED]:
        yield f"no line “{Message.RESERVED}”: {_ASK}"
    if not counts[Message.REMOVED]:
        yield (
            f"no line “{Message.REMOVED}”, which newer releases write at -v=5 (those with the "
            f"fixes: {FIXED})"
        )
    if not any(counts[start] for start in messages.GATHER_STARTS):
        yield f"no line “{Message.GATHER_STARTED}”, which newer releases write at -v=6"
    if found.second.reserved is not None and not found.second.is_listing_known:
        yield "no lines of what the gather listed as in flight (-v=6), or they are too far back"


def reasons(analysis: Analysis) -> Iterator[str]:
    """Yield why logs without a double allocation say nothing about it."""
    yield from _unread(analysis)
    if not analysis.counts:
        yield (
            "no line of a scheduler was recognized: expected lines of klog, ktesting or JSON as "
            f"kube-scheduler writes them at -v=6; {_ASK}"
        )
    elif not analysis.allocations and not analysis.plans:
        yield f"the log shows no allocation of a device: {_ASK}"
    elif analysis.suspected:
        (device, (first, second)), count = analysis.suspected[0], len(analysis.suspected)
        many = f"{count} devices were each" if count > 1 else "a device was"
        yield (
            f"{many} planned for two claims ({device} for {first} and {second}), and the log does "
            f"not show whether the first one was released, or the second one stored: {_ASK}, and "
            "give the whole log"
        )
    elif not analysis.allocations and not _are_stored(analysis):
        yield f"the log shows plans for {analysis.plans} claims only, and no allocation: {_ASK}"
    if any(not stale.is_followed for stale in analysis.stale):
        yield (
            "a gather missed a device, or may have missed it, and the log ends before it shows "
            "what was allocated then"
        )


def _unread(analysis: Analysis) -> Iterator[str]:
    for file in analysis.files:
        if file.damage:
            name = "standard input" if file.name == log_files.STDIN else file.name
            yield f"{name}: {file.damage}"
    for gap, count in analysis.gaps.items():
        if count:
            yield f"{gap.counted(count)}: give the whole log, as the scheduler wrote it"
    is_plans_only = analysis.plans and not analysis.allocations
    if is_plans_only and not analysis.counts.get(Message.PRE_FILTER):
        yield (
            f"no line “{Message.PRE_FILTER}”, which is written before each plan: give the whole "
            "log, without a filter"
        )


def _are_stored(analysis: Analysis) -> bool:
    names = (Message.WRITTEN, Message.ASSUMED, Message.BOUND)
    return any(analysis.counts.get(name.value) for name in names)
