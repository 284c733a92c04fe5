"""Converts results to the JSON output of commands; `docs/json.md` documents every format."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from builder import BuildReport
    from builder.collection.imports.plan import ImportPlan
    from builder.collection.imports.release import ImportReport
    from builder.evaluation.baselines.sanity import SanityCheckRow


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=1))


def build_report_to_json(report: "BuildReport") -> dict[str, Any]:
    """Return the output of `longeval build --format json`: the version and all steps."""
    return {
        "root": str(report.root),
        "version": None if report.version is None else str(report.version),
        "published": report.published,
        "refusal": report.refusal,
        "units": [
            {
                "stage": result.step.stage.name,
                "unit": result.step.key,
                "ran": result.has_run,
                "conditional": result.is_conditional,
                "reasons": list(result.reasons),
                "seconds": round(result.seconds, 3),
                "account": None if result.ledger is None else _ledger_to_json(result.ledger),
            }
            for result in report.results
        ],
    }


def verification_to_json(
    version: Path, differing_files: Sequence[str], changed_tools: Sequence[str]
) -> dict[str, Any]:
    """Return the output of `longeval build --verify VERSION --format json`.

    Args:
        version: Version folder that was verified.
        differing_files: Paths of the files that differ from the rebuilt files.
        changed_tools: Stages and libraries whose versions have changed since the build.
    """
    return {
        "version": str(version),
        "same": not differing_files,
        "differing": list(differing_files),
        "tools": list(changed_tools),
    }


def import_report_to_json(report: "ImportReport") -> dict[str, Any]:
    """Return the output of `longeval import --format json`: imported rows and skipped files."""
    accounts = {snapshot: _ledger_to_json(ledger) for snapshot, ledger in report.ledgers.items()}
    return {
        "version": str(report.version),
        "rows": {snapshot: dict(rows) for snapshot, rows in report.rows.items()},
        "accounts": accounts,
        **_skipped_files_to_json(report.plan),
    }


def import_plan_to_json(plan: "ImportPlan") -> dict[str, Any]:
    """Return the output of `longeval import --explain --format json`: files to read and to skip."""
    return {
        "version": str(plan.version),
        "files": plan.file_counts(),
        **_skipped_files_to_json(plan),
    }


def _skipped_files_to_json(plan: "ImportPlan") -> dict[str, Any]:
    """Return, as JSON, the files and links that an import skips and the prior datasets it lacks."""
    return {
        "unread": {path: files.count for path, files in plan.unread_files.items()},
        "unread_reasons": {path: files.reason for path, files in plan.unread_files.items()},
        "outside": list(plan.external_links),
        "missing": list(plan.missing_datasets),
    }


def sanity_rows_to_json(rows: "list[SanityCheckRow]") -> list[dict[str, Any]]:
    """Return the output of `longeval sanity --format json`: an object per language and snapshot."""
    return [asdict(row) for row in rows]


def _ledger_to_json(ledger: Any) -> dict[str, Any]:
    return {
        "unit": ledger.unit,
        "rows_in": ledger.rows_in,
        "rows_out": ledger.rows_out,
        "rejected": dict(sorted(ledger.rejected.items())),
        "notes": list(ledger.notes),
    }
