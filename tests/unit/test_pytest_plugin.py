"""The fixtures for other people's tests, in pytest sessions of their own."""

import json
import pathlib

import pytest

pytestmark = pytest.mark.slow

pytest_plugins = ["pytester"]

WRITES_SEED = """
    import json, pathlib, pytest

    @pytest.mark.flake_hunt(runs=4)
    def test_seed(flake_hunt_seed, request):
        name = request.node.name.replace("[", "-").replace("]", "")
        (pathlib.Path(request.config.rootpath) / f"{name}.json").write_text(json.dumps(flake_hunt_seed))
"""


@pytest.fixture(autouse=True)
def few_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions without the plug-ins that are slow to import."""
    slow = ("locust", "frontrun", "hypothesispytest", "benchmark", "anyio", "pytest_cov")
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-p no:{name}" for name in slow))


def seeds(folder: pathlib.Path) -> dict[str, int]:
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("test_seed-*.json")}


def test_nothing_is_imported_where_it_is_not_used(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_other():
            assert "harness.pytest_plugin" in sys.modules
            assert not {"harness.api", "pandas", "pydantic", "msgspec"} & sys.modules.keys()
        """
    )
    result = pytester.runpytest_subprocess("--strict-markers")
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_a_marked_test_is_repeated_with_seeds_that_repeat(
    pytester: pytest.Pytester, workers: list[str]
) -> None:
    pytester.makepyfile(WRITES_SEED)
    again = ["--strict-markers", "--flake-hunt-seed", "7", *workers]
    pytester.runpytest_subprocess(*again).assert_outcomes(passed=4)
    first = seeds(pytester.path)
    assert len(set(first.values())) == 4
    assert first.keys() == {f"test_seed-run{number}" for number in range(4)}
    pytester.runpytest_subprocess(*again).assert_outcomes(passed=4)
    assert seeds(pytester.path) == first


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        ("runs=0", "got flake_hunt(runs=0)"),
        ("runs=True", "got flake_hunt(runs=True)"),
        ("'many'", "got flake_hunt('many')"),
        ("times=3", "got flake_hunt(times=3)"),
        ("1, 2", "got flake_hunt(1, 2)"),
    ],
)
def test_a_mark_that_cannot_be_understood(pytester: pytest.Pytester, mark: str, words: str) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.flake_hunt({mark})\ndef test_it(): pass\n")
    result = pytester.runpytest_subprocess()
    output = "\n".join([*result.outlines, *result.errlines])
    assert "expected @pytest.mark.flake_hunt(runs=N) with N of at least 1" in output
    assert words in output
    assert result.ret not in (0, 1)


def test_an_error_is_told_without_what_led_to_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture(scope="session")
        def flake_hunt_pools():
            return {"nodes": 0}

        def test_cluster(flake_hunt_cluster): pass

        def test_run(flake_hunt_run):
            flake_hunt_run("pod-churn", overrides=["traffic.users=0"])
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(errors=1, failed=1)
    assert "nodes: expected at least 1, got 0" in result.outlines
    assert sum(line.startswith("E ") for line in result.outlines) == 2
    assert not any("pydantic" in line or "harness/" in line for line in result.outlines)


def test_a_mark_without_a_number_is_one_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.flake_hunt\ndef test_it(): pass\n")
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
