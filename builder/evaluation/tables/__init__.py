"""Result tables over snapshots: effectiveness, significance, persistence, agreement, per query."""
