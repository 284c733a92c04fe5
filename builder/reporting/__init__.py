"""Formats numbers, and renders HTML reports and charts from shared templates."""
