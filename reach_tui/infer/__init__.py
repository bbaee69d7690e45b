"""Route scores and slot provenance for traces that recorded neither: computed from the trace alone, marked inferred."""
