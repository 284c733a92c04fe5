"""Explorer page that lists queries, with text search, filters and sort orders."""

from builder.explore.forms import ALL, create_search_field, create_select_field, render_filter_form
from builder.explore.page_request import PageRequest
from builder.explore.render import Page, link
from builder.explore.source import CollectionSource
from builder.explore.statements import Statement
from builder.explore.tables import Column, render_paged_table
from builder.reporting import numbers
from builder.reporting.parts import Cell

GROUPS = {
    "core": "in every snapshot (core)",
    "listed": "listed",
    "judged": "judged",
    "judged only": "judged, not listed",
    "not judged": "listed, not judged",
    "train": "split: train",
    "heldout": "split: held out",
    "test": "split: test",
    "seen": "split: seen in training",
}

QUERIES = """
WITH listed AS (
  SELECT query_key, arg_max(text, snapshot) AS text, arg_max(text_en, snapshot) AS text_en,
    arg_max(topics, snapshot) AS topics, list(snapshot ORDER BY snapshot) AS snapshots,
    list(split ORDER BY snapshot) AS splits, sum(impressions)::BIGINT AS impressions
  FROM queries WHERE $snapshot = '' OR snapshot = $snapshot GROUP BY query_key
), graded AS (
  SELECT query_key, count(*) AS judged, count(*) FILTER (grade > 0) AS relevant,
    count(DISTINCT snapshot) AS judged_snapshots
  FROM qrels WHERE $snapshot = '' OR snapshot = $snapshot GROUP BY query_key
), flipped AS (
  SELECT query_id AS query_key, count(*) AS flips
  FROM qrel_changes
  WHERE grade_from <> grade_to AND ($snapshot = '' OR $snapshot IN (from_snapshot, to_snapshot))
  GROUP BY query_id
), moved AS (
  SELECT query_id AS query_key,
    max(abs(coalesce(impressions_to, 0)::BIGINT - coalesce(impressions_from, 0)::BIGINT)) AS moved
  FROM query_changes
  WHERE $snapshot = '' OR $snapshot IN (from_snapshot, to_snapshot) GROUP BY query_id
), every AS (
  SELECT query_key, coalesce(listed.text, map.text) AS text, listed.text_en, listed.topics,
    coalesce(map.core, false) AS core, coalesce(map.aliases, []) AS aliases,
    coalesce(len(listed.snapshots), 0)::BIGINT AS listed, judged_snapshots, splits,
    coalesce(listed.impressions, 0) AS impressions, coalesce(judged, 0) AS judged,
    coalesce(relevant, 0) AS relevant, coalesce(flips, 0) AS flips, coalesce(moved, 0) AS moved
  FROM listed FULL JOIN graded USING (query_key)
    LEFT JOIN flipped USING (query_key) LEFT JOIN moved USING (query_key)
    LEFT JOIN (SELECT query_id AS query_key, text, core, aliases FROM queries_map) AS map
      USING (query_key)
)
SELECT query_key AS query_id, text, text_en, topics, core, splits, listed, impressions, judged,
  relevant, flips, moved
FROM every
WHERE ($text = '' OR query_key = $text
  OR query_key IN (SELECT query_key FROM queries WHERE query_id = $text)
  OR query_key IN (SELECT query_key FROM qrels WHERE query_id = $text) OR (folded($text) <> '' AND (
    contains(folded(text), folded($text)) OR contains(folded(text_en), folded($text))
    OR len(list_filter(aliases, lambda alias: contains(folded(alias), folded($text)))) > 0)))
  AND ($topic = '' OR list_contains(topics, $topic))
  AND CASE $group WHEN '' THEN true WHEN 'core' THEN core WHEN 'listed' THEN listed > 0
    WHEN 'judged' THEN judged > 0 WHEN 'judged only' THEN judged > 0 AND listed = 0
    WHEN 'not judged' THEN judged = 0 ELSE list_contains(splits, $group) END
"""
ORDERS = {
    "impressions": "impressions DESC, query_id",
    "text": "text, query_id",
    "judged": "judged DESC, query_id",
    "relevant": "relevant DESC, query_id",
    "flips": "flips DESC, query_id",
    "moved": "moved DESC, query_id",
    "listed": "listed DESC, query_id",
    "longest": "length(text) DESC, query_id",
    "least": "impressions, query_id",
}
SORTS = {
    "impressions": "most impressions",
    "moved": "largest change in impressions",
    "flips": "most grade flips",
    "judged": "most judgements",
    "relevant": "most judgements with a grade above 0",
    "listed": "in most snapshots",
    "text": "text",
    "longest": "longest text",
    "least": "fewest impressions",
}
TOPICS = "SELECT topic_id, label FROM topics ORDER BY topic_id"


