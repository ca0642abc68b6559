"""People: answers and preferences, satisfaction, studies, grading, and the agreement of listeners."""
