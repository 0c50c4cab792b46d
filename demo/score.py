"""What the driver counts and decides, without ROS and without a clock: times are passed in, in seconds."""

from collections import Counter, deque

import numpy as np

VERBS = ('reach', 'go to', 'point at')
SUCCESS_RADIUS = 0.035  # m, horizontal, from the tip to the centre of the named block
PERIOD = 1 / 70
ANSWERED = ('end', 'length')  # the finish reasons of a request that got its text
REMEMBERED = 100_000  # intervals kept for the percentile: 24 minutes at 70 Hz


class Intervals:
    """Counts messages of a steady topic and keeps how far each interval is from the wanted one."""

    def __init__(self, period=PERIOD):
        self.count = 0
        self._period = period
        self._last = None
        self._errors = deque(maxlen=REMEMBERED)

    def add(self, time):
        self.count += 1
        if self._last is not None:
            self._errors.append(abs(time - self._last - self._period))
        self._last = time

    def percentile_ms(self, percent):
        return round(float(np.percentile(self._errors, percent)) * 1e3, 3) if self._errors else None


class Instructions:
    """Always asks for another block than now, and judges each instruction when its time is over."""

    def __init__(self, rng, colours):
        self._rng = rng
        self._colours = colours
        self.colour = None
        self.text = ''
        self.judged = 0
        self.reached = 0
        self.misses = []

    def next(self):
        others = [colour for colour in self._colours if colour != self.colour]
        self.colour = str(self._rng.choice(others))
        self.text = f'{self._rng.choice(VERBS)} the {self.colour} block'
        return self.text

    def judge(self, verdict):
        """Closes the present instruction with the newest report of the judge (a dict, or None without one)."""
        mine = verdict is not None and verdict['instruction'] == self.text
        distance = verdict['distance_m'] if mine else None
        self.judged += 1
        if distance is not None and distance <= SUCCESS_RADIUS:
            self.reached += 1
        else:
            self.misses.append({'instruction': self.text, 'distance_m': distance})


class Slot:
    """One of the running questions: what it asks next, its newest full answer and the text so far."""

    def __init__(self, name, seeds, keep):
        self.name = name
        self.keep = keep
        self._seeds = seeds
        self._asked = 0
        self.id = None
        self.asked_at = None
        self.free_at = 0.0
        self.running = False
        self.seed = seeds[0]
        self.text = ''
        self.answer = (self.seed, '')

    def ask(self, now):
        """(request id, seed) of the next request."""
        self.seed = self._seeds[self._asked % len(self._seeds)]
        self._asked += 1
        self.id, self.asked_at, self.running = f'{self.name}-{self._asked}', now, True
        self.text = ''
        return self.id, self.seed

    def view(self):
        """For the screen."""
        seed, answer = self.answer
        return {'seed': seed.strip(), 'answer': answer, 'running': self.text if self.running else ''}


class Conversation:
    """Lets every slot ask again and again, and checks the token stream: order, gaps, strangers, silence."""

    def __init__(self, slots, patience=5.0, rest=0.0):
        """`rest`: time from the end of a text to the next question of its slot."""
        self.slots = slots
        self._rest = rest
        self._by_id = {}
        self._next = {}
        self._heard_at = {}
        self._patience = patience
        self._rest_until = 0.0
        self.tokens = 0
        self.finished = Counter()
        self.gaps = 0
        self.strangers = 0
        self.silent = 0

    def due(self, now):
        """The slots that ask now: those at rest, and those that have heard nothing for too long."""
        for slot in self.slots:
            if slot.running and now - self._heard_at[slot.id] > self._patience:
                self.silent += 1
                self._end(slot)
        if now < self._rest_until:
            return []
        return [slot for slot in self.slots if not slot.running and now >= slot.free_at]

    def ask(self, slot, now):
        request_id, seed = slot.ask(now)
        self._by_id[request_id], self._next[request_id], self._heard_at[request_id] = slot, 0, now
        return request_id, seed

    def hear(self, request_id, sequence, token_id, delta, reason, now):
        """Takes one LanguageToken; true when it ended its request."""
        slot = self._by_id.get(request_id)
        if slot is None:
            self.strangers += 1
            return False
        if sequence != self._next[request_id]:
            self.gaps += 1
        self._next[request_id] = sequence + 1
        self._heard_at[request_id] = now
        slot.text += delta
        self.tokens += token_id >= 0
        if not reason:
            return False
        self.finished[reason] += 1
        if reason in ANSWERED:
            slot.answer = (slot.seed, slot.text)
        elif reason != 'superseded':
            self._rest_until = now + 0.5  # refused or lost: asking at once again would only flood the node
        slot.free_at = now + self._rest
        self._end(slot)
        return True

    @property
    def answered(self):
        return sum(self.finished[reason] for reason in ANSWERED)

    def _end(self, slot):
        slot.running = False
        for table in (self._by_id, self._next, self._heard_at):
            table.pop(slot.id, None)


class Deltas:
    """Counters of the node over the measuring window: newest status minus the first one inside it."""

    def __init__(self):
        self._first = None
        self._last = None

    def add(self, status):
        self._first = self._first or status
        self._last = status

    def of(self, field):
        return self._last[field] - self._first[field] if self._first else 0

    def ratio(self, part, whole):
        total = self.of(whole)
        return round(self.of(part) / total, 4) if total else None
