"""Gaussians of MFCC frames from sound files: extracted, saved and compared."""
