"""Build the distributions, and use the wheel in fresh environments.

    .venv/bin/python tools/wheel_test.py [PYTHON]

PYTHON creates the environments (default: the interpreter that runs this file). All commands run in
a temporary directory outside the checkout, so a file missing from the wheel makes them fail. The
source distribution has to give a wheel with the same files. Each extra, and the set of machines
that only judge, gets an environment of its own, in which the commands that it is for are run; those
of the extras see the packages of the first environment, so that little is installed twice. The exit
code is 0 if every command ended as expected, otherwise 1.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
TIMEOUT_S = 300
SIZE_MAX_MB = 300
"""Of an empty environment with the wheel."""
VALID, INVALID, UNKNOWN = 0, 10, 20
NOT_INHERITED = (
    *(
        "PYTHONPATH",
        "PYTHONHOME",
        "PYTHONDONTWRITEBYTECODE",
    ),  # without the last, each would compile
    *("VIRTUAL_ENV", "KUBECONFIG"),
)
TOKEN = re.compile(r"\bfh\d+-[\w.~-]+")
SHORT = (
    *("--set", "traffic.duration_s=1"),
    *("--set", "load.allocations_min=1"),
    *("--set", "load.pods_running_min=1"),
    *("--set", "load.reuse_min=0"),
)
DRIVER = (
    "command=python -m harness part driver --kubeconfig {kubeconfig} --node {node} --devices 4 "
    "--driver-name {driver} --set plugins_dir={plugins_dir} --set registry_dir={registry_dir} "
    "--set cdi_dir={cdi_dir} --state {state_dir}"
)
KINDS = {"scenarios", "clusters", "traffic", "checks", "subjects", "faults", "defects"}
SCENARIO = """
schema_version = 1
name = "small"
title = "a small churn"
description = "a campaign of one run"
controls = []
[pools]
nodes = 2
devices_per_node = 3
[traffic]
profile = "churn"
users = 8
duration_s = 1.0
wait_s = 10.0
[load]
allocations_min = 1
pods_running_min = 1
reuse_min = 0
"""

REPRODUCE = """
import pathlib
from harness.reproduction import reproducing
options = reproducing.Options(minutes=0, runs_max=3, confirmations=1, folder=pathlib.Path("again"))
reproducing.reproduce(pathlib.Path("found/latest").resolve(), options)
"""
"""As `flake-hunt reproduce found/latest --into again`, with fewer runs."""


class CheckError(Exception):
    """An installed command did not behave as expected."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """An environment with the wheel, and the directory in which its commands run."""

    binaries: pathlib.Path
    folder: pathlib.Path

    def flake_hunt(self, *arguments: str, expect: tuple[int, ...] = (VALID,)) -> str:
        """Run `flake-hunt` and return its output. Raises CheckError like `run`."""
        return self.run("flake-hunt", *arguments, expect=expect)

    def run(
        self, program: str, *arguments: str, expect: tuple[int, ...] = (VALID,), **variables: str
    ) -> str:
        """Run a program and return its output. Raises CheckError for an unexpected exit code."""
        started = time.monotonic()
        environment = {key: value for key, value in os.environ.items() if key not in NOT_INHERITED}
        environment["PATH"] = f"{self.binaries}:{environment['PATH']}"
        done = subprocess.run(
            [self.binaries / program, *arguments],
            cwd=self.folder,
            env={**environment, "XDG_STATE_HOME": str(self.folder / "state"), **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        words = " ".join([program, *arguments])
        if done.returncode not in expect:
            raise CheckError(
                f"{words[:200]}: expected exit code {expect}, got {done.returncode}\n{done.stdout}"
            )
        seconds = time.monotonic() - started
        print(f"  ok {done.returncode:3} {seconds:5.1f} s  {words[:110]}", flush=True)
        return done.stdout

    def require(self, pattern: str) -> pathlib.Path:
        """Return the one file that the pattern names; CheckError if there is none or it is
        empty.
        """
        found = list(self.folder.glob(pattern))
        if len(found) != 1 or not found[0].stat().st_size:
            raise CheckError(f"expected one file {pattern} that is not empty, found {found}")
        return found[0]


def build(source: pathlib.Path, folder: pathlib.Path, *targets: str) -> list[pathlib.Path]:
    """Build distributions of a source tree in a directory, and return their paths, wheels first."""
    wanted = [word for target in targets for word in ("-t", target)]
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), *wanted]
    subprocess.run(command, cwd=source, check=True, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S)
    return [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]


def require_same_wheel(sdist: pathlib.Path, wheel: pathlib.Path, folder: pathlib.Path) -> None:
    """Build a wheel of a source distribution; raise CheckError if it has other files."""
    with tarfile.open(sdist) as archive:
        # Python before 3.11.4 has no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)  # noqa: S202  (it is our own)
    (tree,) = folder.iterdir()
    (again,) = build(tree, folder / "dist", "wheel")
    ours, theirs = contents(wheel), contents(again)
    different = {name for name in ours.keys() | theirs if ours.get(name) != theirs.get(name)}
    if different:
        raise CheckError(
            f"expected the source distribution to give the same wheel, but it differs in "
            f"{', '.join(sorted(different)[:10])}"
        )
    print(f"{sdist.name}: gives a wheel with the same {len(ours)} files", flush=True)


def contents(wheel: pathlib.Path) -> dict[str, bytes]:
    """Return the files of a wheel by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def install(python: str, wheel: pathlib.Path, folder: pathlib.Path) -> Installed:
    """Install the wheel and its pinned dependencies in a new environment."""
    environment, empty = folder / "venv", folder / "empty"
    empty.mkdir(parents=True)
    subprocess.run([python, "-m", "venv", environment], check=True, timeout=TIMEOUT_S)
    pip = [environment / "bin" / "pip", "install", "-qq", "--disable-pip-version-check"]
    pins = ["--no-compile", "-c", ROOT / "constraints.txt"]
    subprocess.run([*pip, *pins, wheel], cwd=empty, check=True, timeout=TIMEOUT_S)
    require_slim(environment)
    return Installed(binaries=environment / "bin", folder=empty)


