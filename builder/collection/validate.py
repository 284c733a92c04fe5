"""Validates published collections."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from builder.collection.checks import CHECKS, Check, Finding, Severity, ValidationContext
from builder.collection.checks.finding import SEVERITIES
from builder.collection.checks.tables import UNCHECKED_TABLES
from builder.collection.layout import find_latest_version, find_versions
from builder.collection.read import Collection, open_collection
from builder.errors import FormatError, UsageError
from builder.io.git import describe_checkout_fault
from builder.plugins import find_plugins, load_plugin
from builder.runtime.publisher import MANIFEST, read_manifest_or_none

PLUGIN_CHECK_ID = re.compile(r"(?!LB)[A-Z]{2,8}\d{3}")


def validate(
    path: Path | str,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    severities: Mapping[str, Severity] | None = None,
) -> list[Finding]:
    """Run the checks on a published collection, and return all errors and warnings found.

    Args:
        path: Folder of a version, or a folder that contains versions. The highest of them is
            validated; other versions are reported only if they have no manifest.
        select: Ids or id prefixes (such as `LB1`) of the checks to run; default: all checks. If
            these checks cannot read a table, check LB101 reports the table unless it is ignored.
        ignore: Ids or id prefixes of checks to skip.
        severities: Severity by check id; replaces the default severity of these checks.

    Returns:
        Findings in the order of the checks; empty if the collection is valid.

    Raises:
        UsageError: There is no published collection, or a check or severity is unknown.
    """
    overrides = severities or {}
    checks = _select_checks(select, ignore, overrides)
    return [
        finding
        for version in find_versions_to_validate(path)
        for finding in _validate_version(version, checks, overrides)
    ]


def validate_all_versions(
    path: Path | str,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    severities: Mapping[str, Severity] | None = None,
) -> list[Finding]:
    """Run the checks on every version at or below a folder.

    Classification collections are skipped, because they have their own validation. See `validate`
    for the arguments.

    Raises:
        UsageError: There is no published version, or a check is unknown.
    """
    overrides = severities or {}
    checks = _select_checks(select, ignore, overrides)
    return [
        finding
        for version in find_versions_to_validate(path, all_versions=True)
        for finding in _validate_version(version, checks, overrides)
    ]


def find_versions_to_validate(path: Path | str, *, all_versions: bool = False) -> list[Path]:
    """Return the folders of the versions that `validate` or `validate_all_versions` checks.

    By default, these are the highest version at or below a folder, and all versions without a
    manifest. With `all_versions`, these are all versions except classification collections.

    Raises:
        UsageError: There is no published collection.
    """
    root = Path(path)
    if all_versions:
        versions = [v for v in find_versions(root) if not _is_classification_version(v)]
        if not versions:
            raise UsageError(f"{path}: no published version found at or below this folder")
        return versions
    incomplete = [version for version in find_versions(root) if not (version / MANIFEST).exists()]
    if incomplete and find_latest_version(root) is None:
        return incomplete
    return [open_collection(root).path, *incomplete]


def read_snapshot_names(version: Path) -> tuple[str, ...]:
    """Return the snapshots of a version in chronological order; empty if it cannot be read."""
    try:
        return Collection(version).snapshots
    except FormatError:
        return ()


def _is_classification_version(version: Path) -> bool:
    return (read_manifest_or_none(version) or {}).get("kind") == "classification"


def _validate_version(
    version: Path, checks: Sequence[Check], severities: Mapping[str, Severity]
) -> list[Finding]:
    """Run checks on a version; if its manifest is invalid, return only a finding about it."""
    try:
        context = ValidationContext(Collection(version))
    except FormatError as error:
        check = next(check for check in CHECKS if check.id == "LB004")
        message, fix = str(error).removeprefix(f"{error.file}: "), check.fix
        if fault := describe_checkout_fault(version / MANIFEST):
            message, fix = f"cannot read the manifest: {fault[0]}", fault[1]
        return [Finding(check.id, "error", MANIFEST, message, 1, (), fix, str(version))]
    return [finding for check in checks for finding in check.run(context, severities.get(check.id))]


def _select_checks(
    select: Sequence[str], ignore: Sequence[str], severities: Mapping[str, Severity]
) -> list[Check]:
    """Return the checks to run, including those of plug-ins.

    Check LB101, which compares tables with their schemas, runs last if it is neither selected nor
    ignored; it then reports only the tables that the selected checks have skipped.

    Raises:
        UsageError: A check is unknown.
    """
    checks = (*CHECKS, *_load_plugin_checks())
    for prefix in (*select, *ignore):
        if not prefix or not any(check.id.startswith(prefix) for check in checks):
            raise UsageError(
                f"no check matches {prefix!r}; expected a check id such as {CHECKS[0].id}, or a "
                "prefix such as LB1"
            )
    for check_id, severity in severities.items():
        if check_id not in {check.id for check in checks}:
            raise UsageError(
                f"--severity: unknown check {check_id!r}; use the full check id, for example "
                f"--severity {CHECKS[0].id}={severity}"
            )
        if severity not in SEVERITIES:
            raise UsageError(
                f"--severity: expected {' or '.join(SEVERITIES)} for {check_id}, found {severity!r}"
            )
    chosen = [check for check in checks if _is_selected(check, select, ignore)]
    if any(check.id == UNCHECKED_TABLES.id for check in chosen):
        return chosen
    return [*chosen, *(c for c in [UNCHECKED_TABLES] if _is_selected(c, (), ignore))]


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