def query_link_cell(query_id: str, text: str | None) -> Cell:
    """Return a table cell with a link to a query's page, labeled with the text, or else the id."""
    return Cell(link(f"/query/{query_id}", text or query_id))


def _join_with_commas(names: list[str] | None) -> str:
    return ", ".join(names) if names else numbers.DASH


COLUMNS = (
    Column(
        "Query",
        lambda r: query_link_cell(r["query_id"], r["text"]),
        "Text in the last snapshot that lists the query",
        "text",
    ),
    Column("English", "text_en", "English translation, or a dash"),
    Column(
        "Topics", lambda r: _join_with_commas(r["topics"]), "Topics whose names the query mentions"
    ),
    Column(
        "Split",
        lambda r: _join_with_commas(list(dict.fromkeys(r["splits"] or ()))),
        "Splits in chronological order: train, heldout, test, or seen (in training)",
    ),
    Column("Snapshots", "listed", "Number of snapshots that list the query", "listed"),
    Column("Judged", "judged", "Number of judgements in the selected snapshots", "judged"),
    Column("Relevant", "relevant", "Number of judgements with a grade above 0", "relevant"),
    Column("Flips", "flips", "Number of grades that differ between consecutive snapshots", "flips"),
)
IMPRESSION_COLUMNS = (
    Column(
        "Impressions",
        "impressions",
        "Number of impressions in the selected snapshots",
        "impressions",
    ),
    Column(
        "Moved",
        "moved",
        "Largest change in impressions between consecutive snapshots",
        "moved",
    ),
)
"""Table columns that are omitted for imported collections, which have no impression counts."""
IMPRESSION_ORDERS = ("impressions", "moved", "least")


def queries_page(source: CollectionSource, request: PageRequest) -> Page:
    """Build the page `/queries`, which lists queries."""
    topics = [(row["topic_id"], row["label"]) for row in source.fetch_rows(Statement(TOPICS))]
    values: dict[str, str] = {
        "text": request.text_parameter("text"),
        "topic": request.choice_parameter("topic", [name for name, _ in topics]),
        "snapshot": request.choice_parameter("snapshot", source.snapshots),
        "group": request.choice_parameter("group", list(GROUPS)),
    }
    orders = ORDERS
    if source.is_imported:
        orders = {name: order for name, order in ORDERS.items() if name not in IMPRESSION_ORDERS}
    sort = request.choice_parameter("sort", list(orders), next(iter(orders)))
    fields = [
        create_search_field("text", "Text or id", values["text"]),
        create_select_field("topic", "Topic", values["topic"], [ALL, *topics]),
        create_select_field("snapshot", "Snapshot", values["snapshot"], [ALL, *source.snapshots]),
        create_select_field("group", "Which", values["group"], [ALL, *GROUPS.items()]),
        create_select_field("sort", "Order", sort, [(name, SORTS[name]) for name in orders]),
    ]
    visible = [field for field in fields if topics or field.name != "topic"]
    listed = render_paged_table(
        source,
        request,
        "Queries",
        COLUMNS if source.is_imported else (*COLUMNS, *IMPRESSION_COLUMNS),
        Statement(QUERIES, dict(values)),
        orders,
        empty_text="No queries match these filters.",
        is_small=True,
    )
    lead = (
        "The search ignores case, accents and punctuation, and includes variants and translations."
    )
    return Page("Queries", lead, (render_filter_form(request, *visible), listed), "/queries")
