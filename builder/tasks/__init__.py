"""Tasks other than ranking: document filtering, temporal summarization and text classification."""
