"""Other methods of ranking systems from few judgments, held against the truth beside audiosim's own."""
