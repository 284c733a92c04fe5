"""Checks that the files that describe a version, such as its card, agree with its tables."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import polars as pl

from builder import __version__
from builder.collection.card import render_card
from builder.collection.checks.context import ValidationContext
from builder.collection.checks.finding import Check, Defect
from builder.collection.croissant import CROISSANT, croissant_metadata
from builder.collection.drift_file import read_drift
from builder.collection.files import REBUILD
from builder.collection.layout import CARD, DRIFT, REPORT
from builder.drift import measure_drift, measure_pair
from builder.drift.report import render_report
from builder.errors import FormatError, LongEvalError
from builder.queries import funnel_steps
from builder.runtime.publisher import MANIFEST

MAIN = ("documents", "queries", "qrels")
MAX_QUOTED = 60
"""Maximum number of characters of a line quoted in a message."""


def _find_wrong_descriptions(context: ValidationContext) -> Iterator[Defect]:
    """Report `README.md`, `croissant.json` or `drift.json` if it contradicts the manifest."""
    for name, find in (
        (CARD, _card_errors),
        (CROISSANT, _croissant_errors),
        (DRIFT, _drift_errors),
    ):
        if (context.collection.path / name).is_file():
            try:
                errors = list(find(context))
            except (FormatError, ValueError, LookupError, TypeError, AttributeError):
                errors = ["the file does not have the expected format"]
            for error in errors[:1]:
                yield name, error, len(errors), ()


def _iter_snapshot_sizes(context: ValidationContext) -> Iterator[tuple[str, list[int]]]:
    """Yield the name of each snapshot, and its counts of documents, queries and judgements."""
    tables = context.manifest["tables"]
    for name in context.collection.snapshots:
        entries = [tables.get(f"snapshots/{name}/{kind}", {"rows": 0}) for kind in MAIN]
        yield name, [int(entry["rows"]) for entry in entries]


def _card_errors(context: ValidationContext) -> Iterator[str]:
    """Yield a message for each statement in `README.md` that contradicts the manifest."""
    lines = (context.collection.path / CARD).read_text("utf-8").splitlines()
    title = f"# {context.collection.name} {context.collection.version}"
    if title not in lines:
        yield f"expected the heading {title!r}"
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    for name, counts in _iter_snapshot_sizes(context):
        cells = [f"{count:,}" for count in counts]
        if not any(row[0] == name and row[-len(cells) :] == cells for row in rows):
            sizes = " | ".join(cells)
            yield f"expected a row for snapshot {name} that ends with | {sizes} |"
    if _is_built_by_installed_version(context):
        yield from _card_line_errors(context, lines)


def _is_built_by_installed_version(context: ValidationContext) -> bool:
    """Whether the installed version of this package built the collection."""
    return bool(context.manifest["tools"].get("longeval-builder") == __version__)


def _card_line_errors(context: ValidationContext, lines: list[str]) -> Iterator[str]:
    """Yield a message for each unexpected or missing line of `README.md`.

    The order of the lines is not checked. The expected lines are rendered from the manifest and the
    tables. If they cannot be rendered, nothing is yielded, because another check reports the cause.
    """
    manifest = context.manifest
    arguments = manifest["definition"], manifest["tables"], manifest.get("selection", {})
    try:
        expected = render_card(context.collection.path, *arguments).splitlines()
    except (LongEvalError, pl.exceptions.PolarsError, LookupError, TypeError, ValueError):
        return
    unexpected = Counter(lines) - Counter(expected)
    for number, line in enumerate(lines, 1):
        if line.strip() and line in unexpected:
            yield f"line {number} does not match the manifest: {line[:MAX_QUOTED]!r}"
    for line in filter(str.strip, Counter(expected) - Counter(lines)):
        yield f"the line {line[:MAX_QUOTED]!r}, expected from the manifest, is missing"


def _croissant_errors(context: ValidationContext) -> Iterator[str]:
    """Yield a message for each statement in `croissant.json` that contradicts the manifest."""
    metadata = json.loads((context.collection.path / CROISSANT).read_text("utf-8"))
    for key in ("name", "version"):
        if metadata[key] != context.manifest[key]:
            yield f"expected the {key} {context.manifest[key]!r}, found {metadata[key]!r}"
    files = context.manifest["files"]
    listed = {entry["contentUrl"]: entry["sha256"] for entry in metadata["distribution"]}
    expected = {
        path: entry["sha256"]
        for path, entry in files.items()
        if path.startswith("snapshots/") and path.split("/")[2].removesuffix(".parquet") in MAIN
    }
    for path in sorted(expected.keys() | listed.keys()):
        if listed.get(path) != expected.get(path):
            yield f"the hash of {path} differs from the manifest"
    if _is_built_by_installed_version(context):
        arguments = context.manifest["definition"], context.manifest["tables"]
        described = croissant_metadata(context.collection.path, *arguments, {})
        for key, value in described.items():
            if key not in ("distribution", "recordSet") and metadata.get(key) != value:
                yield f"expected the {key} {value!r}, found {metadata.get(key)!r}"


def _drift_errors(context: ValidationContext) -> Iterator[str]:
    """Yield a message for each statement in `drift.json` that contradicts the manifest."""
    drift = read_drift(context.collection.path) or {}
    names = [entry["snapshot"] for entry in drift["snapshots"]]
    if names != list(context.collection.snapshots):
        yield f"expected snapshots {', '.join(context.collection.snapshots)}, found {names}"
        return
    for (name, counts), entry in zip(
        _iter_snapshot_sizes(context), drift["snapshots"], strict=True
    ):
        found = [entry["documents"], entry["queries"]["listed"], sum(entry["grades"])]
        for kind, expected, count in zip(MAIN, counts, found, strict=True):
            if not context.is_imported and expected != count:
                yield f"expected {expected:,} {kind} in snapshot {name}, found {count:,}"
    count = len(names) * (len(names) - 1) // 2
    if len(drift["judgements"]) != count:
        found_pairs = len(drift["judgements"])
        yield f"expected comparisons of judgements for {count} snapshot pairs, found {found_pairs}"


def _find_outdated_reports(context: ValidationContext) -> Iterator[Defect]:
    """Report `report.html` if it does not show the statistics in `drift.json`.

    The report is rendered again for comparison, so it is checked only if the installed version of
    this package built the collection.
    """
    path = context.collection.path / REPORT
    versions = {
        entry.get("version") == stage.version
        for stage in (measure_drift, measure_pair)
        for step, entry in context.manifest["units"].items()
        if step.partition(" ")[0] == stage.name
    }
    if _is_built_by_installed_version(context) and versions == {True} and path.is_file():
        try:
            rendered = render_report(read_drift(context.collection.path) or {})
        except (FormatError, ValueError, LookupError, TypeError, AttributeError):
            return
        if path.read_text("utf-8", errors="replace") != rendered:
            yield REPORT, f"the report does not show the statistics in {DRIFT}", 1, ()


def _find_wrong_reject_counts(context: ValidationContext) -> Iterator[Defect]:
    """Report snapshots whose table `rejects` does not match the reject counts in the manifest."""
    for name, rejects in context.scan_snapshots("rejects"):
        counted = rejects.group_by("stage", "reason").agg(pl.col("rows").sum()).collect()
        found = {(stage, reason): rows for stage, reason, rows in counted.iter_rows()}
        expected = _count_rejects(context.manifest["units"], name)
        wrong = sorted(
            f"{stage} {reason}"
            for stage, reason in {*found, *expected}
            if found.get((stage, reason), 0) != expected.get((stage, reason), 0)
        )
        if wrong and not context.is_imported:
            message = "the rejects do not match the reject counts in the manifest"
            yield f"snapshots/{name}/rejects", message, len(wrong), tuple(wrong[:3])


def _find_unbalanced_steps(context: ValidationContext) -> Iterator[Defect]:
    """Report build steps whose kept and rejected rows do not add up to the rows they read."""
    ledgers = {step: entry.get("ledger") for step, entry in context.manifest["units"].items()}
    wrong = [
        step
        for step, ledger in sorted(ledgers.items())
        if ledger and ledger["rows_in"] != ledger["rows_out"] + sum(ledger["rejected"].values())
    ]
    if wrong:
        message = "rows kept and rejected by a step do not add up to the rows that it read"
        yield MANIFEST, message, len(wrong), tuple(wrong[:3])


def _find_wrong_funnels(context: ValidationContext) -> Iterator[Defect]:
    """Report snapshots whose selection funnel differs from the counts of the stage `select`.

    The funnel in the manifest states how many queries each selection rule excluded.
    """
    if context.is_imported or not _is_built_by_installed_version(context):
        return
    for name in context.collection.snapshots:
        ledger = context.manifest["units"].get(f"select {name}", {}).get("ledger")
        if ledger:
            expected = [vars(step) for step in funnel_steps(ledger["rows_in"], ledger["rejected"])]
            if context.manifest.get("selection", {}).get(name) != expected:
                message = f"`selection` of {name} does not match the counts of step `select {name}`"
                yield MANIFEST, message, 1, ()


def _count_rejects(units: dict[str, Any], snapshot: str) -> dict[tuple[str, str], int]:
    """Return the number of rows rejected in a snapshot, by (stage, reason), from the manifest."""
    return {
        (step.partition(" ")[0], reason): int(rows)
        for step, entry in units.items()
        if step.partition(" ")[2] == snapshot
        for reason, rows in entry.get("ledger", {}).get("rejected", {}).items()
    }


FINDERS = (
    _find_wrong_descriptions,
    _find_outdated_reports,
    _find_wrong_reject_counts,
    _find_unbalanced_steps,
    _find_wrong_funnels,
)


def _find_contradictions(context: ValidationContext) -> Iterator[Defect]:
    for find in FINDERS:
        yield from find(context)


CHECKS = (
    Check(
        "LB123",
        "the card, metadata, drift statistics, report and rejects agree with the tables",
        "error",
        "a dataset card and a website that showed the counts of another version",
        REBUILD,
        _find_contradictions,
    ),
)
