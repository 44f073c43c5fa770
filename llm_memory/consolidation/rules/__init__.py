"""Pure rules of the nightly run."""
