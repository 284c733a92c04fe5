"""Where two definitions differ, key by key."""

from typing import Any


def differences(before: Any, now: Any, path: str = "") -> list[str]:
    """Lines such as `parameters.select.min_users: 5 -> 6`, in order of keys.

    Args:
        before: Values in JSON's types.
        now: The later ones.
        path: Key of both, for the lines.
    """
    if isinstance(before, dict) and isinstance(now, dict):
        return [
            line
            for key in sorted({*before, *now})
            for line in differences(before.get(key), now.get(key), f"{path}.{key}".lstrip("."))
        ]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return [
            line
            for index, (old, new) in enumerate(zip(before, now, strict=True))
            for line in differences(old, new, f"{path}[{index}]")
        ]
    if before == now:
        return []
    if isinstance(before, list | dict) or isinstance(now, list | dict):
        return [f"{path} changed"]
    return [f"{path}: {before} -> {now}"]
