"""Any click model in a build: estimates with the same evidence, grades, and what is refused."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from builder.clicks import estimate_from_log
from builder.definition.model import Definition
from builder.errors import DefinitionError, UsageError
from builder.parameters import CLICK_MODELS, ClickParameters, QrelParameters, StageParameters
from builder.parameters.clicks import NO_ATTRACTIVENESS, NO_SATISFACTION
from schemas import ClickEstimates
from tests.clicks.conftest import Impression
from tests.clicks.log_files import RECORDS, written

OTHERS = sorted(set(CLICK_MODELS) - {"sdbn"})
EVIDENCE = ["query", "doc", "impressions", "examinations", "clicks", "last_clicks"]
LOG: list[Impression] = [
    (n % 9, n % 4, [n % 4 * 10 + (n // 4 + k) % 6 for k in range(5)], [1 + n % 5] * (n % 3 > 0))
    for n in range(400)
]


def estimates(out: Path) -> pl.DataFrame:
    return pl.read_parquet(out / "click_estimates.parquet")


@pytest.mark.parametrize("model", OTHERS)
def test_all_models_report_sdbn_counts(run_estimate: Any, model: str) -> None:
    by_sdbn, _ = run_estimate(LOG, ClickParameters())
    out, ledger = run_estimate(LOG, ClickParameters(model=model, iterations=5))
    found = estimates(out)
    ClickEstimates.validate(found)
    columns = [*EVIDENCE, "other_examinations"]
    assert found.select(columns).equals(estimates(by_sdbn).select(columns))
    assert found["attractiveness_alpha"].null_count() == found.height
    assert (found["satisfaction"].null_count() == found.height) == (model in NO_SATISFACTION)
    assert (found["attractiveness"].null_count() == found.height) == (model in NO_ATTRACTIVENESS)
    assert ledger.rows_out == len(LOG)
    named = pl.read_parquet(out / "click_diagnostics.parquet")
    assert named.filter(measure="held_out_perplexity")["model"].unique().to_list() == [model]


def test_build_and_standalone_log_give_equal_estimates(run_estimate: Any, tmp_path: Path) -> None:
    records = [
        {"query": f"{q:04}", "results": [f"{d:04}" for d in shown], "clicks": clicked}
        for _, q, shown, clicked in LOG
    ]
    params = ClickParameters(model="ubm", iterations=7)
    estimate_from_log(written(tmp_path, records), "ubm", tmp_path / "alone.parquet", params=params)
    alone = pl.read_parquet(tmp_path / "alone.parquet")
    built = estimates(run_estimate(LOG, params)[0])
    assert alone["attractiveness"].to_list() == built["attractiveness"].to_list()
    assert alone["clicks"].to_list() == built["clicks"].to_list()


@pytest.mark.parametrize("policy", ["fixed", "target_shares"])
def test_point_estimates_are_graded_without_an_interval(
    run_estimate: Any, run_grade: Any, candidates: Any, documents: Any, policy: Any
) -> None:
    out, _ = run_estimate(LOG, ClickParameters(model="pbm"))
    lower, upper = (float(estimates(out)["attractiveness"].quantile(q)) for q in (0.4, 0.8))
    params = QrelParameters(policy=policy, cuts=(lower, upper), min_judged=1)
    graded, _ = run_grade(
        out, candidates=candidates(*range(4)), documents=documents(*range(40)), params=params
    )
    qrels = pl.read_parquet(graded / "graded_pairs.parquet")
    cuts = pl.read_parquet(graded / "grade_cuts.parquet").sort("grade")["cut"].to_list()
    assert (
        qrels["score"].to_list()
        == estimates(out).filter(pl.col("examinations") >= 3)["attractiveness"].to_list()
    )
    expected = [int(score >= cuts[0]) + int(score >= cuts[1]) for score in qrels["score"]]
    assert qrels["grade"].to_list() == expected
    assert qrels["grade"].n_unique() > 1
    for name in ("score_low", "score_high", "stability"):
        assert qrels[name].null_count() == qrels.height
    scenarios = pl.read_parquet(graded / "grade_sensitivity.parquet")["scenario"].unique()
    assert sorted(scenarios) == ["cuts_10_percent_higher", "cuts_10_percent_lower", "published"]


def test_pair_without_estimate_is_unjudged(
    run_estimate: Any, run_grade: Any, candidates: Any, documents: Any
) -> None:
    """Cascade examines down to the first click; sDBN's evidence goes down to the last one."""
    out, _ = run_estimate([(None, 1, [5, 6, 7], [1, 3])] * 10, ClickParameters(model="cascade"))
    params = QrelParameters(min_judged=1)
    tables = {"candidates": candidates(1), "documents": documents(5, 6, 7), "params": params}
    graded, ledger = run_grade(out, **tables)
    assert pl.read_parquet(graded / "graded_pairs.parquet")["doc_id"].to_list() == [f"d{5:016x}"]
    assert ledger.rejected["never_examined"] == 2


def test_stages_reject_scores_that_the_model_lacks(
    run_estimate: Any, run_grade: Any, candidates: Any, documents: Any
) -> None:
    """Of plug-ins, nothing is known before they are trained."""
    tables = {"candidates": candidates(*range(4)), "documents": documents(*range(40))}
    out, _ = run_estimate(LOG, ClickParameters(model="rank-ctr"))
    with pytest.raises(UsageError, match="the click model does not estimate this score"):
        run_grade(out, params=QrelParameters(), **tables)
    out, _ = run_estimate(LOG, ClickParameters(model="document-ctr"))
    with pytest.raises(UsageError, match="requires a posterior"):
        run_grade(out, params=QrelParameters(policy="credible"), **tables)


REFUSED = [
    ({"model": "sdnb"}, {}, "unknown click model; did you mean 'sdbn'"),
    ({"model": "dcm"}, {"score": "relevance"}, "needs a click model that estimates satisfaction"),
    ({"model": "dbn"}, {"policy": "credible"}, "requires a click model that estimates posteriors"),
    ({"model": "rank-ctr"}, {}, "cannot be used for grading"),
    ({"model": "dbn", "votes": "user"}, {}, "only supported by the click model sdbn"),
    ({"model": "dbn", "pages": "joined"}, {}, "only supported by the click model sdbn"),
]


@pytest.mark.parametrize(("section", "qrels", "message"), REFUSED)
def test_definitions_reject_unsupported_model_options(
    section: dict[str, str], qrels: dict[str, str], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        StageParameters.model_validate({"clicks": section, "qrels": qrels})


def test_a_definition_says_what_to_change(world: Path, tmp_path: Path) -> None:
    text = (world / "workflow.toml").read_text("utf-8")
    path = tmp_path / "workflow.toml"
    path.write_text(f'{text}\n[clicks]\nmodel = "ubm"\n[qrels]\npolicy = "credible"\n', "utf-8")
    with pytest.raises(DefinitionError, match=r'set qrels\.policy = "fixed"') as refused:
        Definition.load(path)
    assert refused.value.exit_code == 2
    assert len(str(refused.value)) < 400


def test_standalone_log_rejects_unsupported_votes(tmp_path: Path) -> None:
    log = written(tmp_path, RECORDS)
    with pytest.raises(UsageError, match="only supported by the click model sdbn"):
        estimate_from_log(log, "dbn", tmp_path / "out.tsv", params=ClickParameters(votes="user"))
