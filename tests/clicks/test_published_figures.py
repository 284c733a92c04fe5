"""Published likelihoods on real result pages; skipped where the data are not beside the project."""

import ast
import json
from pathlib import Path

import pytest

from builder.clicks import ModelComparison, compare_models
from builder.parameters import ClickParameters

FIGURES = {
    "sdbn": (-0.411111, 1.322961, 1.513977),
    "dcm": (-0.413878, 1.316128, None),
    "cascade": (-4.234536, 1.311989, 104.295896),
    "ubm": (-0.214911, 1.284969, 1.252679),
    "ccm-pyclick": (-0.404968, 1.343873, 1.504542),
    "dbn-pyclick": (-0.406099, 1.322508, 1.506806),
    "pbm": (-0.244376, 1.289633, None),
    "rank-ctr": (-0.253157, 1.302041, None),
}
"""Log-likelihood, marginal and conditional perplexity by PyClick's convention and options."""


def _as_log(sources: list[Path], out: Path) -> Path:
    """The pages of some files in our own format."""
    with out.open("w", encoding="utf-8") as file:
        for source in sources:
            for line in source.read_text("utf-8").splitlines():
                session, query, results, _, clicks = line.split("\t")[:5]
                record = {
                    "user": session,
                    "query": query,
                    "results": [str(doc) for doc in ast.literal_eval(results)],
                    "clicks": [k for k, c in enumerate(ast.literal_eval(clicks), 1) if c],
                }
                file.write(json.dumps(record) + "\n")
    return out


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Train + valid, and test."""
    folder = Path(__file__).parents[3] / "shared" / "data" / "click-logs"
    if not folder.is_dir():
        pytest.skip("no ../shared beside this checkout")
    work = tmp_path_factory.mktemp("logs")
    parts = [folder / f"{part}_per_query_quid.txt" for part in ("train", "valid", "test")]
    return _as_log(parts[:2], work / "train.jsonl"), _as_log(parts[2:], work / "test.jsonl")


def _compared(logs: tuple[Path, Path], prior: str) -> ModelComparison:
    params = ClickParameters.model_validate({"prior": prior})
    return compare_models(logs[0], list(FIGURES), test=logs[1], params=params)


def test_figures_with_the_options_of_pyclick(logs: tuple[Path, Path]) -> None:
    compared = _compared(logs, "beta")
    assert (compared.train, compared.test, compared.unseen) == (3233, 104, 259)
    for scores in compared.scores:
        likelihood, marginal, conditional = FIGURES[scores.model]
        assert scores.pyclick.log_likelihood == pytest.approx(likelihood, abs=1e-6)
        assert scores.pyclick.perplexity == pytest.approx(marginal, abs=1e-6)
        if conditional is not None:
            assert scores.pyclick.conditional_perplexity == pytest.approx(conditional, abs=1e-6)


def test_the_default_prior_predicts_better(logs: tuple[Path, Path]) -> None:
    fitted = _compared(logs, "empirical_bayes").scores[0].pyclick
    assert fitted.log_likelihood == pytest.approx(-0.269121, abs=1e-6)
    assert fitted.perplexity < FIGURES["sdbn"][1]
    assert ClickParameters().prior == "empirical_bayes"


def test_sdbn_below_baseline_is_reported(logs: tuple[Path, Path]) -> None:
    assert _compared(logs, "empirical_bayes").models_worse_than_baseline() == (
        "sdbn",
        "dcm",
        "cascade",
        "ccm-pyclick",
        "dbn-pyclick",
    )
