"""The ground floor: text, JSON, time, errors, folders and the one place that opens databases."""
