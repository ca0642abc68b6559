"""Reports on all who judge a collection: people first, then machines."""

from collections.abc import Sequence
from dataclasses import replace

from audiosim.corpus.grades import mean_grades
from audiosim.corpus.model import Judgment
from audiosim.corpus.pool import Pool
from audiosim.features.machines import machine_grades
from audiosim.relevance.belief import Belief
from audiosim.relevance.estimators import JOINT, estimator_of
from audiosim.relevance.evidence_kind import EvidenceKind
from audiosim.relevance.evidence_registry import EVIDENCE_KINDS
from audiosim.relevance.joint import JointEstimator
from audiosim.relevance.judge_reports import JudgeReport
from audiosim.relevance.judges import Panel
from audiosim.relevance.machine_evidence import MACHINE_KIND
from audiosim.relevance.machine_reports import MachineReport, machine_reports
from audiosim.relevance.relearning import after_judgments


def reports_on_people(pool: Pool, judgments: Sequence[Judgment]) -> list[JudgeReport]:
    """Reports on the people who judged; none where nobody did, or where grades are not learned jointly."""
    panel, estimator = Panel.of(pool, judgments), estimator_of(pool, JOINT)
    return estimator.judge_reports(panel) if panel.judges and isinstance(estimator, JointEstimator) else []


def reports_on_machines(pool: Pool, judgments: Sequence[Judgment]) -> list[MachineReport]:
    """Reports on the machines that judge, each beside the judgments and no other machine."""
    machines = machine_grades(pool)
    if not machines:
        return []
    others = [kind for kind in EVIDENCE_KINDS.values() if kind is not MACHINE_KIND]
    alone = {judge.name: replace(pool, judges=(judge,)) for judge in pool.judges}
    beside = [(one.name, _belief(alone[one.name], judgments, [*others, MACHINE_KIND])) for one in machines]
    return machine_reports(pool, _belief(pool, judgments, others), beside)


def _belief(pool: Pool, judgments: Sequence[Judgment], kinds: Sequence[EvidenceKind]) -> Belief:
    estimator = after_judgments(pool, estimator_of(pool, JOINT, kinds), judgments)
    return estimator.predict(pool.spread(mean_grades(judgments)))
