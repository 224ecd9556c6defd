"""The scripts of a token, of a finding, or in a file."""

import dataclasses
import hashlib
import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence

from harness import errors, regular_files, suggestions, writing
from harness.confirmation import derived_scripts, needed_orders, script_files
from harness.explore.search import tokens
from harness.scenario import hazards, loading, script_specs

_TOKEN = re.compile(r"fh\d+-")
_OPTIONS: Mapping[str, str] = {
    "kube-scheduler": " --subject kube-scheduler=./kube-scheduler",
    "kube-controller-manager": " --claim-controller kube-controller-manager=./kube-controller-manager",
}
"""Program of Kubernetes -> the option that puts it into a run."""
_OPEN_KEYS = ("limits.", "recording.", "subject.", "traffic.deadline_s")
"""The keys of a scenario that can be changed without changing what its script needs."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The scripts to play."""

    scripts: Sequence[loading.Loaded]
    notes: Sequence[str] = ()
    """Lines about where they come from."""
    token: tokens.Token | None = None
    """The token from which they were derived; None: they were written by hand."""
    is_shortened: bool = True
    """True if a late step may be left out."""


def chosen(
    what: str,
    folder: pathlib.Path,
    *,
    file: pathlib.Path | None = None,
    overrides: Sequence[str] = (),
) -> Chosen:
    """Return the scripts of a token, of the id of a finding, or in a file.

    A derived script is written into `folder`, or into `file`. Raises UsageError if there is none,
    if `file` is there with other contents, or if an override changes what a script needs.
    """
    _require_open(overrides)
    if _TOKEN.match(what.strip()):
        token = tokens.parse(what)
        return _of_token(token, file or folder, overrides, is_named=file is not None)
    if file is not None:
        raise errors.UsageError(
            f"expected --write with a token, got it with {what}: its script is a file already: "
            "copy that, and change the copy. Shipped ones are in scenarios/confirm"
        )
    if (page := hazards.find(what)) is not None:
        return _of_finding(page.hazard, overrides)
    return Chosen(scripts=[_of_file(what, overrides)])


def _require_open(overrides: Sequence[str]) -> None:
    for text in overrides:
        if not text.startswith(_OPEN_KEYS):
            raise errors.UsageError(
                f"expected --set of limits, recording, subject or traffic.deadline_s, got {text!r}: "
                "the script needs everything else as it is. Write it into a file (--write), change "
                "that, and confirm the file"
            )


def _of_file(what: str, overrides: Sequence[str]) -> loading.Loaded:
    if not what.endswith(".toml") and not pathlib.Path(what).exists():
        known = [*hazards.pages(), *loading.script_names()]
        if what not in (*known, *loading.every_name()):
            raise errors.UsageError(
                f"expected a token of `flake-hunt explore`, the id of a finding, or a script, got "
                f"{what!r}.{suggestions.listed(what, known, title='Known', where='docs/findings')}"
            )
    loaded = loading.load(what, overrides=overrides)
    if not isinstance(loaded.scenario.traffic, script_specs.ScriptTraffic):
        raise errors.UsageError(
            f'expected a scenario with traffic.profile = "script", got {loaded.scenario.name}, which '
            "makes load: play it with `flake-hunt run`"
        )
    return loaded


# ------------------------------------------------------------------------------ findings


def _of_finding(hazard: hazards.Hazard, overrides: Sequence[str]) -> Chosen:
    names = hazards.scripts(hazard)
    if not names:
        raise errors.UsageError(
            f"expected a finding with a script, got {hazard.id} ({hazard.title}).{_instead(hazard)}"
        )
    scripts = [loading.load(name, overrides=overrides) for name in names]
    notes = [f"{hazard.id}: {', '.join(names)}"]
    return Chosen(scripts=scripts, notes=notes, is_shortened=False)


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


# ------------------------------------------------------------------------------- tokens


def _of_token(
    token: tokens.Token, path: pathlib.Path, overrides: Sequence[str], *, is_named: bool
) -> Chosen:
    order = needed_orders.of_token(token)
    if order is None:
        raise errors.UsageError(_not_by_order(token))
    digest = hashlib.sha256(str(token).encode()).hexdigest()[:8]
    name = path.stem if is_named else f"{token.scenario}-{digest}"
    file = path if is_named else path / f"{name}.toml"
    text = script_files.text(derived_scripts.document(token, order, name=name))
    if is_named:
        _require_new(file, text)
    file.parent.mkdir(parents=True, exist_ok=True)
    writing.replace(file, text.encode())
    notes = [f"the script was derived from the world {token.scenario}: {file}"]
    if not order.is_own:
        notes.append(
            "this very interleaving needs an order of threads inside one process; the script has "
            "another one of the same world with the same finding"
        )
    return Chosen(scripts=[loading.load(str(file), overrides=overrides)], notes=notes, token=token)


def _require_new(file: pathlib.Path, text: str) -> None:
    """Raise UsageError if there is a file with other contents, which may have been edited."""
    if file.exists() and not (file.is_file() and regular_files.content(file) == text.encode()):
        raise errors.UsageError(
            f"expected a new file for --write, got {file}, which is there with other contents: "
            "name another one, or remove it"
        )


def _not_by_order(token: tokens.Token) -> str:
    hazard = token.spec.hazard
    page = hazards.find(hazard.hypothesis) if hazard is not None else None
    return (
        f"expected a finding that follows from the order of API events, but that of {token.scenario} "
        "needs an order of threads inside one process, which cannot be commanded from outside."
        f"{_instead(page.hazard) if page is not None else ''}"
    )


def steps(found: Chosen) -> Iterator[str]:
    """Yield the steps of each script as clauses."""
    for script in found.scripts:
        traffic = script.scenario.traffic
        if isinstance(traffic, script_specs.ScriptTraffic):
            yield f"{script.scenario.name}:"
            yield from (f"{number:4}. {step.text}" for number, step in enumerate(traffic.steps, 1))
