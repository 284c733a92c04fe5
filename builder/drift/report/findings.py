"""Summarizes `drift.json` in a few sentences, called findings.

Changes in how the collection was built come first, because they affect the meaning of every other
number; then the largest change of each kind: documents, vocabulary, queries, judgements.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from builder.drift.summary import NOT_KEPT_STATUSES, count_dropped_documents
from builder.reporting.numbers import format_count, format_decimal, format_percent, pluralize

Drift = Mapping[str, Any]

TOUCHED = ("removed", *NOT_KEPT_STATUSES, "updated")
LEFT = (
    ("removed", "no longer in the crawl"),
    ("not_shown", "crawled but not shown for any selected query"),
    ("not_sampled", "crawled but not sampled"),
    ("left_out", "crawled but excluded by a rule"),
)


@dataclass(frozen=True)
class Finding:
    """One-sentence finding about the collection.

    Args:
        text: The sentence.
        is_warning: Whether the sentence reports a change in how the collection was built.
    """

    text: str
    is_warning: bool = False


def list_findings(drift: Drift) -> list[Finding]:
    """Return all findings, starting with changes in how the collection was built."""
    warnings = [
        Finding(f"{' to '.join(check['snapshots'])}: {check['evidence']}.", is_warning=True)
        for check in drift["checks"]
        if check["verdict"] == "construction"
    ]
    facts = [
        Finding(text)
        for about in (
            _survival_finding,
            _removed_documents_finding,
            _document_update_finding,
            _vocabulary_finding,
            _query_turnover_finding,
            _topic_finding,
            _grade_agreement_finding,
            _relevant_pages_finding,
        )
        for text in about(drift)
    ]
    return warnings + facts


def _survival_finding(drift: Drift) -> Iterator[str]:
    names = [s["snapshot"] for s in drift["snapshots"]]
    documents = drift["documents"]
    if len(names) < 2 or not documents["ids"]:
        return
    last = documents["survival"][-1]
    first = documents["survival"][0]["present"]
    everywhere = "both" if len(names) == 2 else "every snapshot"
    yield (
        f"{format_percent(last['present_share'])} of the {format_count(first)} pages of "
        f"{names[0]} are still in {names[-1]}; "
        f"{pluralize(documents['core'], 'page is', 'pages are')} in {everywhere}."
    )


def _removed_documents_finding(drift: Drift) -> Iterator[str]:
    """Yield a sentence on why pages left the collection, for the pair that lost the most pages."""
    pairs = [
        p
        for p in drift["pairs"]
        if p["documents"]["removed"] + count_dropped_documents(p["documents"])
    ]
    if not pairs:
        return

    def lost_page_share(pair: Mapping[str, Any]) -> float:
        left = int(pair["documents"]["removed"] + count_dropped_documents(pair["documents"]))
        return left / (left + _count_common_documents(pair))

    most = max(pairs, key=lost_page_share)
    documents = most["documents"]
    left = documents["removed"] + count_dropped_documents(documents)
    if documents["removed_crawl_unknown"]:
        yield (
            f"{pluralize(left, 'page')} of {most['from']} {'is' if left == 1 else 'are'} not in "
            f"{most['to']}; whether {'it was' if left == 1 else 'they were'} crawled is unknown."
        )
        return
    reasons = [
        f"{pluralize(documents[name], 'is', 'are')} {reason}"
        for name, reason in LEFT
        if documents[name] or name == "removed"
    ]
    yield (
        f"{pluralize(left, 'page')} of {most['from']} left the collection in {most['to']}: "
        f"{', '.join(reasons)}."
    )


def _document_update_finding(drift: Drift) -> Iterator[str]:
    pairs = [p for p in drift["pairs"] if p["documents"]["updated"]]
    if not pairs:
        return
    most = max(pairs, key=lambda p: p["documents"]["updated"] / _count_common_documents(p))
    documents = most["documents"]
    yield (
        f"Pages {_describe_change(drift)} from {most['from']} to {most['to']}: "
        f"{format_percent(documents['updated'] / _count_common_documents(most))} of the common "
        "pages were updated, and half of these kept at least "
        f"{format_percent(documents['shingle_jaccard']['median'])} of their word sequences; "
        f"{pluralize(documents['bands']['rewritten'], 'page was', 'pages were')} rewritten."
    )


def _describe_change(drift: Drift) -> str:
    """Return `changed`, or `changed most` if the finding is about one of several pairs."""
    return "changed most" if len(drift["pairs"]) > 1 else "changed"


def _count_common_documents(pair: Mapping[str, Any]) -> int:
    """Count the documents in both snapshots; at least 1, because it is used as a divisor."""
    return max(int(pair["documents"]["updated"] + pair["documents"]["unchanged"]), 1)


def _vocabulary_finding(drift: Drift) -> Iterator[str]:
    pairs = [p for p in drift["vocabulary"]["all"] if p["js_bits"] is not None and "rising" in p]
    if not pairs:
        return
    most = max(pairs, key=lambda p: p["js_bits"])
    words = ", ".join(
        f"\N{LEFT DOUBLE QUOTATION MARK}{w['word']}\N{RIGHT DOUBLE QUOTATION MARK}"
        for w in most["rising"][:3]
    )
    yield (
        f"The vocabulary {_describe_change(drift)} from {most['from']} to {most['to']} "
        f"(Jensen-Shannon divergence {format_decimal(most['js_bits'], 4)} bits): "
        f"{_describe_oov_share(most['oov_share'])}" + (f"; {words} rose most." if words else ".")
    )


def _describe_oov_share(oov_share: float) -> str:
    if not oov_share:
        return "no word of the later snapshot is new"
    return f"{format_percent(oov_share, 2)} of the words in the later snapshot are new"


def _query_turnover_finding(drift: Drift) -> Iterator[str]:
    pairs = [p for p in drift["pairs"] if p["queries"]["kept"] + p["queries"]["gone"]]
    if not pairs:
        return
    if not any(p["queries"]["gone"] + p["queries"]["new"] for p in pairs):
        yield "Listed queries are the same in all compared snapshots."
        return
    least = min(pairs, key=lambda p: (_kept_query_share(p), -p["queries"]["new"]))
    queries = least["queries"]
    yield (
        f"The listed queries {_describe_change(drift)} from {least['from']} to {least['to']}: "
        f"{format_percent(_kept_query_share(least))} of "
        f"{format_count(queries['kept'] + queries['gone'])} were kept, "
        f"and {pluralize(queries['new'], 'query was', 'queries were')} added."
    )


def _kept_query_share(pair: Mapping[str, Any]) -> float:
    queries = pair["queries"]
    return float(queries["kept"] / (queries["kept"] + queries["gone"]))


def _topic_finding(drift: Drift) -> Iterator[str]:
    topics = drift["queries"]["topics"]
    names = topics["snapshots"]
    asked = [[p["from"], p["to"]] for p in drift["pairs"]]
    places = [
        place
        for place, bits in enumerate(topics["js_bits_impressions"])
        if bits and [*names[place : place + 2]] in asked
    ]
    if not places:
        return
    most = max(places, key=lambda place: topics["js_bits_impressions"][place])
    row, before, after = _find_most_changed_topic(topics["mix"], most)
    yield (
        f"The topic mix {_describe_change(drift)} from {names[most]} to {names[most + 1]}: "
        "Jensen-Shannon divergence "
        f"{format_decimal(topics['js_bits_impressions'][most], 4)} bits by impressions "
        f"and {format_decimal(topics['js_bits'][most], 4)} by queries; "
        f"the share of “{row['topic']}” went from "
        f"{format_percent(before)} to {format_percent(after)} of impressions."
    )


def _find_most_changed_topic(
    mix: Sequence[Mapping[str, Any]], index: int
) -> tuple[Mapping[str, Any], float, float]:
    """Return the topic whose share of impressions changed most, and its shares before and after."""
    totals = [sum(row["impressions"][at] for row in mix) or 1 for at in (index, index + 1)]
    shares = [
        (row, row["impressions"][index] / totals[0], row["impressions"][index + 1] / totals[1])
        for row in mix
    ]
    return max(shares, key=lambda item: (abs(item[2] - item[1]), item[0]["topic"]))


def _grade_agreement_finding(drift: Drift) -> Iterator[str]:
    pairs = [p for p in drift["pairs"] if p["qrels"]["pairs_common"]]
    if not pairs:
        return
    least = min(pairs, key=lambda p: p["qrels"]["kept_share"])
    qrels = least["qrels"]
    yield (
        f"Of {pluralize(qrels['pairs_common'], 'pair')} judged in both {least['from']} and "
        f"{least['to']}, {format_percent(qrels['kept_share'])} kept their grade and "
        f"{format_percent(qrels['flip_rate'])} changed between not relevant and highly relevant"
        + (f" (kappa {format_decimal(qrels['kappa'], 2)})." if qrels["kappa"] is not None else ".")
    )


def _relevant_pages_finding(drift: Drift) -> Iterator[str]:
    rows = []
    for pair in drift["pairs"]:
        fate = {row["document"]: row["relevant"] for row in pair["qrels"]["relevant_before"]}
        touched = sum(fate.get(status, 0) for status in TOUCHED)
        if touched:
            rows.append((touched / sum(fate.values()), pair, fate))
    if not rows:
        return
    _, pair, fate = max(rows, key=lambda row: row[0])
    left = sum(fate.get(status, 0) for status in NOT_KEPT_STATUSES)
    departed = (
        f"to pages that are not in {pair['to']} (whether they were crawled is unknown)"
        if pair["documents"]["removed_crawl_unknown"]
        else f"to pages that were removed in {pair['to']}, "
        f"{format_count(left)} to pages that were crawled but not kept in {pair['to']},"
    )
    yield (
        f"Of {pluralize(sum(fate.values()), 'relevant judgement')} of {pair['from']}, "
        f"{pluralize(fate.get('removed', 0), 'points', 'point')} {departed} and "
        f"{format_count(fate.get('updated', 0))} to pages that were updated."
    )
