"""An evaluation for people and machines: summary rows, JSON and an HTML page."""
