"""Format numbers and render HTML reports from one set of templates and charts."""
