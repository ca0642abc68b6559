"""What another package may bring to audiosim: one thing for each extension point."""