def require_slim(environment: pathlib.Path) -> None:
    """Print how much an environment takes; raise CheckError if that is too much."""
    found = sum(path.lstat().st_blocks for path in environment.rglob("*")) * 512 >> 20
    print(f"an empty environment with the wheel: {found} MB", flush=True)
    if found > SIZE_MAX_MB:
        raise CheckError(f"expected at most {SIZE_MAX_MB} MB in an environment, got {found} MB")


def install_extra(extra: str, wheel: pathlib.Path, base: Installed) -> Installed:
    """Return an environment that has what the base has, and the libraries of one extra."""
    environment = base.binaries.parent.parent / f"venv-{extra}"
    subprocess.run(
        [base.binaries / "python", "-m", "venv", "--without-pip", environment], check=True
    )
    python = environment / "bin" / "python"
    seen, own = (_packages(found) for found in (base.binaries / "python", python))
    (own / "base.pth").write_text(f"{seen}\n")
    options = ("-qq", "--disable-pip-version-check", "-c", str(ROOT / "constraints.txt"))
    pip = [base.binaries / "pip", "--python", python, "install", *options]
    subprocess.run([*pip, f"{wheel}[{extra}]"], cwd=base.folder, check=True, timeout=TIMEOUT_S)
    return Installed(binaries=environment / "bin", folder=base.folder)


def install_judge(python: str, wheel: pathlib.Path, folder: pathlib.Path) -> Installed:
    """Return an environment of the two commands that requirements-judge.txt begins with."""
    environment, empty = folder / "venv", folder / "empty"
    empty.mkdir(parents=True)
    subprocess.run([python, "-m", "venv", environment], check=True, timeout=TIMEOUT_S)
    pip = [environment / "bin" / "pip", "install", "-qq", "--disable-pip-version-check"]
    pins = ["-c", ROOT / "constraints.txt"]
    for what in (["--no-deps", wheel], [*pins, "-r", ROOT / "requirements-judge.txt"]):
        subprocess.run([*pip, *what], cwd=empty, check=True, timeout=TIMEOUT_S)
    return Installed(binaries=environment / "bin", folder=empty)


def _packages(python: pathlib.Path) -> pathlib.Path:
    command = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return pathlib.Path(done.stdout.strip())


