"""What verbs print for machines; `docs/json.md` describes every shape, and a test compares."""

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
    from builder.evaluation.baselines.sanity import SanityRow


def say_json(value: Any) -> None:
    """Print a value as JSON, for people's eyes too."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=1))


def build_shape(report: "BuildReport") -> dict[str, Any]:
    """What a build did, or would do: `longeval build --format json`."""
    return {
        "root": str(report.root),
        "version": None if report.version is None else str(report.version),
        "published": report.published,
        "units": [
            {
                "stage": step.unit.stage.name,
                "unit": step.unit.key,
                "ran": step.ran,
                "reasons": list(step.reasons),
                "seconds": round(step.seconds, 3),
                "account": None if step.ledger is None else _account(step.ledger),
            }
            for step in report.steps
        ],
    }


def verified_shape(version: Path, differing: Sequence[str]) -> dict[str, Any]:
    """Whether a version came out again: `longeval build --verify VERSION --format json`."""
    return {"version": str(version), "same": not differing, "differing": list(differing)}


def import_shape(report: "ImportReport") -> dict[str, Any]:
    """What an import took over: `longeval import --format json`."""
    accounts = {snapshot: _account(ledger) for snapshot, ledger in report.ledgers.items()}
    return {
        "version": str(report.version),
        "rows": {snapshot: dict(rows) for snapshot, rows in report.rows.items()},
        "accounts": accounts,
        **_plan_shape(report.plan),
    }


def import_plan_shape(plan: "ImportPlan") -> dict[str, Any]:
    """Files that an import would read: `longeval import --explain --format json`."""
    return {"version": str(plan.version), "files": plan.file_counts(), **_plan_shape(plan)}


def _plan_shape(plan: "ImportPlan") -> dict[str, Any]:
    """Files that an import leaves out."""
    return {
        "unread": dict(plan.unread_files),
        "outside": list(plan.external_links),
        "missing": list(plan.missing_datasets),
    }


def sanity_shape(rows: "list[SanityRow]") -> list[dict[str, Any]]:
    """Every row of the table: `longeval sanity --format json`."""
    return [asdict(row) for row in rows]


def _account(ledger: Any) -> dict[str, Any]:
    return {
        "unit": ledger.unit,
        "rows_in": ledger.rows_in,
        "rows_out": ledger.rows_out,
        "rejected": dict(sorted(ledger.rejected.items())),
        "notes": list(ledger.notes),
    }
