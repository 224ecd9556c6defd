"""An API server that ends and starts again."""

from collections.abc import Iterator, Sequence
from typing import Literal

from harness.scenario.fault_kinds import fault
from harness.scenario.fields import Seconds

_RESTARTABLE = {"embedded": "add --cluster storage=disk"}
"""How the API server of a provider can be made restartable."""


class RestartApiServer(fault.RepeatedFault):
    """The API server ends and starts again on its data."""

    kind: Literal["restart-api-server"]
    kill: bool = False
    """End it with SIGKILL instead of in an orderly way."""
    down_s: Seconds = 0.5
    """Seconds between its end and its new start."""

    once = "down_s"
    effect = fault.Effect.API_SERVER
    clause = "the API server was restarted"
    drawn = {"kill": lambda dice: dice.random() < 0.5, "down_s": fault.LAG}
    may_restart_api_server = True

    def objections(self, run: fault.Run) -> Iterator[str]:
        if not run.is_alone:
            yield (
                "expected a cluster of this run alone, because others would lose their API server: "
                "use --cluster embedded, local or kind, or remove the fault"
            )
        elif not run.restarts_api_server:
            remedy = _RESTARTABLE.get(run.provider, "use --cluster local")
            yield (
                "expected a cluster whose API server can be restarted on its data, got "
                f"{run.provider!r}, which cannot: {remedy}, or remove the fault"
            )

    def what(self, clients: Sequence[str]) -> str:
        """Return how the API server ends, and when it starts again."""
        del clients
        end = "is killed" if self.kill else "is stopped"
        return f"the API server {end} and starts again {self.down_s:g} s later{self.repetition}"


KINDS = (RestartApiServer,)
