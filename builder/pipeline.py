"""The pipeline that builds a collection: all stages in execution order.

The signature of each stage function declares the tables that it reads. The runner
(`builder.runtime.runner`) runs a stage once per snapshot, once per pair of consecutive snapshots,
or once per collection.
"""

from builder.alignment import align_snapshots, build_id_maps
from builder.clicks import estimate_relevance, grade_pairs
from builder.collection.export.trec import export_trec
from builder.collection.layout import PUBLISHED
from builder.documents import (
    build_documents,
    collect_page_verdicts,
    collect_shown_documents,
    measure_coverage,
)
from builder.drift import count_lost_words, count_snapshot_words, measure_drift, measure_pair
from builder.ingest import ingest_crawl, ingest_log
from builder.queries import (
    collect_verdicts,
    find_leaks,
    find_variants,
    merge_labels,
    read_topics,
    select_queries,
    split_judged_queries,
)
from builder.runtime.plan import Pipeline
from builder.translation import translate

STAGES = (
    read_topics,
    # raw data to tables
    ingest_log,
    ingest_crawl,
    # queries: filter users, select queries, group variants
    collect_verdicts,
    select_queries,
    find_variants,
    # clicks to estimates
    estimate_relevance,
    # documents: pages shown in the log, and a sample of the other pages
    collect_shown_documents,
    collect_page_verdicts,
    build_documents,
    measure_coverage,
    # estimates to graded qrels, training and test queries
    grade_pairs,
    merge_labels,
    split_judged_queries,
    find_leaks,
    # translate texts, export
    translate,
    export_trec,
    # compare snapshots
    align_snapshots,
    count_snapshot_words,
    count_lost_words,
    measure_pair,
    build_id_maps,
    measure_drift,
)

PIPELINE = Pipeline(STAGES, frozenset(PUBLISHED))
