"""What the driver counts and decides."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / 'demo'))

import numpy as np
from score import Conversation, Deltas, Instructions, Intervals, Slot


def verdict(instruction, distance):
    return {'instruction': instruction, 'distance_m': distance}


def conversation():
    return Conversation([Slot('a', ['A: '], keep=False), Slot('b', ['B: ', 'C: '], keep=True)], patience=5.0)


class InstructionsTest(unittest.TestCase):
    def test_the_next_block_is_always_another_one(self):
        orders = Instructions(np.random.default_rng(0), ('red', 'green', 'blue'))
        texts = [orders.next() for _ in range(200)]
        colours = [text.split()[-2] for text in texts]
        self.assertTrue(all(a != b for a, b in zip(colours, colours[1:])))
        self.assertEqual(len(set(texts)), 9)

    def test_reached_needs_the_right_report_and_the_distance(self):
        orders = Instructions(np.random.default_rng(0), ('red', 'green'))
        for report, reached in (
            (lambda: verdict(orders.text, 0.035), True),
            (lambda: verdict(orders.text, 0.0351), False),
            (lambda: verdict('another instruction', 0.0), False),
            (lambda: verdict(orders.text, None), False),
            (lambda: None, False),
        ):
            before = orders.reached
            orders.next()
            orders.judge(report())
            self.assertEqual(orders.reached - before, int(reached))
        self.assertEqual((orders.judged, orders.reached, len(orders.misses)), (5, 1, 4))


class ConversationTest(unittest.TestCase):
    def test_every_slot_asks_at_once_and_again_when_it_has_its_answer(self):
        talk = conversation()
        ids = [talk.ask(slot, 0.0) for slot in talk.due(0.0)]
        self.assertEqual(ids, [('a-1', 'A: '), ('b-1', 'B: ')])
        self.assertEqual(talk.due(0.1), [])
        talk.hear('b-1', 0, 7, 'near ', '', 0.2)
        talk.hear('b-1', 1, 8, 'left', '', 0.3)
        self.assertTrue(talk.hear('b-1', 2, -1, '', 'end', 0.4))
        self.assertEqual(talk.slots[1].answer, ('B: ', 'near left'))
        self.assertEqual([talk.ask(slot, 0.5) for slot in talk.due(0.5)], [('b-2', 'C: ')])
        self.assertEqual((talk.tokens, talk.answered, talk.gaps, talk.strangers), (2, 1, 0, 0))

    def test_a_slot_rests_before_it_asks_again(self):
        talk = Conversation([Slot('a', ['A: '], keep=False), Slot('b', ['B: '], keep=True)], rest=2.0)
        for slot in talk.due(0.0):
            talk.ask(slot, 0.0)
        talk.hear('a-1', 0, -1, '', 'end', 1.0)
        talk.hear('b-1', 0, -1, '', 'superseded', 1.5)
        self.assertEqual([slot.name for slot in talk.due(2.9)], [])
        self.assertEqual([slot.name for slot in talk.due(3.0)], ['a'])
        self.assertEqual([slot.name for slot in talk.due(3.5)], ['a', 'b'])

    def test_gaps_repetitions_and_strangers_are_counted(self):
        talk = conversation()
        for slot in talk.due(0.0):
            talk.ask(slot, 0.0)
        for sequence in (0, 2, 3, 3):
            talk.hear('a-1', sequence, 5, 'x', '', 0.1)
        talk.hear('nobody', 0, 5, 'x', '', 0.1)
        self.assertEqual((talk.gaps, talk.strangers), (2, 1))

    def test_a_silent_request_is_given_up_and_asked_again(self):
        talk = conversation()
        for slot in talk.due(0.0):
            talk.ask(slot, 0.0)
        talk.hear('a-1', 0, 5, 'x', '', 4.0)
        self.assertEqual([slot.name for slot in talk.due(5.1)], ['b'])
        self.assertEqual(talk.silent, 1)
        talk.hear('b-1', 0, 5, 'late', '', 5.2)
        self.assertEqual(talk.strangers, 1)

    def test_after_a_refusal_it_waits_and_no_answer_is_counted(self):
        talk = conversation()
        for slot in talk.due(0.0):
            talk.ask(slot, 0.0)
        talk.hear('a-1', 0, -1, '', 'rejected', 1.0)
        self.assertEqual(talk.due(1.2), [])
        self.assertEqual([slot.name for slot in talk.due(1.6)], ['a'])
        talk.ask(talk.slots[0], 1.6)
        talk.hear('a-2', 0, -1, '', 'superseded', 1.7)
        self.assertEqual([slot.name for slot in talk.due(1.7)], ['a'])
        self.assertEqual(talk.answered, 0)


class Counting(unittest.TestCase):
    def test_interval_errors(self):
        intervals = Intervals(period=0.01)
        self.assertIsNone(intervals.percentile_ms(99))
        for time in (0.0, 0.01, 0.02, 0.035, 0.04):
            intervals.add(time)
        self.assertEqual(intervals.count, 5)
        self.assertAlmostEqual(intervals.percentile_ms(100), 5.0)
        self.assertAlmostEqual(intervals.percentile_ms(0), 0.0)

    def test_deltas_belong_to_the_window(self):
        deltas = Deltas()
        self.assertIsNone(deltas.ratio('fresh', 'ticks'))
        for ticks, fresh in ((100, 10), (170, 73), (240, 136)):
            deltas.add({'ticks': ticks, 'fresh': fresh})
        self.assertEqual(deltas.of('ticks'), 140)
        self.assertEqual(deltas.ratio('fresh', 'ticks'), 0.9)


if __name__ == '__main__':
    unittest.main()
