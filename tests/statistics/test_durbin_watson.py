"""The exact Durbin-Watson p-value against closed forms, eigenvalues, tables and simulation."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate

from builder.evaluation.trends import fit_trend
from builder.statistics.durbin_watson import durbin_watson, durbin_watson_cdf


def differences(n):
    """The matrix A of the sum of squared differences e'Ae."""
    steps = np.diff(np.eye(n), axis=0)
    return steps.T @ steps


def eigenvalues(value, precision, constraint):
    """Eigenvalues of the quadratic form e'(A - value I)e, scaled to at most 1."""
    n = len(precision)
    cov = np.diag(1 / precision)
    inner = np.linalg.inv(constraint.T @ cov @ constraint)
    cov = cov - cov @ constraint @ inner @ constraint.T @ cov
    roots, vectors = np.linalg.eigh(cov)
    half = vectors[:, 2:] * np.sqrt(roots[2:])
    found = np.linalg.eigvalsh(half.T @ (differences(n) - value * np.eye(n)) @ half)
    return found / np.abs(found).max()


def imhof(weights):
    """P(sum of weights times squared normals <= 0); Imhof (1961), by adaptive quadrature."""

    def integrand(u):
        angle = 0.5 * np.arctan(weights * u).sum()
        return math.sin(angle) * math.exp(-0.25 * np.log1p((weights * u) ** 2).sum()) / u

    edges = [1e-300, *(10.0 ** np.arange(-3, 9, 0.5))]
    parts = [
        integrate.quad(integrand, a, b, limit=400, epsabs=1e-14)[0]
        for a, b in itertools.pairwise(edges)
    ]
    return 0.5 - sum(parts) / math.pi


def line(n, weights=None):
    """Precision and constraint of a weighted line through n batches."""
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    return w, np.column_stack((w, w * np.arange(n)))


@pytest.mark.parametrize("value", [1.9, 2.5, 2.7, 3.0, 3.2])
@pytest.mark.parametrize("weights", [None, [1, 2, 3, 4], [1, 100, 1, 5]])
def test_two_residual_dimensions_have_a_closed_form(value, weights):
    precision, constraint = line(4, weights)
    low, high = eigenvalues(value, precision, constraint)
    expected = 2 / math.pi * math.atan(math.sqrt(-low / high)) if low < 0 < high else float(low < 0)
    assert durbin_watson_cdf(value, precision, constraint) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n", [5, 6, 9, 20, 60, 150])
@pytest.mark.parametrize("shift", [-0.5, -0.1, 0.0, 0.2])
def test_agrees_with_imhof_on_eigenvalues(n, shift):
    rng = np.random.default_rng(n)
    for weights in (np.ones(n), rng.uniform(0.1, 3, n), 10 ** rng.uniform(-4, 2, n)):
        precision, constraint = line(n, weights)
        value = 2 + shift
        expected = imhof(eigenvalues(value, precision, constraint))
        assert durbin_watson_cdf(value, precision, constraint) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("n", "lower", "upper"),
    [(15, 1.08, 1.36), (20, 1.20, 1.41), (30, 1.35, 1.49), (50, 1.50, 1.59), (100, 1.65, 1.69)],
)
def test_agrees_with_the_five_per_cent_table_of_1951(n, lower, upper):
    precision, constraint = line(n)
    assert durbin_watson_cdf(lower - 0.005, precision, constraint) < 0.05
    assert durbin_watson_cdf(upper + 0.005, precision, constraint) > 0.05


def test_agrees_with_simulation():
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.2, 3, 8)
    precision, constraint = line(8, weights)
    design = constraint / weights[:, None]
    errors = rng.standard_normal((100_000, 8)) / np.sqrt(weights)
    root = np.sqrt(weights)[:, None]
    fits = np.linalg.lstsq(root * design, (errors * root.T).T, rcond=None)[0]
    residuals = errors - (design @ fits).T
    simulated = (np.diff(residuals) ** 2).sum(axis=1) / (residuals**2).sum(axis=1)
    for value in (1.2, 2.0, 2.8):
        exact = durbin_watson_cdf(value, precision, constraint)
        assert exact == pytest.approx((simulated <= value).mean(), abs=0.006)


def test_reversing_time_changes_nothing():
    rng = np.random.default_rng(1)
    weights, residuals = rng.uniform(1, 5, 12), rng.standard_normal(12)
    there = durbin_watson(residuals, *line(12, weights))
    precision, constraint = line(12, weights)
    back = durbin_watson(residuals[::-1], precision[::-1], constraint[::-1])
    assert there.statistic == pytest.approx(back.statistic)
    assert there.p == pytest.approx(back.p, abs=1e-9)


def test_p_values_point_the_right_way():
    smooth = np.sin(np.arange(30) / 5)
    jagged = np.where(np.arange(30) % 2, 1.0, -1.0)
    correlated, alternating = durbin_watson(smooth, *line(30)), durbin_watson(jagged, *line(30))
    assert correlated.statistic < 1
    assert correlated.p < 1e-6
    assert correlated.p_positive < 1e-6
    assert alternating.statistic > 3
    assert alternating.p < 1e-6
    assert alternating.p_positive > 1 - 1e-6


@pytest.mark.parametrize("kind", ["raw", "weighted"])
def test_the_weights_of_a_trend_are_those_of_its_test(kind):
    documents = np.array([10.0, 20, 15, 30, 5, 20])
    scores = [0.5, 0.46, 0.47, 0.38, 0.41, 0.3]
    trend = fit_trend(range(6), scores, documents, residual_kind=kind)
    design = np.column_stack((np.ones(6), np.arange(6)))
    precision = documents if kind == "raw" else np.ones(6)
    pull = documents if kind == "raw" else np.sqrt(documents)
    expected = imhof(eigenvalues(trend.durbin_watson, precision, design * pull[:, None]))
    assert trend.durbin_watson_p_positive == pytest.approx(expected, abs=1e-9)
    assert trend.durbin_watson_p == pytest.approx(2 * min(expected, 1 - expected), abs=1e-9)
