"""The whole flow on one screen: every stage, what it reads and what it writes.

A stage of scope SNAPSHOT runs once for each snapshot, one of scope PAIR once for each pair of
consecutive snapshots, one of scope COLLECTION once. The runner (`run.py`) does the rest.
"""

from typing import Any

from builder.alignment import changes, maps
from builder.clicks import estimate, grade
from builder.collection.export.trec import export_trec
from builder.collection.layout import PUBLISHED
from builder.definition.model import Workflow
from builder.documents import collect_shown, gather, judge_pages, measure_coverage
from builder.drift import count_lost, count_snapshot, measure, measure_pair
from builder.ingest import ingest_crawl, ingest_log
from builder.parameters import Parameters
from builder.plugins import described
from builder.queries import (
    collect_verdicts,
    find_leaks,
    find_variants,
    merge_labels,
    read_topics,
    select,
    split,
)
from builder.runtime.plan import Pipeline
from builder.runtime.stage import (
    Read,
    Scope,
    Stage,
    before,
    each,
    earlier,
    one,
    pair,
    pairs,
    raw,
    same,
    sides,
    training,
    until,
)
from builder.translation import translate


def _model_files(workflow: Workflow, _: str) -> tuple[str, ...]:
    """The translation model's folder, when translation is on."""
    model = workflow.translate.model
    return (str(model),) if model else ()


def _fitted_cuts(workflow: Workflow, key: str) -> tuple[str, ...]:
    """The first snapshot, whose grade cuts the later ones are held to when cuts are fitted."""
    first = workflow.names[0]
    return (first,) if workflow.qrels.policy == "target_shares" and key != first else ()


def _pair_names(_: Workflow, key: str) -> dict[str, str]:
    """The two snapshots of a pair."""
    return dict(zip(("from_snapshot", "to_snapshot"), pair(key), strict=True))


def _recorded(workflow: Workflow, _: str) -> dict[str, Any]:
    """The parameters that decide what every snapshot holds, by dotted key."""
    return {
        "recorded": {
            name: {
                f"{section}.{key}": value
                for section in Parameters.model_fields
                for key, value in workflow.section(section, name).model_dump(mode="json").items()
                if key not in getattr(workflow, section).describes_input
            }
            for name in workflow.names
        }
    }


