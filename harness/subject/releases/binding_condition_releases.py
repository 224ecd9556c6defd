"""Differences of the wait for binding conditions in the releases 1.36.2 and 1.34.2.

The feature is alpha and off by default in 1.34 (KEP-5007), beta and on since 1.36. Like the other
gates of DRA it is on here: an API server with the gate off removes the conditions from the slices,
so that the scheduler meets none.
"""

from collections.abc import Callable

from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.defects import panics
from harness.subject.objects import claims
from harness.subject.plugin import binding_conditions


class WaitingForeverConditions(binding_conditions.BindingConditions):
    """A claim that has lost its allocation is waited for until the time is up.

    As up to 1.36.2 and later: its conditions are looked for in an allocation that is not there. By
    default the wait ends, and the pod is tried again.
    """

    facts = replacements.Facts(
        name="lost-allocation-awaited",
        releases=replacements.Releases(first="1.35", last="1.36.2", is_open=True),
    )

    def _on_lost_allocation(self, key: str) -> None:
        del key

    def _is_ready(self, claim: Object) -> bool:
        return claims.allocation_of(claim) is not None and super()._is_ready(claim)


class PanickingConditions(binding_conditions.BindingConditions):
    """A claim that has lost its allocation ends the process by a nil dereference.

    As in 1.34.2: isPodReadyForBinding reads the results of an allocation that is not there. And the
    time limit is a constant of 600 s: the argument bindingTimeout came with 1.35
    (kubernetes#134905).
    """

    facts = replacements.Facts(
        name="lost-allocation-panics",
        releases=replacements.Releases(last="1.34"),
    )

    def __init__(
        self,
        claim_of: Callable[[str], Object | None],
        *,
        timeout_s: float = binding_conditions.TIMEOUT_S,
        announce: Callable[[Object, str], None] = lambda _pod, _node: None,
    ) -> None:
        del timeout_s
        super().__init__(claim_of, announce=announce)

    def _on_lost_allocation(self, key: str) -> None:
        raise panics.nil_dereference(key)
