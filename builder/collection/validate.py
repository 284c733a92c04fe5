"""Validates published collections, and formats the defects that were found."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from builder.collection.checks import CHECKS, Check, Finding, Severity, ValidationContext
from builder.collection.layout import find_versions
from builder.collection.read import open_collection
from builder.errors import FormatError, UsageError
from builder.plugins import find_plugins, load_plugin
from builder.runtime.publisher import MANIFEST, read_manifest_or_none

PLUGIN_CHECK_ID = re.compile(r"(?!LB)[A-Z]{2,8}\d{3}")
SEVERITIES: tuple[Severity, ...] = ("error", "warning")
FINDINGS_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Findings of longeval validate",
    "type": "object",
    "required": ["valid", "findings"],
    "additionalProperties": False,
    "properties": {
        "valid": {"type": "boolean", "description": "True if no finding is an error"},
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["check", "severity", "where", "message", "count", "examples", "fix"],
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
                },
            },
        },
    },
}
"""JSON Schema for the output of `format_json`."""


def validate(
    path: Path | str,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    severities: Mapping[str, Severity] | None = None,
) -> list[Finding]:
    """Run the checks on a published collection, and return all errors and warnings found.

    Args:
        path: Folder of a version, or a parent folder of it; if it contains several versions, the
            highest is checked.
        select: Ids or id prefixes (such as `LB1`) of the checks to run; default: all checks.
        ignore: Ids or id prefixes of checks to skip.
        severities: Severity by check id; replaces the default severity of these checks.

    Returns:
        Findings in the order of the checks; empty if the collection is valid.

    Raises:
        UsageError: There is no published collection, or a check is unknown.
        FormatError: The manifest is not valid.
    """
    overrides = severities or {}
    checks = (*CHECKS, *_load_plugin_checks())
    for prefix in (*select, *ignore):
        if not prefix or not any(check.id.startswith(prefix) for check in checks):
            raise UsageError(
                f"no check matches {prefix!r}; expected a check id such as {CHECKS[0].id}, or a "
                "prefix such as LB1"
            )
    for check_id, severity in overrides.items():
        if check_id not in {check.id for check in checks}:
            raise UsageError(
                f"--severity: unknown check {check_id!r}; expected a full check id, such as "
                f"{CHECKS[0].id}={severity}"
            )
    context = ValidationContext(open_collection(path))
    return [
        finding
        for check in checks
        if _is_selected(check, select, ignore)
        for finding in check.run(context, overrides.get(check.id))
    ]


def validate_all_versions(
    path: Path | str,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    severities: Mapping[str, Severity] | None = None,
) -> list[Finding]:
    """Run the checks on every version at or below a folder.

    The field `where` of each finding starts with the relative path of the version. Classification
    collections are skipped, because they have their own validation. See `validate` for the
    arguments.

    Raises:
        UsageError: There is no published version, or a check is unknown.
    """
    root = Path(path)
    versions = [
        version for version in find_versions(root) if not _is_classification_version(version)
    ]
    if not versions:
        raise UsageError(f"{path}: no published version found at or below this folder")
    findings = []
    for version in versions:
        home = version.relative_to(root).as_posix()
        for finding in _validate_version(version, select, ignore, severities):
            where = finding.where if home == "." else f"{home}/{finding.where}"
            findings.append(replace(finding, where=where))
    return findings


def _is_classification_version(version: Path) -> bool:
    return (read_manifest_or_none(version) or {}).get("kind") == "classification"


def _validate_version(
    version: Path,
    select: Sequence[str],
    ignore: Sequence[str],
    severities: Mapping[str, Severity] | None,
) -> list[Finding]:
    """Validate a version; return an invalid manifest as a finding instead of raising an error."""
    try:
        return validate(version, select=select, ignore=ignore, severities=severities)
    except FormatError as error:
        check = next(check for check in CHECKS if check.id == "LB004")
        return [Finding(check.id, "error", MANIFEST, str(error), 1, (), check.fix)]


def _load_plugin_checks() -> list[Check]:
    """Return the checks that installed plug-ins provide, sorted by name.

    Raises:
        UsageError: A plug-in is not a `Check`, or its id is invalid or already in use.
    """
    checks = []
    ids = {check.id for check in CHECKS}
    for name in find_plugins("checks"):
        check = load_plugin("checks", name)
        is_check = isinstance(check, Check) and PLUGIN_CHECK_ID.fullmatch(check.id)
        if not is_check or check.id in ids:
            raise UsageError(
                f"checks: plug-in {name!r} must be a Check with a unique id such as XY101 "
                "(the prefix LB is reserved)"
            )
        ids.add(check.id)
        checks.append(check)
    return checks


def parse_severities(options: Sequence[str]) -> dict[str, Severity]:
    """Parse `--severity` options such as `LB205=warning`; return severities by check id.

    Raises:
        UsageError: An option is malformed.
    """
    known: dict[str, Severity] = {severity: severity for severity in SEVERITIES}
    parsed = {}
    for text in options:
        check, _, severity = text.partition("=")
        if severity not in known:
            raise UsageError(
                f"--severity: expected CHECK=error or CHECK=warning, such as LB205=warning, "
                f"found {text!r}"
            )
        parsed[check] = known[severity]
    return parsed


def _is_selected(check: Check, select: Sequence[str], ignore: Sequence[str]) -> bool:
    chosen = not select or check.id.startswith(tuple(select))
    return chosen and not check.id.startswith(tuple(ignore))


def format_json(findings: Sequence[Finding]) -> str:
    """Format findings as a JSON object with the keys `valid` and `findings`."""
    valid = not any(finding.severity == "error" for finding in findings)
    return json.dumps(
        {"valid": valid, "findings": [asdict(finding) for finding in findings]},
        ensure_ascii=False,
        indent=1,
    )


def format_text(finding: Finding) -> str:
    """Format a finding as one paragraph of plain text."""
    examples = f" First: {', '.join(finding.examples)}." if finding.examples else ""
    return (
        f"{finding.check} {finding.severity}: {finding.where}: {finding.message} "
        f"({finding.count:,}).{examples} Fix: {finding.fix}."
    )


def format_github(finding: Finding) -> str:
    """Format a finding as a GitHub Actions workflow command that annotates the pull request."""
    level = "error" if finding.severity == "error" else "warning"
    text = format_text(finding).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    where = finding.where
    for character in "%\r\n,:":
        where = where.replace(character, f"%{ord(character):02X}")
    return f"::{level} file={where},title={finding.check}::{text}"
