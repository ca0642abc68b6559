from .audio.index import AudioIndex as AudioIndex
from .audio.index import extract as extract
from .campaign import Campaign as Campaign
from .corpus.collection import Collection as Collection
from .corpus.model import Judgment as Judgment
from .corpus.model import Pair as Pair
from .errors import AudiosimError as AudiosimError
from .evaluation import evaluate as evaluate
from .expected.estimation import estimate as estimate
from .measures.measure import parse_measure as parse_measure
from .relevance.published import load_model as load_model
from .selection import Selection as Selection
from .simulate.effort import plan as plan
from .stats.regression import OrdinalRegression as OrdinalRegression

__version__: str
