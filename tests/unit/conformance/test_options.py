"""Options of users: those that are good, and the sentences for mistakes."""

import types
from typing import Any

import pytest

from harness import errors, placeholders
from harness.conformance import allocations, junit_files, options, results, rules
from harness.conformance.groups import slices


@pytest.mark.parametrize(
    ("patterns", "count"),
    [(["cdi/exist"], 1), (["cdi"], 7), (["*/device-held"], 2), (["cdi", "cdi/exist"], 7)],
)
def test_rules_are_chosen(patterns: list[str], count: int) -> None:
    assert len(rules.chosen(patterns)) == count


def test_mistakes_in_rules_are_told() -> None:
    with pytest.raises(errors.UsageError, match="got 'cdj'"):
        rules.chosen(["cdj"])
    with pytest.raises(errors.UsageError, match="say why"):
        rules.skipped(["cdi"])
    assert set(rules.skipped(["cdi/exist=no CDI = none"]).values()) == {"no CDI = none"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected a program"),
        ("a 'b", "shell syntax"),
        ("a {nod}", "got {nod}"),
        ("a {", "braces"),
    ],
)
def test_mistakes_in_commands_are_told(text: str, words: str) -> None:
    with pytest.raises(errors.UsageError, match=words.replace("{", "[{]")):
        placeholders.command(text, options.PLACEHOLDERS, of="the driver's")


def make_slice(devices: list[dict[str, Any]], **spec: Any) -> dict[str, Any]:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1, **spec.pop("pool", {})}
    return {
        "metadata": {"name": "s"},
        "spec": {"driver": "d", "nodeName": "n", "pool": pool, "devices": devices, **spec},
    }


def test_devices_that_do_not_fit_together_are_left_out() -> None:
    counters = {"name": "c", "counters": {"memory": {"value": "40Gi"}}}
    uses = {"counterSet": "c", "counters": {"memory": {"value": "20Gi"}}}
    devices = [{"name": f"d{number}", "consumesCounters": [uses]} for number in range(3)]
    devices.append({"name": "tainted", "taints": [{"key": "a", "effect": "NoSchedule"}]})
    items = [make_slice(devices), make_slice([], sharedCounters=[counters])]
    items.append(make_slice([{"name": "old"}], pool={"generation": 0}))
    found = allocations.of_driver(items, "d", "n")
    assert [device.name for device in found] == ["d0", "d1"]


@pytest.mark.parametrize(
    ("taint", "is_good"),
    [
        ({"key": "a.example/b", "effect": "NoExecute"}, True),
        ({"key": "a.example/b", "effect": "Never"}, False),
        ({"key": "-", "effect": "NoSchedule"}, False),
    ],
)
def test_taints_are_well_formed(taint: dict[str, str], is_good: bool) -> None:
    items = [make_slice([{"name": "a", "taints": [taint]}])]
    bench: Any = types.SimpleNamespace(
        devices=types.SimpleNamespace(slices=lambda: items),
        can_restart=True,
        options=types.SimpleNamespace(driver_name=""),
    )
    if is_good:
        slices.taints(bench)
    else:
        with pytest.raises(results.Failed):
            slices.taints(bench)


def test_results_are_written_for_people_and_for_ci() -> None:
    names = ("cdi/exist", "exclusivity/device-held", "cdi/valid", "cdi/gone")
    by_id = {rule.id: rule for rule in rules.all_rules()}
    found = [
        results.Result(rule=by_id[name], outcome=outcome, text="<why>")
        for name, outcome in zip(names, ("failed", "failed", "undecided", "skipped"), strict=True)
        for outcome in [results.Outcome(outcome)]
    ]
    text = junit_files.render("my driver", found)
    assert 'name="driver-test my driver"' in text
    assert 'tests="4" failures="1" errors="1" skipped="2"' in text
    assert [text.count(f'<skipped message="{words}') for words in ("should (failed)", "&lt;w")] == [
        1,
        1,
    ]
    stricter = junit_files.render("my driver", found, fail_on=rules.Level.SHOULD)
    assert 'tests="4" failures="2" errors="1" skipped="1"' in stricter
    assert results.counted(found) == (
        "0 of 4 rules held, 1 `must` failed, 1 `must` undecided, 1 `should` failed, 1 skipped"
    )
