"""`python -m reach_tui` is the `reach-tui` command."""

from reach_tui.cli.start import main

if __name__ == "__main__":
    main()
