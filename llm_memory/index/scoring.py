"""Scores of documents for a query, from arrays alone.

BM25 (Robertson and Zaragoza 2009) with ``k1`` 1.2 and ``b`` 0.6 over three fields: the text; text
and context together; the whole session. Each is normalised by its best, and they are added with
the weights 1, 1 and 0.7. Then the better of what stands beside a document in its session gives it
0.3 of its own score. Document frequencies are those of what the reader sees: what other scopes hold
neither changes an order nor shows in it, and a small scope is searched as if it were alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from .arrays import Flags, Floats, Ints, np

K1: Final = 1.2
B: Final = 0.6
CONTEXT: Final = 1.0
SESSION: Final = 0.7
BESIDE: Final = 0.3
PRIOR: Final = 6.0
"""Tokens of no special weight that every question is taken to hold beside its own: a question with
one word to say is not answered by whatever holds that word."""
AROUND: Final = 0.7
"""What a word counts that stands only around a record, in the message before or its reason: less
than in the record itself, for the message before may be about something else."""
MOST: Final = 45.0
"""The weight of about ten words. A longer message is more than one question; what speaks of a good
part of it is relevant, though not of all."""
BEFORE: Final = 0.5
"""What a word counts that was said before the question, in its talk."""
CARRIED: Final = 12.0
"""The same of a message that a question only points back to: who speaks of the one whom it names is
relevant, whatever else it says."""
LONG: Final = 80.0
"""Tokens, about fifty Han characters or a long English paragraph. The more a text says, the more of
any question it holds by chance: from here on its coverage counts for less."""
LENGTH: Final = 0.3
"""The power of that: ``(LONG / length) ** LENGTH``."""
LEAST: Final = 0.8
"""What is left of the coverage of however long a text: a long note may be what is asked for."""
_FOLLOWS: Final = (1.1, 1.4)
"""How much likelier than chance a word comes again in its session: nothing, and all."""
_SMOOTHING: Final = 0.5


class Documents(NamedTuple):
    """What is searched, N documents.

    Attributes:
        text: Shape ``(N,)``, tokens of the text, 0 for an empty slot.
        total: Shape ``(N,)``, tokens of text and context.
        session: Shape ``(N,)``, numbers from 0.
        previous: Shape ``(N,)``, the document before in the session, or -1.
        follows: Shape ``(N,)``, 0 to 1: how much neighbours have to do with each other.
    """

    text: Floats
    total: Floats
    session: Ints
    previous: Ints
    follows: Floats


class Postings(NamedTuple):
    """Where the terms of a question stand: shape ``(n,)`` each, term by term. ``row`` is the place
    of the term in the question, ``document`` where it stands; ``text`` and ``context`` are counts.
    """

    row: Ints
    document: Ints
    text: Floats
    context: Floats

    def first(self, rows: int) -> Postings:
        """Those of so many terms."""
        end = self.row.searchsorted(rows)
        return Postings(self.row[:end], self.document[:end], self.text[:end], self.context[:end])


def joined(parts: Sequence[Documents]) -> Documents:
    """The documents of several places, one behind the other."""
    shifted, first, sessions = [], 0, 0
    for one in parts:
        previous = np.where(one.previous < 0, one.previous, one.previous + first)
        shifted.append(one._replace(session=one.session + sessions, previous=previous))
        first += len(one.text)
        sessions += int(one.session.max()) + 1
    return Documents(*map(np.concatenate, zip(*shifted, strict=True)))


def preceding(session: Ints, at: Floats) -> Ints:
    """Shape ``(N,)``: the document before in the session, or -1. Of equal moments the one with the
    smaller number comes first."""
    order = np.lexsort((at, session))
    follow = session[order[1:]] == session[order[:-1]]
    found = np.full(len(session), -1)
    found[order[1:][follow]] = order[:-1][follow]
    return found


def scores(documents: Documents, tokens: Postings, counted: Floats) -> tuple[Floats, Floats]:
    """Shape ``(N,)`` each: of documents as they stand, 0 for what shares no word and stands beside
    nothing that does; and of their texts alone.

    ``counted`` is what each term counts, shape ``(T,)``: ``BEFORE`` for one that was said before
    the question, else 1.
    """
    alive = documents.total > 0
    living = max(int(alive.sum()), 1)
    text = _bm25(tokens, tokens.text, documents.text, living, counted)
    both = _bm25(tokens, tokens.text + tokens.context, documents.total, living, counted)
    around = _best_is_one(_in_sessions(tokens, documents, counted))[documents.session]
    own = _best_is_one(text)
    shared = documents.follows * around + (1 - documents.follows) * own
    # Where records do not follow from one another, what was said before is half of it chance.
    context = CONTEXT * (0.5 + 0.5 * documents.follows) * _best_is_one(both)
    score = np.where(alive, own + context + SESSION * shared, 0.0)
    return beside(score, documents) * alive, own


def beside(score: Floats, documents: Documents) -> Floats:
    """Each with a share of what the better of the documents before and after it has.

    Of the better, not of both: with less than the whole, of two neighbours the better one stays the
    better one, also where a session ends.
    """
    (follows,) = ((documents.previous >= 0) & (documents.follows > 0)).nonzero()
    before = documents.previous[follows]
    share = BESIDE * documents.follows[follows]
    given = np.zeros(len(score))
    given[follows] = share * score[before]
    np.maximum.at(given, before, share * score[follows])
    return score + given


def best_places(score: Floats, k: int, first: Flags) -> Ints:
    """``k`` places with a score above 0: those of ``first``, then the highest scores; the best
    first, of equals the later one."""
    positive = np.flatnonzero(score > 0)
    if len(positive) > k:
        chosen = (score + first * (score.max() + 1))[positive]
        able = chosen >= np.partition(chosen, -k)[-k]  # to sort all of them takes far longer
        positive, chosen = positive[able], chosen[able]
        positive = positive[np.lexsort((-positive, -chosen))[:k]]
    return positive[np.lexsort((-positive, -score[positive]))]


def coverage(
    weights: Floats,
    asked: Flags,
    holds: Floats,
    lengths: Floats,
    most: float = MOST,
    persons: Sequence[Sequence[Floats]] = (),
) -> Floats:
    """Shape ``(n,)``: the share of a question's weight that each of ``n`` documents holds, less for
    long ones.

    Args:
        weights: Shape ``(T,)`` of the question's tokens.
        asked: Shape ``(T,)``: what makes up the question; the others, of times, cover nothing.
        holds: Shape ``(T, n)``: 1 where a document says the token, ``AROUND`` where only what
            stands around it does, else 0.
        lengths: Shape ``(n,)``, tokens of the texts.
        most: ``MOST``, or ``CARRIED``.
        persons: For the asker, then for each person who is asked about, the weights of each name,
            shape ``(T,)``. To hold one name is to hold all. The asker's is asked of nothing: it
            adds to what speaks of the rest, the less the more words there are.
    """
    mass = float(weights[asked].sum())
    said = np.asarray(np.where(asked, weights, 0.0) @ holds)
    for number, names in enumerate(persons):
        held = [(float(name.sum()), name @ holds) for name in names if name.any()]
        if held:
            whole = max(weight for weight, _ in held)
            share = np.max([of_name / weight for weight, of_name in held], axis=0)
            if number:
                mass += whole
                said = said + whole * share
            else:
                said = said + said * share * (PRIOR / max(mass, PRIOR)) ** 2
    by_chance = np.clip((LONG / np.maximum(lengths, 1.0)) ** LENGTH, LEAST, 1.0)
    return np.minimum(said / (min(mass, most) + PRIOR), 1.0) * by_chance


def follows(session: Ints, living: Ints, tokens: Postings) -> float:
    """0 to 1: whether records of one session have to do with each other.

    Pairs of records that share a token and a session, against those that chance would give.

    Args:
        session: Shape ``(N,)``, of each record.
        living: Which of them count.
        tokens: Some of what they say.
    """
    size = np.bincount(session[living]).astype(np.float64)
    total = len(living)
    if total < 2:
        return 0.0
    chance = float((size * (size - 1)).sum()) / (total * (total - 1))
    shared = by_chance = _SMOOTHING
    said = tokens.text > 0
    (ends,) = np.diff(tokens.row[said]).nonzero()
    for sessions in np.split(session[tokens.document[said]], ends + 1):
        if 2 <= len(sessions) <= total / 2:
            together = np.bincount(sessions).astype(np.float64)
            shared += float((together * (together - 1)).sum()) / (len(sessions) - 1)
            by_chance += len(sessions) * chance
    low, high = _FOLLOWS
    return float(np.clip((shared / by_chance - low) / (high - low), 0.0, 1.0))


def _in_sessions(tokens: Postings, documents: Documents, counted: Floats) -> Floats:
    """BM25 of each session, as if it were one text."""
    lengths = np.bincount(documents.session, documents.text)
    among = max(int((lengths > 0).sum()), 1)
    place = tokens.row * len(lengths) + documents.session[tokens.document]
    counts = np.bincount(place, tokens.text)
    (held,) = counts.nonzero()
    row, session = np.divmod(held, len(lengths))
    text = Postings(row, session, counts[held], counts[held])
    return _bm25(text, text.text, lengths, among, counted)


def _bm25(tokens: Postings, counts: Floats, lengths: Floats, among: int, counted: Floats) -> Floats:
    """Of a field with these ``lengths``, in which tokens stand ``counts`` times. A term's weight is
    ``(k1 + 1) * log(1 + (N - n + 0.5) / (n + 0.5))``, always above 0; a count is weighed against
    ``k1 * (1 - b + b * length / mean length)``."""
    holding = np.bincount(tokens.row[counts > 0], minlength=len(counted))
    weight = counted * (np.log1p((among - holding + 0.5) / (holding + 0.5)) * (K1 + 1))
    mean = float(lengths.sum()) / among
    pace = K1 * (1 - B + B * lengths / mean) if mean else lengths + K1
    gained = weight[tokens.row] * counts / (counts + pace[tokens.document])
    return np.bincount(tokens.document, gained, len(lengths))


def _best_is_one(score: Floats) -> Floats:
    return score / (float(score.max()) or 1.0)
