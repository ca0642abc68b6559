"""Sound files in, Gaussians of MFCC frames out, saved and compared."""
