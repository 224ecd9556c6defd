"""Turns of the loop: what a turn has decided is shown to nobody before all of it is settled (written to the log).

Every commit of a turn is settled at once, then come the answers and the events. The answer to a write and the events
it causes are two separate things: which a client sees first is not promised, exactly as in Kubernetes, and here a coin decides for
each connection, so that both orders happen often (one of the upstream races needs the event first).
"""

import asyncio
from collections.abc import Callable

Show = Callable[[], None]


class Turn:
    """The turn that is under way."""

    def __init__(self, settle: Callable[[], bool]) -> None:
        """`settle` says whether what was decided may be shown."""
        self._settle = settle
        self._phases: tuple[list[Show], list[Show], list[Show]] = ([], [], [])
        self._is_ending = False
        self.is_settled = False
        """Whether what was decided is being shown just now."""
        self._loop = asyncio.get_running_loop()

    def show_answer(self, show: Show, *, after_events: bool) -> None:
        """Call this when the turn is settled, before or after the events."""
        self._phases[2 if after_events else 0].append(show)
        self.end_soon()

    def show_events(self, show: Show) -> None:
        """Call this when the turn is settled, between the answers."""
        self._phases[1].append(show)
        self.end_soon()

    def end_soon(self) -> None:
        """Settle when everything that is ready to be read was read, even if there is nothing to show."""
        if not self._is_ending:
            self._is_ending = True
            self._loop.call_soon(self._end)

    def _end(self) -> None:
        self._is_ending = False
        phases, self._phases = self._phases, ([], [], [])
        if not self._settle():
            return
        self.is_settled = True
        try:
            for shows in phases:
                for show in shows:
                    show()
        finally:
            self.is_settled = False
