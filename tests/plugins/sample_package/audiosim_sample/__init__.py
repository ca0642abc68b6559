"""What another package may bring to audiosim: an estimator and a measure."""
