"""Reports of an evaluation: summary rows, JSON and an HTML page."""