def use_extras(wheel: pathlib.Path, base: Installed) -> None:
    """Run the commands that each extra is for, where they refuse without it."""
    run = ("run", "uses-all-resources", "--defect", "gather-not-atomic", "--until-found")
    # A race shows in most runs, and not in all of them.
    played = (base.flake_hunt(*run, "--reports", "found", expect=(INVALID, VALID)) for _ in "123")
    if not any("INVALID" in output for output in played):
        raise CheckError("expected a known defect to be found in one of three runs, got none")
    select = ("query", "found/latest", "select count(*) from holds")
    for extra, uses in {
        "kind": [
            (("doctor", "kind"), (VALID, 1)),
            (("run", "pod-churn", "--cluster", "kind"), (2,)),
        ],
        "analysis": [
            (select, (VALID,)),
        ],
        "driver": [(("driver-test", DRIVER, "--rules", "prepare"), (VALID,))],
    }.items():
        for words, _ in uses:
            base.flake_hunt(*words, expect=(2,) if words[0] != "doctor" else (1,))
        print(f"{extra}: installing", flush=True)
        with_extra = install_extra(extra, wheel, base)
        for words, expected in uses:
            output = with_extra.run("python", "-m", "harness", *words, expect=expected)
            if "which is not installed: pip install" in output:
                raise CheckError(f"expected {words[0]} to find the extra {extra}:\n{output}")


def reproduction(installed: Installed) -> None:
    """Reproduce a run without any extra."""
    installed.run("python", "-c", REPRODUCE)
    for name in ("README.md", "scenario.toml"):
        installed.require(f"again/{name}")


def judge(installed: Installed, runs: pathlib.Path) -> None:
    """Judge, render, compare and explain runs that another machine made."""
    found = str(runs.resolve())
    installed.flake_hunt("check", found, expect=(INVALID,))
    installed.flake_hunt("report", found)
    installed.flake_hunt("report", "--issue", found)
    installed.flake_hunt("compare", found, found, expect=(VALID, 2, UNKNOWN))
    installed.flake_hunt("run", "pod-churn", expect=(2,))


def use(installed: Installed) -> None:
    """Run every command that reads files of the package."""
    version(installed)
    single_run(installed)
    campaign(installed)
    exploration(installed)
    cluster(installed)
    examples(installed)
    plugins(installed)
    shards_of_a_plan(installed)


def version(installed: Installed) -> None:
    """Check that both entry points print one version and import the installed package."""
    printed = installed.flake_hunt("--version")
    if installed.run("python", "-m", "harness", "--version") != printed:
        raise CheckError(
            f"expected python -m harness to print the version of flake-hunt: {printed}"
        )
    where = installed.run("python", "-c", "import harness; print(harness.__file__)").strip()
    if ROOT in pathlib.Path(where).parents:
        raise CheckError(f"expected the installed package, imported {where}")


def single_run(installed: Installed) -> None:
    """Make a short run, then judge and report it again.

    UNKNOWN is accepted: the load may be too small on a slow machine.
    """
    installed.flake_hunt("run", "pod-churn", "--seed", "1", *SHORT, expect=(VALID, UNKNOWN))
    files = ("report.html", "junit.xml", "trace.json*", "verdict.json", "scenario.toml")
    for name in files:
        installed.require(f"reports/pod-churn/*/{name}")
    judged = json.loads(installed.require("reports/pod-churn/*/verdict.json").read_text())
    wanted = VALID if judged["verdict"] == "VALID" else UNKNOWN
    installed.flake_hunt("check", "reports/latest", expect=(wanted,))
    installed.require("reports/pod-churn/*/report.html").unlink()
    installed.flake_hunt("report", "reports/latest")
    installed.require("reports/pod-churn/*/report.html")


def campaign(installed: Installed) -> None:
    """Make a campaign of one run, and check its page."""
    (installed.folder / "small.toml").write_text(SCENARIO)
    options = ("--repeat", "1", "--jobs", "1")
    installed.flake_hunt("hunt", "small.toml", *options, expect=(VALID, UNKNOWN))
    installed.require("reports/campaigns/*/index.html")


