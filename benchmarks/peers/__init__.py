"""Other methods of ranking systems from few judgments, compared with the truth; see ../honesty.py."""
