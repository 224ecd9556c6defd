"""The rules that steps of a script switch on, and what is seen of them.

In test_holding.txt, a call of `Holds` leads to the rules that are on then, or to what it returns.
"""

import json
from typing import Any

import msgspec
import pydantic
import pytest

from harness.faults import injection, matching
from harness.run.faulting.scripted import holding
from harness.scenario import script_specs
from tests.support import text_tables

STEPS = pydantic.TypeAdapter[Any](script_specs.AnyStep)


class Session:
    """The rules that are on, in a registry."""

    def __init__(self) -> None:
        self.faults, self.kinds = injection.Faults(call_later=lambda *_: None), dict[str, str]()

    def switch_on(self, rule: Any, *, kind: str) -> None:
        self.faults.add(msgspec.convert(rule, injection.FaultSpec))
        self.kinds[rule["name"]] = kind

    def switch_off(self, name: str) -> None:
        self.faults.remove(name)

    def applied(self) -> list[injection.Applied]:
        return list(self.faults.applied)

    def told(self) -> str:
        """Return the rules: name, kind, point, count, and fields of action and match."""
        rules = []
        for fault in self.faults.all():
            spec, kind = fault.spec, self.kinds[fault.name]
            known = msgspec.structs.asdict(spec.match) | msgspec.structs.asdict(spec.action)
            known = {key: value for key, value in known.items() if value not in ("", (), False)}
            told = json.dumps(known, separators=(",", ":"))
            tag = spec.action.__struct_config__.tag
            rules.append(f"{fault.name} {kind} {spec.point} {tag} {spec.count or '-'} {told}")
        return "; ".join(rules) or "none"


def call(holds: holding.Holds, session: Session, text: str) -> str:
    name, *given = json.loads(text)
    if name == "seen":
        facts = matching.Facts(
            path="/", **dict(zip(("client", "verb", "resource"), given, strict=True))
        )
        session.faults.strike("request", facts)
        return ""
    arguments = [STEPS.validate_python(it) if isinstance(it, dict) else it for it in given]
    found = getattr(holds, name)(*arguments)
    if isinstance(found, injection.Applied):
        return f"{found.fault} {found.sequence}"
    return session.told() if found is None and name != "applied" else str(sorted(found or ()))


@pytest.mark.parametrize("steps", text_tables.cases(__file__, "test_holding.txt"))
def test_rules(steps: str) -> None:
    session = Session()
    holds = holding.Holds(session, namespace="ns")  # type: ignore[arg-type]
    for step in steps.split(" ;; "):
        done, arrow, expected = step.partition(" -> ")
        told = call(holds, session, done.strip())
        assert not arrow or told == expected.strip(), done