def exploration(installed: Installed) -> None:
    """Find a known defect, and export its token as a page, a run directory and a test."""
    found = installed.flake_hunt(
        "explore", "--defect", "gather-not-atomic", "--seed", "1", expect=(INVALID,)
    )
    token = TOKEN.search(found)
    if token is None:
        raise CheckError(f"expected a token in the output of explore:\n{found}")
    files = ("--save", "saved", "--pytest", "test_again.py")
    installed.flake_hunt("replay", token[0], *files, expect=(INVALID,))
    for name in ("test_again.py", "saved/verdict.json", "saved/report.html"):
        installed.require(name)
    installed.flake_hunt("check", "saved", expect=(INVALID,))
    installed.run("python", "-m", "pytest", "-q", "-p", "no:locust", "test_again.py", expect=(1,))


def cluster(installed: Installed) -> None:
    """Start a persistent cluster, ask for its kubeconfig, and take it down."""
    installed.flake_hunt("cluster", "up", "wheel-test", "--nodes", "2")
    try:
        if "wheel-test" not in installed.flake_hunt("cluster", "list"):
            raise CheckError("cluster list does not name the cluster that is up")
        installed.flake_hunt("cluster", "kubeconfig", "wheel-test")
    finally:
        installed.flake_hunt("cluster", "down", "wheel-test")
    if "wheel-test" in installed.flake_hunt("cluster", "list"):
        raise CheckError("cluster list names the cluster that was taken down")


def examples(installed: Installed) -> None:
    """Lay the examples down and run their tests, which use both schedulers and the users."""
    installed.flake_hunt("init", ".")
    tests = ("-q", "-n", "2", "-p", "no:locust", "test_scheduler.py")
    print(installed.run("python", "-m", "pytest", "-rs", *tests).rstrip(), flush=True)


def plugins(installed: Installed) -> None:
    """Install the package of plug-ins among the examples, and use one of each kind."""
    pip = ("-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-deps")
    installed.run("python", *pip, "./my-plugins")
    installed.flake_hunt("doctor", "--plugins")
    scheduler = ("--subject", "my-scheduler", "--cluster", "short-memory", "--reports", "mine")
    installed.flake_hunt("run", "two-nodes", *scheduler)
    bug = ("--defect", "in-flight-forgotten", "--until-found", "--reports", "bug")
    installed.flake_hunt(
        "run", "two-nodes", "--set", "traffic.locustfile=impatient", *bug, expect=(INVALID,)
    )
    used = {
        plugin["kind"]
        for folder in ("mine", "bug")
        for plugin in json.loads(installed.require(f"{folder}/two-nodes/*/plan.json").read_text())[
            "plugins"
        ]
    }
    if used != KINDS:
        raise CheckError(f"expected a plug-in of each kind in the runs, got {sorted(used)}")


def shards_of_a_plan(installed: Installed) -> None:
    """Use what the examples for CI and Slurm call: the shards of a plan."""
    installed.flake_hunt(
        *(
            "shards",
            "plan",
            "--shards",
            "2",
            "-o",
            "plan.json",
            "hunt",
            "small.toml",
            "--repeat",
            "2",
        )
    )
    for task in ("1", "2"):
        script = ("/bin/bash", "campaign.sbatch")
        installed.run(*script, expect=(VALID, UNKNOWN), SLURM_ARRAY_TASK_ID=task)
    installed.flake_hunt("shards", "merge", "reports", "-o", "merged", expect=(VALID, UNKNOWN))
    if json.loads(installed.require("merged/merge.json").read_text())["missing_shards"]:
        raise CheckError("expected that no shard is missing")


def main(python: str) -> int:
    """Test both distributions, and print the first failure; return the exit code."""
    with tempfile.TemporaryDirectory(prefix="flake-hunt-wheel-") as name:
        folder = pathlib.Path(name)
        try:
            wheel, sdist = build(ROOT, folder / "dist", "wheel", "sdist")
            require_same_wheel(sdist, wheel, folder / "sdist")
            print(f"{wheel.name}: installing", flush=True)
            base = install(python, wheel, folder / "wheel")
            use(base)
            use_extras(wheel, base)
            reproduction(base)
            print("requirements-judge.txt: installing", flush=True)
            light = install_judge(python, wheel, folder / "judge")
            judge(light, base.folder / "found" / "latest")
        except (CheckError, subprocess.SubprocessError) as error:
            print(f"  FAILED {error}", file=sys.stderr)
            return 1
    print("Both distributions work.")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Install the built packages and use them.")
    parser.add_argument(
        "python",
        nargs="?",
        default=sys.executable,
        help="interpreter for the environments (default: this one)",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main(**vars(_arguments())))
