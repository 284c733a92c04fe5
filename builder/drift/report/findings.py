"""What a reader should know first, in plain sentences made from `drift.json`.

Changes of construction come first, because they make every other number mean something else; then
what changed in documents, vocabulary, queries and judgements, the largest change of each.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from builder.drift.summary import NOT_KEPT_STATUSES, count_not_kept
from builder.reporting.numbers import count, decimal, percent, plural

Drift = Mapping[str, Any]

TOUCHED = ("removed", *NOT_KEPT_STATUSES, "updated")
LEFT = (
    ("removed", "are no longer in the crawl"),
    ("not_shown", "are crawled, but no selected query shows them"),
    ("not_sampled", "are crawled, but not sampled"),
    ("left_out", "are crawled, but left out by a rule"),
)


@dataclass(frozen=True)
class Finding:
    """A sentence, and whether it warns of a change of construction."""

    text: str
    warns: bool = False


def findings(drift: Drift) -> list[Finding]:
    """All findings, most important first."""
    warnings = [
        Finding(f"{' to '.join(check['snapshots'])}: {check['evidence']}.", warns=True)
        for check in drift["checks"]
        if check["verdict"] == "construction"
    ]
    facts = [
        Finding(text)
        for about in (
            _documents,
            _left,
            _degrees,
            _vocabulary,
            _queries,
            _topics,
            _labels,
            _relevant,
        )
        for text in about(drift)
    ]
    return warnings + facts


def unseen(drift: Drift) -> list[str]:
    """What no check could have found: one sentence per check that cannot tell."""
    found: dict[str, list[str]] = {}
    for check in drift["checks"]:
        if check["verdict"] == "cannot tell":
            reason = check["sees"] or check["evidence"]
            found.setdefault(check["asks"], []).append(
                f"{' to '.join(check['snapshots'])}: {reason}"
            )
    return [f"{asks} {'; '.join(reasons)}." for asks, reasons in found.items()]


def _documents(drift: Drift) -> Iterator[str]:
    names = [s["snapshot"] for s in drift["snapshots"]]
    documents = drift["documents"]
    if len(names) < 2 or not documents["ids"]:
        return
    last = documents["survival"][-1]
    first = documents["survival"][0]["present"]
    yield (
        f"{percent(last['present_share'])} of the {count(first)} pages of {names[0]} are in "
        f"{names[-1]} as well; {count(documents['core'])} pages are in every snapshot."
    )


def _left(drift: Drift) -> Iterator[str]:
    """Why pages left the collection, for the pair with the largest share."""
    pairs = [
        p for p in drift["pairs"] if p["documents"]["removed"] + count_not_kept(p["documents"])
    ]
    if not pairs:
        return

    def share(pair: Mapping[str, Any]) -> float:
        left = int(pair["documents"]["removed"] + count_not_kept(pair["documents"]))
        return left / (left + _common(pair))

    most = max(pairs, key=share)
    documents = most["documents"]
    left = documents["removed"] + count_not_kept(documents)
    if documents["removed_crawl_unknown"]:
        yield (
            f"{plural(left, 'page')} of {most['from']} are not in {most['to']}; whether its crawl "
            "has them is not known."
        )
        return
    reasons = [
        f"{count(documents[name])} {reason}"
        for name, reason in LEFT
        if documents[name] or name == "removed"
    ]
    yield (
        f"{plural(left, 'page')} of {most['from']} left the collection with {most['to']}: "
        f"{', '.join(reasons)}."
    )


def _degrees(drift: Drift) -> Iterator[str]:
    pairs = [p for p in drift["pairs"] if p["documents"]["updated"]]
    if not pairs:
        return
    most = max(pairs, key=lambda p: p["documents"]["updated"] / _common(p))
    documents = most["documents"]
    yield (
        f"Pages changed most from {most['from']} to {most['to']}: "
        f"{percent(documents['updated'] / _common(most))} of those in both were updated, and half "
        f"of these kept at least {percent(documents['shingle_jaccard']['median'])} of their "
        f"five-word sequences; {plural(documents['bands']['rewritten'], 'page')} "
        f"{'was' if documents['bands']['rewritten'] == 1 else 'were'} rewritten."
    )


def _common(pair: Mapping[str, Any]) -> int:
    return max(int(pair["documents"]["updated"] + pair["documents"]["unchanged"]), 1)


def _vocabulary(drift: Drift) -> Iterator[str]:
    pairs = [p for p in drift["vocabulary"]["all"] if p["js_bits"] is not None and "rising" in p]
    if not pairs:
        return
    most = max(pairs, key=lambda p: p["js_bits"])
    words = ", ".join(
        f"\N{LEFT DOUBLE QUOTATION MARK}{w['word']}\N{RIGHT DOUBLE QUOTATION MARK}"
        for w in most["rising"][:3]
    )
    yield (
        f"The vocabulary moved most from {most['from']} to {most['to']} (Jensen-Shannon "
        f"{decimal(most['js_bits'], 4)} bits): {_unknown(most['oov_share'])}"
        + (f"; {words} rose most." if words else ".")
    )


def _unknown(share: float) -> str:
    if not share:
        return "no later word was unknown before"
    return f"{percent(share, 2)} of later words were unknown before"


def _queries(drift: Drift) -> Iterator[str]:
    pairs = [p for p in drift["pairs"] if p["queries"]["kept"] + p["queries"]["gone"]]
    if not pairs:
        return
    least = min(pairs, key=_queries_kept)
    queries = least["queries"]
    yield (
        f"Listed queries turned over most from {least['from']} to {least['to']}: "
        f"{percent(_queries_kept(least))} of {count(queries['kept'] + queries['gone'])} stayed, "
        f"and {plural(queries['new'], 'query', 'queries')} came."
    )


def _queries_kept(pair: Mapping[str, Any]) -> float:
    queries = pair["queries"]
    return float(queries["kept"] / (queries["kept"] + queries["gone"]))


def _topics(drift: Drift) -> Iterator[str]:
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
    row, before, after = _moved_topic(topics["mix"], most)
    yield (
        f"The mix of topics moved most from {names[most]} to {names[most + 1]}: Jensen-Shannon "
        f"{decimal(topics['js_bits_impressions'][most], 4)} bits by impressions and "
        f"{decimal(topics['js_bits'][most], 4)} by queries; "
        f"“{row['topic']}” went from "
        f"{percent(before)} to {percent(after)} of impressions."
    )


def _moved_topic(
    mix: Sequence[Mapping[str, Any]], place: int
) -> tuple[Mapping[str, Any], float, float]:
    """The topic whose share of impressions changed most, with both shares."""
    totals = [sum(row["impressions"][at] for row in mix) or 1 for at in (place, place + 1)]
    shares = [
        (row, row["impressions"][place] / totals[0], row["impressions"][place + 1] / totals[1])
        for row in mix
    ]
    return max(shares, key=lambda item: (abs(item[2] - item[1]), item[0]["topic"]))


def _labels(drift: Drift) -> Iterator[str]:
    pairs = [p for p in drift["pairs"] if p["qrels"]["pairs_common"]]
    if not pairs:
        return
    least = min(pairs, key=lambda p: p["qrels"]["kept_share"])
    qrels = least["qrels"]
    yield (
        f"Of {count(qrels['pairs_common'])} pairs judged in both {least['from']} and "
        f"{least['to']}, {percent(qrels['kept_share'])} kept their grade and "
        f"{percent(qrels['flip_rate'])} went from not to highly relevant or back"
        + (f" (kappa {decimal(qrels['kappa'], 2)})." if qrels["kappa"] is not None else ".")
    )


def _relevant(drift: Drift) -> Iterator[str]:
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
    yield (
        f"Of {count(sum(fate.values()))} relevant judgements of {pair['from']}, "
        f"{count(fate.get('removed', 0))} point to pages that were removed by {pair['to']}, "
        f"{count(left)} to pages that {pair['to']} does not keep, and "
        f"{count(fate.get('updated', 0))} to pages that were updated."
    )