STAGES = (
    Stage(
        "topics",
        "1",
        Scope.COLLECTION,
        read_topics,
        reads=(raw("source", lambda w, _: (w.collection.topics,), single=True),),
        writes=("topics",),
    ),
    Stage(
        "log",
        "13",
        Scope.SNAPSHOT,
        ingest_log,
        reads=(raw("files", lambda w, key: w.snapshot(key).log),),
        writes=("impressions", "log_queries", "log_urls"),
        section="log",
        context=lambda w, key: {"interval": w.snapshot(key).interval},
        plugins=lambda w: described("log_readers", w.log_formats),
    ),
    Stage(
        "crawl",
        "12",
        Scope.SNAPSHOT,
        ingest_crawl,
        reads=(raw("files", lambda w, key: w.snapshot(key).crawl),),
        writes=("fetches", "pages"),
        section="crawl",
        context=lambda w, key: {"interval": w.snapshot(key).interval},
    ),
    Stage(
        "verdicts",
        "1",
        Scope.SNAPSHOT,
        collect_verdicts,
        reads=(
            same("impressions"),
            same("log_queries"),
            same("log_urls"),
            raw("files", lambda w, _: w.verdicts.files),
        ),
        writes=("verdicts",),
        section="verdicts",
        context=lambda w, _: {"select": w.select},
        plugins=lambda w: described("verdicts", w.verdicts.plugins),
    ),
    Stage(
        "select",
        "2",
        Scope.SNAPSHOT,
        select,
        reads=(
            same("impressions"),
            same("log_queries"),
            one("topics"),
            same("verdicts"),
            raw("stop_lists", lambda w, _: w.select.stop_lists),
        ),
        writes=("candidates",),
        section="select",
        context=lambda w, _: {"filters": w.verdicts.filters},
    ),
    Stage(
        "variants",
        "1",
        Scope.SNAPSHOT,
        find_variants,
        reads=(
            same("candidates"),
            same("impressions"),
            earlier("earlier", "variants"),
            raw("files", lambda w, _: w.variants.files),
        ),
        writes=("variants", "kept_candidates"),
        section="variants",
        context=lambda w, _: {"split": w.split},
    ),
    Stage(
        "clicks",
        "4",
        Scope.SNAPSHOT,
        estimate,
        reads=(same("impressions"), same("candidates"), same("variants"), same("verdicts")),
        writes=("click_estimates", "click_diagnostics"),
        section="clicks",
        context=lambda w, _: {"filters": w.verdicts.filters},
        plugins=lambda w: described("click_models", (w.clicks.model,)),
    ),
    Stage(
        "shown",
        "1",
        Scope.SNAPSHOT,
        collect_shown,
        reads=(same("impressions"), same("candidates")),
        writes=("shown_documents",),
    ),
    Stage(
        "page_verdicts",
        "2",
        Scope.SNAPSHOT,
        judge_pages,
        reads=(same("pages"), raw("files", lambda w, _: w.verdicts.files)),
        writes=("page_verdicts",),
        section="verdicts",
        plugins=lambda w: described("verdicts", w.verdicts.plugins),
    ),
    Stage(
        "documents",
        "6",
        Scope.SNAPSHOT,
        gather,
        reads=(
            same("fetches"),
            same("pages"),
            same("shown_documents"),
            same("page_verdicts", "verdicts"),
            raw("deny", lambda w, _: w.documents.deny),
            raw("allow", lambda w, _: w.documents.allow),
        ),
        writes=("gathered",),
        section="documents",
        context=lambda w, _: {
            "filters": tuple(each for each in w.verdicts.filters if each.kind == "document")
        },
    ),
    Stage(
        "coverage",
        "2",
        Scope.SNAPSHOT,
        measure_coverage,
        reads=(
            same("impressions"),
            same("log_urls"),
            same("shown_documents"),
            same("pages"),
            same("gathered", "documents"),
        ),
        writes=("coverage",),
    ),
    Stage(
        "grades",
        "2",
        Scope.SNAPSHOT,
        grade,
        reads=(
            same("click_estimates"),
            same("kept_candidates", "candidates"),
            same("gathered", "documents"),
            Read("cuts", "grade_cuts", _fitted_cuts),
            raw("judgements", lambda w, key: w.snapshot(key).judgements),
        ),
        writes=("graded_pairs", "graded_queries", "grade_cuts", "grade_sensitivity"),
        section="qrels",
    ),
    Stage(
        "qrels",
        "1",
        Scope.SNAPSHOT,
        merge_labels,
        reads=(same("graded_pairs"), same("graded_queries")),
        writes=("qrels", "judged_queries"),
        section="variants",
    ),
    Stage(
        "split",
        "1",
        Scope.SNAPSHOT,
        split,
        reads=(same("judged_queries"), training("train_queries", "split_queries")),
        writes=("split_queries",),
        section="split",
        context=lambda w, key: {"is_train": key in w.training},
    ),
    Stage(
        "leakage",
        "1",
        Scope.COLLECTION,
        find_leaks,
        reads=(each("split_queries"),),
        writes=("near_leaks",),
        section="variants",
    ),
    Stage(
        "translate",
        "3",
        Scope.SNAPSHOT,
        translate,
        reads=(
            same("gathered"),
            same("split_queries"),
            raw("model", _model_files, hidden=True),
        ),
        writes=("documents", "queries", "sentences", "translations", "query_collisions"),
        section="translate",
        keeps="memory",
        plugins=lambda w: described("translators", (w.translate.engine,)),
    ),
    Stage(
        "trec",
        "1",
        Scope.SNAPSHOT,
        export_trec,
        reads=(same("documents"), same("queries"), same("qrels")),
        writes=(),
        section="export",
        context=lambda w, _: {"languages": w.collection.languages},
    ),
    Stage(
        "changes",
        "4",
        Scope.PAIR,
        changes,
        reads=(
            *sides("documents"),
            *sides("queries"),
            *sides("qrels"),
            before("earlier", "documents"),
        ),
        writes=("document_changes", "query_changes", "qrel_changes"),
        section="changes",
        context=_pair_names,
    ),
    Stage(
        "words",
        "2",
        Scope.SNAPSHOT,
        count_snapshot,
        reads=(same("documents"), earlier("earlier", "documents")),
        writes=("word_counts",),
    ),
    Stage(
        "lost_words",
        "2",
        Scope.PAIR,
        count_lost,
        reads=(until("earlier", "documents"), sides("documents")[1]),
        writes=("lost_words",),
    ),
    Stage(
        "pair_drift",
        "4",
        Scope.PAIR,
        measure_pair,
        reads=(
            *sides("documents"),
            *sides("queries"),
            *sides("qrels"),
            *(same(table) for table in ("document_changes", "query_changes", "qrel_changes")),
        ),
        writes=("pair_drift",),
        context=_pair_names,
    ),
    Stage(
        "maps",
        "1",
        Scope.COLLECTION,
        maps,
        reads=(each("documents"), each("queries"), each("variants")),
        writes=("documents_map", "queries_map"),
    ),
    Stage(
        "drift",
        "5",
        Scope.COLLECTION,
        measure,
        reads=(
            *(each(table) for table in ("documents", "queries", "qrels", "word_counts")),
            each("click_diagnostics"),
            *(pairs(table) for table in ("lost_words", "pair_drift")),
            *(one(table) for table in ("documents_map", "queries_map")),
        ),
        writes=(),
        section="changes",
        context=_recorded,
    ),
)

PIPELINE = Pipeline(STAGES, frozenset(PUBLISHED))
