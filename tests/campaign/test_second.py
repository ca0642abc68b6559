import hashlib

import pytest

from audiosim.campaign.queue import SecondOpinions
from audiosim.collection.values import Pair
from audiosim.errors import InputError

PAIRS = [Pair(f"q{query}", f"d{document}") for query in range(50) for document in range(100)]


def test_the_share_of_pairs_wanted_twice_is_the_one_asked_for():
    # 5,000 pairs: the standard error of a share of .2 is sqrt(.2 * .8 / 5000) = .0057.
    wanted = sum(SecondOpinions(0.2, 0).wanted(pair) for pair in PAIRS) / len(PAIRS)
    assert wanted == pytest.approx(0.2, abs=5 * 0.0057)
    assert not any(SecondOpinions(0.0, 0).wanted(pair) for pair in PAIRS)
    assert all(SecondOpinions(1.0, 0).wanted(pair) for pair in PAIRS)


def test_which_pairs_is_a_matter_of_the_seed_alone():
    # BLAKE2b of the JSON text, its first 8 bytes read as a fraction.
    digest = hashlib.blake2b(b'[7, "q1", "a"]', digest_size=8).digest()
    fraction = int.from_bytes(digest, "big") / 2**64
    assert SecondOpinions(fraction + 1e-9, 7).wanted(Pair("q1", "a"))
    assert not SecondOpinions(fraction - 1e-9, 7).wanted(Pair("q1", "a"))
    one, other = ([SecondOpinions(0.5, seed).wanted(pair) for pair in PAIRS] for seed in (0, 1))
    assert one != other


def test_a_larger_share_keeps_the_pairs_of_a_smaller_one():
    small, large = SecondOpinions(0.2, 0), SecondOpinions(0.4, 0)
    assert all(large.wanted(pair) for pair in PAIRS if small.wanted(pair))


def test_a_pair_is_offered_to_all_but_the_one_who_judged_it_until_two_have():
    waiting = SecondOpinions(1.0, 0)
    waiting.note(PAIRS[0], {"ann": 1.0})
    waiting.note(PAIRS[1], {"bob": 1.0})
    assert (list(waiting.offered("ann")), list(waiting.offered("bob"))) == ([PAIRS[1]], [PAIRS[0]])
    assert (list(waiting.offered("cid")), len(waiting)) == (PAIRS[:2], 2)
    waiting.note(PAIRS[0], {"ann": 1.0, "bob": 2.0})
    assert list(waiting.offered("cid")) == [PAIRS[1]]
    waiting.note(PAIRS[0], {"bob": 2.0})
    assert list(waiting.offered("cid")) == [PAIRS[1], PAIRS[0]]
    waiting.note(PAIRS[0], {})
    assert len(waiting) == 1


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(InputError, match=r"the share of pairs judged twice must be in \[0, 1\], got"):
        SecondOpinions(share, 0)
