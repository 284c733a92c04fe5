"""Formats the findings of `longeval validate` as text, JSON or GitHub annotations."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from builder.collection.checks.finding import SEVERITIES, Finding
from builder.reporting.numbers import pluralize
from builder.runtime.publisher import MANIFEST
from builder.text.listing import join_names

FINDINGS_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Findings of longeval validate",
    "type": "object",
    "required": ["valid", "versions", "findings"],
    "additionalProperties": False,
    "properties": {
        "valid": {"type": "boolean", "description": "True if no finding is an error"},
        "versions": {
            "type": "object",
            "description": "Names of the snapshots of each validated version, by path of the "
            "version folder; empty if the manifest cannot be read",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "required": [
                    "check",
                    "severity",
                    "where",
                    "message",
                    "count",
                    "examples",
                    "fix",
                    "version",
                ],
                "additionalProperties": False,
                "properties": {
                    "check": {"type": "string", "pattern": "^[A-Z]{2,8}[0-9]{3}$"},
                    "severity": {"enum": list(SEVERITIES)},
                    "where": {
                        "type": "string",
                        "description": "Path of the file or table in the version folder",
                    },
                    "message": {"type": "string"},
                    "count": {"type": "integer", "minimum": 1},
                    "examples": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
                    "fix": {"type": "string"},
                    "version": {"type": "string", "description": "Path of the version folder"},
                },
            },
        },
    },
}
"""JSON Schema for the output of `format_json`."""


def format_json(findings: Sequence[Finding], snapshots: Mapping[str, Sequence[str]]) -> str:
    """Format findings as a JSON object with the keys of `FINDINGS_SCHEMA`.

    Args:
        findings: Findings.
        snapshots: Snapshots of each validated version, by path of the version folder.
    """
    valid = not any(finding.severity == "error" for finding in findings)
    return json.dumps(
        {
            "valid": valid,
            "versions": snapshots,
            "findings": [asdict(finding) for finding in findings],
        },
        ensure_ascii=False,
        indent=1,
    )


def format_summary(findings: Sequence[Finding], snapshots: Mapping[str, Sequence[str]]) -> str:
    """Return one line with the number of findings, and the versions and snapshots validated.

    Args:
        findings: Findings.
        snapshots: Snapshots of each validated version, by path of the version folder.
    """
    count = pluralize(len(findings), "finding") if findings else "no findings"
    versions = [
        f"{version} ({join_names(names, separator=', ') or f'cannot read {MANIFEST}'})"
        for version, names in snapshots.items()
    ]
    return f"{count} in {join_names(versions)}"


def format_text(finding: Finding) -> str:
    """Format a finding as one paragraph of plain text."""
    where = Path(finding.version, finding.where).as_posix()
    count = f" ({finding.count:,})" if finding.count > 1 else ""
    examples = f" First: {', '.join(finding.examples)}." if finding.examples else ""
    return (
        f"{finding.check} {finding.severity}: {where}: {finding.message.removesuffix('.')}"
        f"{count}.{examples} Fix: {finding.fix}."
    )


def format_github(finding: Finding) -> str:
    """Format a finding as a GitHub Actions workflow command that annotates the pull request."""
    level = "error" if finding.severity == "error" else "warning"
    text = format_text(finding).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    file = _path_in_repository(finding)
    for character in "%\r\n,:":
        file = file.replace(character, f"%{ord(character):02X}")
    return f"::{level} file={file},title=longeval validate::{text}"


def _path_in_repository(finding: Finding) -> str:
    """Return the path of the file to annotate, relative to the root of the repository.

    The root is the folder in the environment variable `GITHUB_WORKSPACE`; default: the current
    folder. If the finding concerns a table, its first file is annotated.
    """
    path = Path(finding.version).resolve() / finding.where
    files = (path, path.with_name(f"{path.name}.parquet"), *sorted(path.glob("part-*.parquet")))
    file = next((file for file in files if file.is_file()), path)
    return os.path.relpath(file, os.path.realpath(os.environ.get("GITHUB_WORKSPACE", "")))
