"""The web service: turns HTTP into library calls, and back."""
