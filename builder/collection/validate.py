"""Check a published collection; see `checks/` for what is checked."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from builder.collection.checks import CHECKS, Check, Finding, Reading, Severity
from builder.collection.layout import find_versions
from builder.collection.read import open_collection
from builder.errors import FormatError, UsageError
from builder.plugins import installed, load
from builder.runtime.publisher import MANIFEST, find_manifest

OTHER_ID = re.compile(r"(?!LB)[A-Z]{2,8}\d{3}")
SEVERITIES: tuple[Severity, ...] = ("error", "warning")
FINDINGS_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Findings of longeval validate",
    "type": "object",
    "required": ["valid", "findings"],
    "additionalProperties": False,
    "properties": {
        "valid": {"type": "boolean", "description": "Whether no finding is an error"},
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["check", "severity", "where", "message", "count", "examples", "fix"],
                "additionalProperties": False,
                "properties": {
                    "check": {"type": "string", "pattern": "^[A-Z]{2,8}[0-9]{3}$"},
                    "severity": {"enum": list(SEVERITIES)},
                    "where": {"type": "string", "description": "File or table in the version"},
                    "message": {"type": "string"},
                    "count": {"type": "integer", "minimum": 1},
                    "examples": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
                    "fix": {"type": "string"},
                },
            },
        },
    },
}
"""JSON Schema of `as_json`."""


def validate(
    path: Path | str,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    severities: Mapping[str, Severity] | None = None,
) -> list[Finding]:
    """All defects of a collection, errors and warnings, in order of the checks.

    Args:
        path: A version folder, or a folder above it; of several versions the highest is checked.
        select: Ids or beginnings of ids (`LB1`) of the checks to run; default: all.
        ignore: Those of checks to leave out.
        severities: Other severities of checks, by id.

    Raises:
        UsageError: there is no published collection, or no such check.
        FormatError: the manifest cannot be read.
    """
    changed = severities or {}
    checks = (*CHECKS, *_others())
    for given in (*select, *ignore):
        if not given or not any(check.id.startswith(given) for check in checks):
            raise UsageError(
                f"no check {given!r}; ids are such as {CHECKS[0].id}, LB1 is all that begin so"
            )
    for given, severity in changed.items():
        if given not in {check.id for check in checks}:
            raise UsageError(
                f"--severity: no check {given!r}; a severity is that of one check, such as "
                f"{CHECKS[0].id}={severity}"
            )
    reading = Reading(open_collection(path))
    return [
        finding
        for check in checks
        if _is_chosen(check, select, ignore)
        for finding in check.run(reading, changed.get(check.id))
    ]


def validate_all(
    path: Path | str,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    severities: Mapping[str, Severity] | None = None,
) -> list[Finding]:
    """All defects of every version below a folder; `where` begins with the version's path.

    Arguments as of `validate`. Versions of classification collections are left out: they have a
    validation of their own.

    Raises:
        UsageError: there is no version below it, or no such check.
    """
    root = Path(path)
    versions = [version for version in find_versions(root) if not _is_of_posts(version)]
    if not versions:
        raise UsageError(f"{path}: no published version here or below")
    found = []
    for version in versions:
        home = version.relative_to(root).as_posix()
        for finding in _validate_one(version, select, ignore, severities):
            where = finding.where if home == "." else f"{home}/{finding.where}"
            found.append(replace(finding, where=where))
    return found


def _is_of_posts(version: Path) -> bool:
    return (find_manifest(version) or {}).get("kind") == "classification"


def _validate_one(
    version: Path,
    select: Sequence[str],
    ignore: Sequence[str],
    severities: Mapping[str, Severity] | None,
) -> list[Finding]:
    """`validate`; a manifest that cannot be read is a finding, so that others are checked too."""
    try:
        return validate(version, select=select, ignore=ignore, severities=severities)
    except FormatError as error:
        check = next(check for check in CHECKS if check.id == "LB004")
        return [Finding(check.id, "error", MANIFEST, str(error), 1, (), check.fix)]


def _others() -> list[Check]:
    """Checks of plug-ins, in order of their names.

    Raises:
        UsageError: a plug-in is no check, or has the id of another one.
    """
    found = []
    ids = {check.id for check in CHECKS}
    for name in installed("checks"):
        check = load("checks", name)
        if not isinstance(check, Check) or not OTHER_ID.fullmatch(check.id) or check.id in ids:
            raise UsageError(
                f"checks: {name!r} is not a check with an id of its own, such as XY101 (LB is ours)"
            )
        ids.add(check.id)
        found.append(check)
    return found


def parse_severities(given: Sequence[str]) -> dict[str, Severity]:
    """Severities of checks, written as `LB205=warning`.

    Raises:
        UsageError: something else is written.
    """
    known: dict[str, Severity] = {severity: severity for severity in SEVERITIES}
    parsed = {}
    for text in given:
        check, _, severity = text.partition("=")
        if severity not in known:
            raise UsageError(f"--severity: expected such as LB205=warning, found {text!r}")
        parsed[check] = known[severity]
    return parsed


def _is_chosen(check: Check, select: Sequence[str], ignore: Sequence[str]) -> bool:
    chosen = not select or check.id.startswith(tuple(select))
    return chosen and not check.id.startswith(tuple(ignore))


def as_json(findings: Sequence[Finding]) -> str:
    """Findings as JSON: `{"valid": bool, "findings": [...]}`, see `FINDINGS_SCHEMA`."""
    valid = not any(finding.severity == "error" for finding in findings)
    return json.dumps(
        {"valid": valid, "findings": [asdict(finding) for finding in findings]},
        ensure_ascii=False,
        indent=1,
    )


def as_text(finding: Finding) -> str:
    """A finding as one paragraph."""
    examples = f" First: {', '.join(finding.examples)}." if finding.examples else ""
    return (
        f"{finding.check} {finding.severity}: {finding.where}: {finding.message} "
        f"({finding.count:,}).{examples} Fix: {finding.fix}."
    )


def as_github(finding: Finding) -> str:
    """A finding as a workflow command that annotates a pull request."""
    level = "error" if finding.severity == "error" else "warning"
    text = as_text(finding).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    where = finding.where
    for character in "%\r\n,:":
        where = where.replace(character, f"%{ord(character):02X}")
    return f"::{level} file={where},title={finding.check}::{text}"
