"""Named random streams of one seed."""

import subprocess
import sys

from harness import seeds


def draws(seed: int, *names: object) -> list[float]:
    stream = seeds.Seeds(seed).stream(*names)
    return [stream.random() for _ in range(5)]


def test_a_seed_and_names_give_a_stream_of_their_own() -> None:
    assert draws(7, "traffic", 0) == draws(7, "traffic", 0)
    streams = [draws(7, "traffic", 0), draws(8, "traffic", 0), draws(7, "traffic", 1)]
    streams += [draws(7, "traffic"), draws(7, "pauses", 0), draws(7)]
    assert len({tuple(stream) for stream in streams}) == len(streams)


def test_a_seed_means_the_same_in_every_process() -> None:
    code = "from harness import seeds; print(seeds.Seeds(7).derive('traffic', 3))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert int(done.stdout) == seeds.Seeds(7).derive("traffic", 3)


def test_seeds_fit_into_a_signed_64_bit_integer() -> None:
    made = [seeds.fresh() for _ in range(50)]
    made += [seeds.Seeds(number).derive("x") for number in range(50)]
    assert all(0 <= number < 2**seeds.SEED_BITS for number in made)
    assert len(set(made)) == len(made)
