"""The Agent-Reach layer: registry, router, slots, executor and feedback, usable without the rest of reach-tui."""
