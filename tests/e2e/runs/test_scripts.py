"""Each shipped script on our scheduler and controller: confirmed, refuted by its remedies alone."""

import pathlib
from collections.abc import Mapping

import pytest

from harness.checks import verdict_files, verdicts
from harness.run import run_plan, runs
from harness.scenario import loading, script_specs

pytestmark = [
    pytest.mark.e2e,
    # Connections of threads that have ended are closed by the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

ALL = loading.SHELF.names(loading.CONFIRM)
SCENARIOS = {name: loading.load(name).scenario for name in ALL}
RELEASES: Mapping[str, str] = {
    "kubernetes-137897-never-bound": "1.36.2",
    "h22-claim-moved": "1.36.2",
    "h22-claim-replaced": "1.36.2",
}
"""Scripts of what no defect of our subject does, but a release that it may follow."""
RIGHT = [name for name in ALL if SCENARIOS[name].controls or name in RELEASES]
"""Scripts of what our subject does right by itself."""
OTHERS = ("keep-in-flight-until-known", "compare-devices-on-update")
"""Remedies of two hazards; the first one that is not a script's own does not help there."""
REMEDIES = [(name, remedy) for name in ALL for remedy in SCENARIOS[name].remedies]


def played(
    folder: pathlib.Path, name: str, *, remedy: str = "", defect: str = "", release: str = ""
) -> verdict_files.Judgement:
    plan = run_plan.plan(
        loading.load(name),
        seed=1,
        remedies=[remedy] if remedy else [],
        defects=[defect] if defect else [],
        release=release,
    )
    return runs.run(loading.load(name), plan, runs.new_directory(plan, folder))


def require_confirmed(name: str, judgement: verdict_files.Judgement) -> None:
    traffic = SCENARIOS[name].traffic
    assert isinstance(traffic, script_specs.ScriptTraffic)
    assert judgement.verdict is verdicts.Verdict.INVALID, judgement.reason
    assert sum(judgement.violations_of(check) for check in traffic.expects) > 0, judgement.reason


@pytest.mark.parametrize("name", ALL)
def test_every_script_is_confirmed_also_with_the_remedy_of_another_hazard(
    name: str, tmp_path: pathlib.Path
) -> None:
    own = SCENARIOS[name].remedies
    other = next(one for one in OTHERS if one not in own)
    defect = next(iter(SCENARIOS[name].controls), "")
    release = RELEASES.get(name, "")
    remedy = other if own else ""
    require_confirmed(name, played(tmp_path, name, remedy=remedy, defect=defect, release=release))


@pytest.mark.parametrize("name", RIGHT)
def test_what_our_subject_does_right_is_refuted(name: str, tmp_path: pathlib.Path) -> None:
    assert played(tmp_path, name).verdict is verdicts.Verdict.VALID


@pytest.mark.parametrize(("name", "remedy"), REMEDIES)
def test_a_remedy_refutes_its_scripts(name: str, remedy: str, tmp_path: pathlib.Path) -> None:
    judgement = played(tmp_path, name, remedy=remedy)
    assert judgement.verdict is verdicts.Verdict.VALID, judgement.reason
