"""Check a published collection; see `checks/` for what is checked."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from builder.collection.checks import CHECKS, Finding
from builder.collection.read import open_collection


def validate(path: Path | str) -> list[Finding]:
    """All defects of a collection, errors and warnings, in order of the checks.

    Args:
        path: A version folder, or a folder above it; of several versions the highest is checked.

    Raises:
        UsageError: there is no published collection.
        FormatError: the manifest cannot be read.
    """
    collection = open_collection(path)
    return [finding for check in CHECKS for finding in check.run(collection)]


def as_json(findings: Sequence[Finding]) -> str:
    """Findings as JSON: `{"valid": bool, "findings": [...]}`."""
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
        f"({finding.count}).{examples} Fix: {finding.fix}."
    )


def as_github(finding: Finding) -> str:
    """A finding as a workflow command that annotates a pull request."""
    level = "error" if finding.severity == "error" else "warning"
    text = as_text(finding).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    where = finding.where.replace(",", "%2C").replace(":", "%3A")
    return f"::{level} file={where},title={finding.check}::{text}"
