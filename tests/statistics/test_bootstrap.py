import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.evaluation.measures.effectiveness import SnapshotScores
from builder.statistics import bootstrap
from builder.statistics.bootstrap import bootstrap_counts, percentile_interval, resampled_means


def snapshot(
    name: str, scores: dict[str, float], second: dict[str, float] | None = None
) -> SnapshotScores:
    queries = tuple(sorted(scores))
    columns = [[scores[q] for q in queries], [(second or scores)[q] for q in queries]]
    values = np.array(columns).T.reshape(len(queries), 2, 1)
    missing = np.zeros((len(queries), 2), dtype=bool)
    return SnapshotScores(
        name, queries, values, missing, (0, 0), np.zeros(len(queries), dtype=bool), queries
    )


def test_draws_are_pinned() -> None:
    (counts,) = bootstrap_counts(5, 3, seed=7)
    assert counts.tolist() == [[1, 1, 2, 0, 1], [1, 1, 0, 3, 0], [0, 0, 2, 1, 2]]
    (other,) = bootstrap_counts(5, 3, seed=7, stream=1)
    assert other.tolist() != counts.tolist()


def test_draws_do_not_depend_on_the_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = np.concatenate(list(bootstrap_counts(10, 50, seed=1)))
    for cells, sizes in ((70, [7] * 7 + [1]), (3, [1] * 50)):
        monkeypatch.setattr(bootstrap, "_BLOCK_CELLS", cells)
        blocks = list(bootstrap_counts(10, 50, seed=1))
        assert [len(block) for block in blocks] == sizes
        np.testing.assert_array_equal(np.concatenate(blocks), whole)


def test_draws_are_uniform_and_complete() -> None:
    counts = np.concatenate(list(bootstrap_counts(20, 20_000, seed=3)))
    assert (counts.sum(axis=1) == 20).all()
    # each unit is drawn once per resample on average; its count is Binomial(20, 1/20)
    error = np.sqrt(20 * (1 / 20) * (19 / 20) / 20_000)
    assert np.abs(counts.mean(axis=0) - 1).max() < 4.5 * error
    assert counts.var() == pytest.approx(0.95, rel=0.02)


def test_means_are_those_of_the_drawn_queries() -> None:
    scores = {"a": 0.1, "b": 0.5, "c": 0.9}
    (means,) = resampled_means([snapshot("t", scores)], resamples=20, seed=2)
    (counts,) = bootstrap_counts(3, 20, seed=2)
    np.testing.assert_allclose(means[:, 0, 0], counts @ [0.1, 0.5, 0.9] / 3, atol=1e-15)
    np.testing.assert_array_equal(means[:, 0], means[:, 1])


def test_a_query_is_drawn_with_all_its_snapshots() -> None:
    scores = {f"q{i}": i / 10 for i in range(10)}
    lower = {query: score - 0.05 for query, score in scores.items()}
    first, second = resampled_means(
        [snapshot("t", scores), snapshot("u", lower)], resamples=200, seed=0
    )
    np.testing.assert_allclose(first - second, 0.05, atol=1e-12)
    assert first.std() > 0.05


def test_a_resample_without_judged_queries_has_no_mean() -> None:
    first, second = resampled_means(
        [snapshot("t", {"a": 1.0}), snapshot("u", {"b": 0.5, "c": 0.5})], resamples=300, seed=0
    )
    assert 0 < np.isnan(first[:, 0, 0]).mean() < 0.5
    assert set(first[~np.isnan(first)]) == {1.0}
    assert set(second[~np.isnan(second)]) == {0.5}


def test_nothing_to_draw_from() -> None:
    for scores in ({}, {"a": 0.5}):
        (means,) = resampled_means([snapshot("t", scores)], resamples=4, seed=0)
        assert means.shape == (4, 2, 1)
        assert np.isnan(means).all()
    (none,) = resampled_means([snapshot("t", {"a": 0.5, "b": 1.0})], resamples=0, seed=0)
    low, high, defined = percentile_interval(none, 0.95)
    assert np.isnan([low, high]).all()
    assert defined.tolist() == [[0], [0]]


def test_a_system_without_a_run_leaves_others_alone() -> None:
    scores = {"a": 0.1, "b": 0.5}
    holes = {"a": np.nan, "b": np.nan}
    (means,) = resampled_means([snapshot("t", scores, holes)], resamples=30, seed=0)
    assert np.isfinite(means[:, 0]).all()
    assert np.isnan(means[:, 1]).all()


@given(
    st.lists(st.lists(st.floats(-5, 5), min_size=3, max_size=3), min_size=1, max_size=40),
    st.sampled_from([0.5, 0.8, 0.95]),
)
def test_percentiles_are_those_of_numpy(rows: list[list[float]], confidence: float) -> None:
    samples = np.array(rows)
    low, high, defined = percentile_interval(samples, confidence)
    tail = 50 * (1 - confidence)
    np.testing.assert_allclose(low, np.percentile(samples, tail, axis=0), atol=1e-12)
    np.testing.assert_allclose(high, np.percentile(samples, 100 - tail, axis=0), atol=1e-12)
    assert (defined == len(rows)).all()


def test_intervals_leave_undefined_resamples_out_until_they_are_too_many() -> None:
    samples = np.arange(100.0)[:, None] * [1, 1, 1]
    samples[:5, 1] = np.nan
    samples[:6, 2] = np.nan
    low, high, defined = percentile_interval(samples, 0.95)
    assert defined.tolist() == [100, 95, 94]
    np.testing.assert_allclose(low, [2.475, 5 + 0.025 * 94, np.nan])
    np.testing.assert_allclose(high, [96.525, 99 - 0.025 * 94, np.nan])


def test_intervals_cover_the_true_mean_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(11)
    covered = 0
    for trial in range(300):
        scores = {f"q{i:02}": float(v) for i, v in enumerate(rng.beta(2, 5, 50))}
        (means,) = resampled_means([snapshot("t", scores)], resamples=200, seed=trial)
        low, high, _ = percentile_interval(means[:, 0, 0], 0.9)
        covered += bool(low <= 2 / 7 <= high)
    assert 0.83 < covered / 300 < 0.95
