"""Tasks other than ranking: filtering of streams, temporal summarization, classification."""
