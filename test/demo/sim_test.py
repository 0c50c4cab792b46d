"""The world without ROS: geometry, placements, the judge, the picture, and a scripted expert in closed loop."""

import os
import sys
import unittest
from pathlib import Path

os.environ.setdefault('MUJOCO_GL', 'egl')
sys.path.insert(0, str(Path(__file__).parents[2] / 'demo'))

import numpy as np
import sim

CONTROL_STEPS = 10  # physics steps per step of a chunk: 20 Hz
SPEED = 1.5 * 0.05  # rad per step of a chunk


def expert_chunk(q, goal, horizon=10):
    """A straight line in joint space at constant speed, then hold; [horizon, 4]."""
    share = SPEED / max(1e-9, np.abs(goal - q).max())
    return np.array([q + min(1.0, (k + 1) * share) * (goal - q) for k in range(horizon)])


class Geometry(unittest.TestCase):
    def test_inverse_kinematics_agrees_with_the_physics(self):
        world = sim.World(seed=1)
        for x, y, z in ((0.16, -0.22, 0.065), (0.34, 0.22, 0.065), (0.25, 0.0, 0.2), (0.3, -0.1, 0.12)):
            world.command(sim.reach(x, y, z))
            world.step(1000)
            np.testing.assert_allclose(world.tip, (x, y, z), atol=1e-3)

    def test_a_point_out_of_reach_is_refused(self):
        with self.assertRaises(ValueError):
            sim.reach(0.6, 0.0)

    def test_targets_stay_within_the_limits(self):
        world = sim.World(seed=1)
        world.command([9.0, 9.0, 9.0, 9.0])
        world.step(600)
        self.assertLess(np.abs(world.joints[0] - [1.6, 2.2, 0.0, 1.2]).max(), 0.05)


class Placement(unittest.TestCase):
    def test_area_distance_and_clearance(self):
        rng = np.random.default_rng(3)
        for _ in range(200):
            tip = rng.uniform((0.16, -0.22), (0.34, 0.22))
            blocks = sim.place(rng, tip)
            for a in range(3):
                self.assertTrue(0.16 <= blocks[a, 0] <= 0.34 and -0.22 <= blocks[a, 1] <= 0.22)
                self.assertGreaterEqual(np.linalg.norm(blocks[a] - tip), sim.CLEAR_OF_TIP)
                self.assertGreaterEqual(np.linalg.norm(blocks[a] - blocks[a - 1]), sim.APART)

    def test_the_seed_decides(self):
        self.assertTrue((sim.World(seed=5).blocks == sim.World(seed=5).blocks).all())
        self.assertFalse((sim.World(seed=5).blocks == sim.World(seed=6).blocks).all())

    def test_a_shuffle_leaves_the_arm_alone_and_moves_the_blocks(self):
        world = sim.World(seed=5)
        joints, blocks = world.joints[0], world.blocks
        world.shuffle()
        np.testing.assert_array_equal(world.joints[0], joints)
        self.assertGreater(np.abs(world.blocks - blocks).max(), 0.01)


class Judge(unittest.TestCase):
    BLOCKS = np.array([[0.2, -0.1], [0.2, 0.0], [0.2, 0.1]])

    def test_distance_is_horizontal_and_to_the_named_block(self):
        self.assertEqual(sim.judge((0.2, 0.03, 0.5), self.BLOCKS, 'green'), (0.03, True))
        distance, nearest = sim.judge((0.2, 0.03, 0.5), self.BLOCKS, 'red')
        self.assertAlmostEqual(distance, 0.13)
        self.assertFalse(nearest)
        self.assertEqual(sim.judge((0, 0, 0), self.BLOCKS, None), (None, None))

    def test_the_colour_is_a_whole_word_and_the_only_one(self):
        self.assertEqual(sim.named_colour('Go to the BLUE block'), 'blue')
        for text in ('', 'go to the covered block', 'red or green'):
            self.assertIsNone(sim.named_colour(text))


class ClosedLoop(unittest.TestCase):
    def test_the_expert_reaches_every_block_and_touches_none(self):
        for seed in range(5):
            world = sim.World(seed=seed)
            placed = world.blocks
            for colour in sim.COLOURS:
                goal = sim.reach(*world.blocks[sim.COLOURS.index(colour)])
                for _ in range(8):  # 2 s, five steps of each chunk
                    for targets in expert_chunk(world.joints[0], goal)[:5]:
                        world.command(targets)
                        world.step(CONTROL_STEPS)
                distance, nearest = sim.judge(world.tip, world.blocks, colour)
                self.assertLess(distance, 0.01)
                self.assertTrue(nearest)
            np.testing.assert_allclose(world.blocks, placed, atol=1e-4)


class Picture(unittest.TestCase):
    def test_shows_three_blocks_where_they_are(self):
        world = sim.World(seed=2)
        world.open_camera(84)
        self.addCleanup(world.close)
        picture = world.picture().astype(int)
        self.assertEqual(picture.shape, (84, 84, 3))
        columns = []
        for channel in range(3):
            others = [c for c in range(3) if c != channel]
            mask = picture[..., channel] > 2 * picture[..., others].max(axis=2) + 20
            self.assertGreater(mask.sum(), 20, sim.COLOURS[channel])
            columns.append(mask.nonzero()[1].mean())
        # Seen from the front: y grows to the right of the picture.
        self.assertEqual(list(np.argsort(columns)), list(np.argsort(world.blocks[:, 1])))


if __name__ == '__main__':
    unittest.main()
