"""What-if runs over traces already there: replay, threshold sweep, regression sets. Nothing is ever called."""
