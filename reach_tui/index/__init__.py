"""The side index in the person's cache folder: verdicts and sums by call, words to search; safe to delete any time."""
