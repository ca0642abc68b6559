from .audio.index import AudioIndex as AudioIndex
from .audio.index import extract as extract
from .campaign import Campaign as Campaign
from .corpus.collection import Collection as Collection
from .corpus.model import Judgment as Judgment
from .corpus.model import Pair as Pair
from .errors import AudiosimError as AudiosimError
from .evaluation import evaluate as evaluate
from .expected.estimation import estimate as estimate
from .measures.groups import adr_of_groups as adr_of_groups
from .measures.groups import tie_break as tie_break
from .measures.measure import parse_measure as parse_measure
from .relevance.published import load_model as load_model
from .reliability_study import assessor_reliability as assessor_reliability
from .reliability_study import reliability as reliability
from .reliability_study import split_half_study as split_half_study
from .selection import Selection as Selection
from .simulate.effort import plan as plan
from .stats.fit_trials import fit_trials as fit_trials
from .stats.regression import OrdinalRegression as OrdinalRegression
from .users.answers import read_answers as read_answers
from .users.grading import find_grading as find_grading
from .users.grading import regrade as regrade
from .users.observed_differences import noticed_differences as noticed_differences
from .users.study import Criterion as Criterion
from .users.study import build_examples as build_examples

__version__: str
