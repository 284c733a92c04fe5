"""Tasks other than ranking: document filtering, temporal summarization, text classification."""
