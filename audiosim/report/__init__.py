"""Tables and plots from results, as a terminal or a page shows them; computes nothing."""
