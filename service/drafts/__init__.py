"""Collections that are being made in the browser."""
