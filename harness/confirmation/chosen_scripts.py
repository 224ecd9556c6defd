"""The scripts of a finding, or in a file."""

import pathlib
from collections.abc import Iterator, Mapping, Sequence

from harness import errors, suggestions, writing
from harness.scenario import hazards, loading, script_specs

_OPTIONS: Mapping[str, str] = {
    "kube-scheduler": " --subject kube-scheduler=./kube-scheduler",
    "kube-controller-manager": " --claim-controller kube-controller-manager=./kube-controller-manager",
}
"""Program of Kubernetes -> the option that puts it into a run."""
_OPEN_KEYS = ("limits.", "recording.", "subject.", "traffic.deadline_s")
"""The keys of a scenario that can be changed without changing what its script needs."""


def chosen(what: str, *, overrides: Sequence[str] = ()) -> list[loading.Loaded]:
    """Return the scripts of the id of a finding, or in a file.

    Raises UsageError if there is none, or if an override changes what a script needs.
    """
    for text in overrides:
        if not text.startswith(_OPEN_KEYS):
            raise errors.UsageError(
                f"expected --set of limits, recording, subject or traffic.deadline_s, got {text!r}: "
                "the script needs everything else as it is. Write it into a file (--write), change "
                "that, and confirm the file"
            )
    if (page := hazards.find(what)) is not None:
        return _of_finding(page.hazard, overrides)
    return [_of_file(what, overrides)]


def write(scripts: Sequence[loading.Loaded], file: pathlib.Path) -> None:
    """Write the script into a new file, to change it.

    Raises UsageError if there are several, or if the file exists, which may have been edited.
    """
    if len(scripts) != 1:
        names = ", ".join(script.scenario.name for script in scripts)
        raise errors.UsageError(f"expected one script with --write, got {names}: name one of them")
    if file.exists():
        raise errors.UsageError(
            f"expected a new file for --write, got {file}, which exists: name another one, or remove "
            "it"
        )
    writing.replace(file, scripts[0].text.encode())


def _of_file(what: str, overrides: Sequence[str]) -> loading.Loaded:
    if not what.endswith(".toml") and not pathlib.Path(what).exists():
        known = [*hazards.pages(), *loading.SHELF.names(loading.CONFIRM)]
        if what not in (*known, *loading.every_name()):
            raise errors.UsageError(
                f"expected the id of a finding, or a script, got "
                f"{what!r}.{suggestions.listed(what, known, title='Known', where='docs/findings')}"
            )
    loaded = loading.load(what, overrides=overrides)
    if not isinstance(loaded.scenario.traffic, script_specs.ScriptTraffic):
        raise errors.UsageError(
            f'expected a scenario with traffic.profile = "script", got {loaded.scenario.name}, which '
            "makes load: play it with `flake-hunt run`"
        )
    return loaded


def _of_finding(hazard: hazards.Hazard, overrides: Sequence[str]) -> list[loading.Loaded]:
    names = hazards.scripts(hazard)
    if not names:
        raise errors.UsageError(
            f"expected a finding with a script, got {hazard.id} ({hazard.title}).{_instead(hazard)}"
        )
    return [loading.load(name, overrides=overrides) for name in names]


def _instead(hazard: hazards.Hazard) -> str:
    """Return the load that shows a finding, or else where to read why none does, as a sentence.

    If only real programs have it, the load is one in which they did it.
    """
    option = "".join(_OPTIONS.get(part, "") for part in hazard.parts)
    tried = [trial.how for trial in hazard.programs if trial.shown]
    others = [f"{name}{option}" for name in loading.every_name() if name in tried]
    commands = [f"`flake-hunt run {words}`" for words in hazards.scenarios(hazard) or others]
    if not commands:
        return " Its page in docs/findings says how it was tried"
    return f" Load shows it: {' or '.join(commands)}"


def steps(scripts: Sequence[loading.Loaded]) -> Iterator[str]:
    for script in scripts:
        traffic = script.scenario.traffic
        if isinstance(traffic, script_specs.ScriptTraffic):
            yield f"{script.scenario.name}:"
            yield from (f"{number:4}. {step.text}" for number, step in enumerate(traffic.steps, 1))
