"""Preloaded by the process from which tests fork: finds the libraries of linear algebra, as every fork would anew."""

from audiosim.stats.threads import stay_on_one_thread

stay_on_one_thread()
