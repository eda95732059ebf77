"""Findings after the analysis: what silences them, what is known of them, what is not needed any more."""
