"""The text form of metrics."""

from harness.metrics import instruments, metric_families


def test_a_counter_has_a_line_for_each_combination_of_labels() -> None:
    counter = instruments.Counter("creates_total", "Number of creations", ("status", "kind"))
    counter.add("success", "a")
    counter.add("success", "a")
    counter.add("failure", "b", amount=2.5)
    assert metric_families.render([counter.collect()]).splitlines() == [
        "# HELP creates_total Number of creations",
        "# TYPE creates_total counter",
        'creates_total{status="failure",kind="b"} 2.5',
        'creates_total{status="success",kind="a"} 2',
    ]


def test_a_histogram_has_the_counts_up_to_each_limit() -> None:
    histogram = instruments.Histogram("wait_seconds", "Waits", ("kind",), buckets=(0.5, 2.0))
    for value in (0.1, 0.5, 1.0, 7.0):
        histogram.observe(value, "a")
    assert metric_families.render([histogram.collect()]).splitlines() == [
        "# HELP wait_seconds Waits",
        "# TYPE wait_seconds histogram",
        'wait_seconds_bucket{kind="a",le="0.5"} 2',
        'wait_seconds_bucket{kind="a",le="2"} 3',
        'wait_seconds_bucket{kind="a",le="+Inf"} 4',
        'wait_seconds_sum{kind="a"} 8.6',
        'wait_seconds_count{kind="a"} 4',
    ]


def test_a_family_without_samples_still_has_its_name() -> None:
    counter = instruments.Counter("creates_total", "Number of creations", ("status",))
    assert metric_families.render([counter.collect()]) == (
        "# HELP creates_total Number of creations\n# TYPE creates_total counter\n"
    )


def test_a_metric_without_labels_has_no_braces() -> None:
    family = metric_families.Family("up", "Whether it is up", "gauge", (), {(): 1.0})
    assert metric_families.render([family]).splitlines()[-1] == "up 1"


def test_labels_are_escaped() -> None:
    family = metric_families.Family("x", "X", "gauge", ("name",), {('a"b\\c\nd',): 1.0})
    assert metric_families.render([family]).splitlines()[-1] == r'x{name="a\"b\\c\nd"} 1'
