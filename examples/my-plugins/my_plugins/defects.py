"""A known defect of the Python scheduler: what you want to be sure that your checks catch."""

from typing import Any

from harness.subject.tracking import gathering


class InFlightForgotten(gathering.Gatherer):
    """The devices of claims whose allocation is not written yet count as free."""

    def _add_in_flight(self, in_use: Any) -> None:
        """Leave the claims in flight out."""
