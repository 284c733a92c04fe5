"""The whole flow on one screen: every stage, in the order in which data flows through them.

Each stage is declared above its function, whose signature names the tables that it reads; the
runner (`builder.runtime.runner`) runs it per snapshot, per pair of consecutive snapshots, or once.
"""

from builder.alignment import align_snapshots, build_maps
from builder.clicks import estimate, grade
from builder.collection.export.trec import export_trec
from builder.collection.layout import PUBLISHED
from builder.documents import (
    build_documents,
    collect_page_verdicts,
    collect_shown,
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
    select,
    split,
)
from builder.runtime.plan import Pipeline
from builder.translation import translate

STAGES = (
    read_topics,
    # raw data to tables
    ingest_log,
    ingest_crawl,
    # queries: whose impressions count, which are selected, which are variants of one another
    collect_verdicts,
    select,
    find_variants,
    # clicks to estimates
    estimate,
    # documents: pages that were shown, and a sample of the others
    collect_shown,
    collect_page_verdicts,
    build_documents,
    measure_coverage,
    # estimates to graded qrels, training and test queries
    grade,
    merge_labels,
    split,
    find_leaks,
    # text in both languages
    translate,
    export_trec,
    # snapshots compared
    align_snapshots,
    count_snapshot_words,
    count_lost_words,
    measure_pair,
    build_maps,
    measure_drift,
)

PIPELINE = Pipeline(STAGES, frozenset(PUBLISHED))
