"""How a run is repeated: the line that installs Flake Hunt, and one command."""

import shlex
from collections.abc import Iterator, Sequence

from harness.history import plans, subject_names
from harness.report.redaction import texts
from harness.reproduction.issue import markdown
from harness.scenario import hazards

_KEPT = ("--subject", "--claim-controller", "--cluster")
"""Options of a run that `confirm` needs, too."""


def section(plan: plans.Plan) -> Iterator[str]:
    """Yield the section; nothing if no command repeats the run."""
    token = str(plan.settings.get("token") or "")
    words = ["replay", token] if token else plan.again
    if not words:
        return
    yield "## Repeat it"
    version, commit = plan.versions.get("flake-hunt", ""), plan.versions.get("commit", "")
    lines = [f"pip install flake-hunt=={version}" + f"  # or its commit {commit}" * bool(commit)]
    yield markdown.block([*lines, _command(words)], "sh")
    text = f"Scenario {markdown.code(plan.scenario)}, seed {plan.seed}; exit code 10 means that it was found."
    if _is_script(plan) or token:
        yield text
        return
    yield f"{text} A race may need several tries."
    if confirming := _confirming(plan):
        yield f"Without luck, the same hazard ({plan.known_to_fail}) with the order of its events commanded:"
        yield markdown.block([_command(confirming)], "sh")


def _command(words: Sequence[str]) -> str:
    return shlex.join(["flake-hunt", *(texts.program(word) for word in words)])


def _confirming(plan: plans.Plan) -> list[str]:
    """Return the arguments that play a script of the hazard of the run; empty: it has none."""
    page = hazards.find(plan.known_to_fail)
    if page is None or not hazards.scripts(page.hazard):
        return []
    options = [word for name in _KEPT for text in _option(plan, name) for word in (name, text)]
    options += ["--as", plan.release] if plan.release and subject_names.is_ours(plan) else []
    return ["confirm", page.hazard.id, *options]


def _is_script(plan: plans.Plan) -> bool:
    traffic = plan.settings.get("traffic")
    return isinstance(traffic, dict) and traffic.get("profile") == "script"


def _option(plan: plans.Plan, name: str) -> list[str]:
    pairs = zip(plan.again, plan.again[1:], strict=False)
    given = [value for option, value in pairs if option == name]
    return given + [word.partition("=")[2] for word in plan.again if word.startswith(f"{name}=")]
