from labkit.core.chance import fresh_seed


def test_fresh_seeds_are_numbers_of_32_bits_that_do_not_repeat() -> None:
    seeds = [fresh_seed() for _ in range(200)]
    assert all(0 <= seed < 2**32 for seed in seeds)
    assert len(set(seeds)) > 195  # two equal ones in one run of 200,000
    assert max(seeds) > 2**31
