"""Tables and plots of results for terminals and pages; computes nothing."""
