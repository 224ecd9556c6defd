"""A remedy for hypothesis H11: the outcome of a binding is unknown."""

from typing import Any

from harness import concurrency
from harness.client import apis, backoffs, transports
from harness.extensions import replacements
from harness.model.objects import Object
from harness.subject.objects import claims
from harness.subject.plugin import scheduling_attempts
from harness.subject.remedies import keep_in_flight, settled_claims
from harness.subject.scheduling import binding_cycle


@replacements.known_as("bind-again-until-known")
class BindAgainBinders(binding_cycle.Binders):
    def __init__(self, api: apis.Api, *parts: Any, **options: Any) -> None:
        super().__init__(api, *parts, **options)
        self._stopped = concurrency.Event("open-bindings.stopped")

    def stop(self) -> None:
        self._stopped.set()
        super().stop()

    def _write_binding(self, binding: binding_cycle.Binding) -> None:
        try:
            super()._write_binding(binding)
        except settled_claims.FAILURES as error:
            if not (_is_conflict(error) or keep_in_flight.is_outcome_unknown(error)):
                raise
            uid = claims.uid_of(binding.attempt.pod)
            concurrency.step("remedy.binding-unknown", pod=uid, reason=str(error))
            self._bind_until_known(binding)

    def _bind_until_known(self, binding: binding_cycle.Binding) -> None:
        """Return when the pod is bound, or this scheduler stops. Raises if it cannot be bound."""
        backoff_s = settled_claims.BACKOFF_FIRST_S
        while not self._is_bound_now(binding) and not self._stopped.wait(backoff_s):
            backoff_s = settled_claims.next_backoff_s(backoff_s)

    def _is_bound_now(self, binding: binding_cycle.Binding) -> bool:
        """Bind the pod again unless it is bound; return whether it certainly is."""
        uid = claims.uid_of(binding.attempt.pod)
        try:
            pod = self._read(binding)
            if not pod["spec"].get("nodeName"):
                super()._write_binding(binding)
        except settled_claims.FAILURES as error:
            if _is_refusal(error):
                raise
            concurrency.step("remedy.binding-open", pod=uid, reason=str(error))
            return False
        concurrency.step("remedy.binding-known", pod=uid)
        return True

    def _read(self, binding: binding_cycle.Binding) -> Object:
        """Return the pod; raises BindingError if no binding of it can be committed any more."""
        meta = binding.attempt.pod["metadata"]
        concurrency.step("remedy.pod-read", pod=meta["uid"])
        pod = self._api.get(apis.PODS, meta["name"], namespace=meta["namespace"])
        is_bound = bool(pod["spec"].get("nodeName"))
        if claims.uid_of(pod) != meta["uid"] or (claims.is_deleting(pod) and not is_bound):
            raise scheduling_attempts.BindingError(f"pod {meta['name']} is gone or being deleted")
        return pod


def _is_conflict(error: apis.ApiError | transports.TransportError) -> bool:
    return isinstance(error, apis.ApiError) and error.is_conflict


def _is_refusal(error: apis.ApiError | transports.TransportError) -> bool:
    return not _is_conflict(error) and not backoffs.is_transient(error)
