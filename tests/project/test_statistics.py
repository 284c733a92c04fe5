"""Every statistic has one definition, in `builder/statistics`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "builder"
HOME = ROOT / "statistics"
NAMES = re.compile(
    r"kappa|krippendorff|(^|_)alpha$|kendall|tau_b|rank_biased|(^|_)rbo|spearman|pearson"
    r"|t_?test|welch|unpaired|holm|bonferroni|anderson|durbin|hc3|(^|_)wls|least_squares|fit_line"
    r"|resample(d|s)_|bootstrap_counts|percentile_interval|two_sided"
)
"""Names of functions that compute a statistic."""
DISTRIBUTIONS = {"poisson"}
"""Names of `scipy.stats` that other packages may use: they are no tests."""
TASKS = {
    "cohen_kappa": "classification/agreement.py",
    "fleiss_kappa": "classification/agreement.py",
    "krippendorff_alpha": "classification/agreement.py",
}
"""Functions that give the units, the observed agreement and a reason beside the coefficient."""


def second_homes(tree: ast.AST) -> Iterator[str]:
    """Functions named after a statistic, and imports of tests from scipy and statsmodels."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and NAMES.search(node.name):
            yield node.name
        elif isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            if node.module == "scipy.stats":
                yield from sorted(names - DISTRIBUTIONS)
            elif (node.module == "scipy" and "stats" in names) or _of_statsmodels(node.module):
                yield str(node.module)
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if _of_statsmodels(a.name))


def _of_statsmodels(module: str | None) -> bool:
    return (module or "").split(".")[0] == "statsmodels"


def test_no_statistic_has_a_second_home() -> None:
    for path in sorted(ROOT.rglob("*.py")):
        if path.is_relative_to(HOME):
            continue
        found = list(second_homes(ast.parse(path.read_text("utf-8"))))
        left = [name for name in found if not str(path).endswith(TASKS.get(name, "*"))]
        assert not left, f"{path.relative_to(ROOT)} defines {left}: use builder.statistics"


@pytest.mark.parametrize(
    "source",
    [
        "def cohen_kappa(table): ...",
        "def _kendall_tau(a, b): ...",
        "def welch(a, b): ...",
        "from scipy import stats",
        "from scipy.stats import ttest_ind",
        "import statsmodels.api as sm",
    ],
)
def test_a_second_home_is_found(source: str) -> None:
    assert list(second_homes(ast.parse(source)))


@pytest.mark.parametrize("source", ["from scipy.stats import poisson", "def score(run): ..."])
def test_other_code_is_no_second_home(source: str) -> None:
    assert not list(second_homes(ast.parse(source)))
