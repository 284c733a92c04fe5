"""The list of queries: search, filters, and what moved most."""

from builder.explore.asked import Asked
from builder.explore.forms import ALL, form, search, select
from builder.explore.render import Page, link
from builder.explore.source import Source
from builder.explore.statements import Statement
from builder.explore.tables import Column, listing
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
WHERE ($text = '' OR query_key = $text OR contains(folded(text), folded($text))
    OR contains(folded(text_en), folded($text))
    OR len(list_filter(aliases, lambda alias: contains(folded(alias), folded($text)))) > 0)
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
    "moved": "moved most (impressions)",
    "flips": "most grade flips",
    "judged": "most judgements",
    "relevant": "most relevant pages",
    "listed": "in most snapshots",
    "text": "text",
    "longest": "longest text",
    "least": "fewest impressions",
}
TOPICS = "SELECT topic_id, label FROM topics ORDER BY topic_id"


def query_link(query: str, text: str | None) -> Cell:
    """A link to a query by its text, or by its id where the text is not known."""
    return Cell(link(f"/query/{query}", text or query))


def _joined(values: list[str] | None) -> str:
    return ", ".join(values) if values else numbers.DASH


COLUMNS = (
    Column(
        "Query",
        lambda r: query_link(r["query_id"], r["text"]),
        "The text in its last snapshot",
        "text",
    ),
    Column("English", "text_en", "Its translation; a dash where there is none"),
    Column("Topics", lambda r: _joined(r["topics"]), "Topics whose names it mentions"),
    Column(
        "Split",
        lambda r: _joined(list(dict.fromkeys(r["splits"] or ()))),
        "train, heldout, test, or seen in training; in order of time",
    ),
    Column("Snapshots", "listed", "Snapshots that list it", "listed"),
    Column("Judged", "judged", "Judged pages, over these snapshots", "judged"),
    Column("Relevant", "relevant", "Those with a grade above 0", "relevant"),
    Column(
        "Flips", "flips", "Judged pages whose grade differs between neighbouring snapshots", "flips"
    ),
)
ASKED = (
    Column("Impressions", "impressions", "Times it was asked, over these snapshots", "impressions"),
    Column(
        "Moved",
        "moved",
        "Largest change of its impressions between neighbouring snapshots",
        "moved",
    ),
)
"""Columns that an imported release does not state."""
UNSTATED = ("impressions", "moved", "least")


def queries(source: Source, asked: Asked) -> Page:
    """The page `/queries`."""
    topics = [(row["topic_id"], row["label"]) for row in source.rows(Statement(TOPICS))]
    values: dict[str, str] = {
        "text": asked.text("text"),
        "topic": asked.choice("topic", [name for name, _ in topics]),
        "snapshot": asked.choice("snapshot", source.snapshots),
        "group": asked.choice("group", list(GROUPS)),
    }
    orders = ORDERS
    if source.is_imported:
        orders = {name: order for name, order in ORDERS.items() if name not in UNSTATED}
    sort = asked.choice("sort", list(orders), next(iter(orders)))
    fields = [
        search("text", "Text or id", values["text"]),
        select("topic", "Topic", values["topic"], [ALL, *topics]),
        select("snapshot", "Snapshot", values["snapshot"], [ALL, *source.snapshots]),
        select("group", "Which", values["group"], [ALL, *GROUPS.items()]),
        select("sort", "Order", sort, [(name, SORTS[name]) for name in orders]),
    ]
    shown = [field for field in fields if topics or field.name != "topic"]
    found = listing(
        source,
        asked,
        "Queries",
        COLUMNS if source.is_imported else (*COLUMNS, *ASKED),
        Statement(QUERIES, dict(values)),
        orders,
        empty="No query is like that.",
        is_small=True,
    )
    lead = "Search ignores case, accents and punctuation, and looks at variants and translations."
    return Page("Queries", lead, (form(asked, *shown), found), "/queries")
