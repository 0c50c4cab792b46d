"""The simulated world: physics, pictures and what the judge measures. Knows neither ROS nor a clock.

Lengths in m, angles in rad, times in s; x points away from the robot, y to its left, z up.
MuJoCo chooses its renderer when it is imported, by MUJOCO_GL: set that before importing this module.
"""

import math
import re
from pathlib import Path

import mujoco
import numpy as np

SCENE = Path(__file__).with_name('scene.xml')
CAMERA = 'base_0_rgb'
JOINTS = ('yaw', 'shoulder', 'elbow', 'wrist')
COLOURS = ('red', 'green', 'blue')

LINK, FINGER, SHOULDER_Z = 0.22, 0.08, 0.14
HOVER_Z = 0.065  # 2.5 cm above a block: blocks are never touched
AREA_X, AREA_Y, APART = (0.16, 0.34), (-0.22, 0.22), 0.09
CLEAR_OF_TIP = 0.06  # a block that appears keeps this horizontal distance from the tip
HALF_BLOCK = 0.02
HOME_TIP = (0.22, 0.0, 0.16)


def reach(x, y, z=HOVER_Z):
    """Joint angles [4] that put the tip at (x, y, z) with the finger pointing straight down, elbow up."""
    r, h = math.hypot(x, y), z + FINGER - SHOULDER_Z
    d = math.hypot(r, h)
    if d > 2 * LINK:
        raise ValueError(f'({x:.3f}, {y:.3f}, {z:.3f}) is out of reach')
    shoulder = math.atan2(h, r) + math.acos(d / (2 * LINK))
    elbow = -math.acos(d * d / (2 * LINK * LINK) - 1)
    return np.array([math.atan2(y, x), shoulder, elbow, -math.pi / 2 - shoulder - elbow])


def place(rng, clear_of=None):
    """Random block centres [3, 2], at least APART from each other and CLEAR_OF_TIP from `clear_of` (x, y)."""
    low, high = np.transpose([AREA_X, AREA_Y])
    while True:
        blocks = rng.uniform(low, high, (len(COLOURS), 2))
        gaps = [np.linalg.norm(blocks[i] - blocks[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
        if min(gaps) < APART:
            continue
        if clear_of is not None and np.linalg.norm(blocks - clear_of, axis=1).min() < CLEAR_OF_TIP:
            continue
        return blocks


def named_colour(instruction):
    """The one colour that the instruction names, or None."""
    found = {word for word in re.findall(r'[a-z]+', instruction.lower()) if word in COLOURS}
    return found.pop() if len(found) == 1 else None


def judge(tip, blocks, colour):
    """(horizontal distance of the tip to the named block, whether it is the nearest); Nones without colour."""
    if colour is None:
        return None, None
    distances = np.linalg.norm(blocks - np.asarray(tip)[:2], axis=1)
    named = COLOURS.index(colour)
    return float(distances[named]), bool(distances.argmin() == named)


class World:
    """The table, the arm and three blocks at random places. Step it, read it, draw it."""

    def __init__(self, seed=0, scene=SCENE):
        self._model = mujoco.MjModel.from_xml_path(str(scene))
        self._data = mujoco.MjData(self._model)
        self._rng = np.random.default_rng(seed)
        self._renderer = None
        self._arm = [self._model.joint(name).qposadr[0] for name in JOINTS]
        self._arm_dof = [self._model.joint(name).dofadr[0] for name in JOINTS]
        self._limits = self._model.actuator_ctrlrange[[self._model.actuator(name).id for name in JOINTS]]
        self._data.qpos[self._arm] = self._data.ctrl[:] = reach(*HOME_TIP)
        self.shuffle()

    @property
    def timestep(self):
        return self._model.opt.timestep

    @property
    def time(self):
        return self._data.time

    @property
    def joints(self):
        """(positions [4], velocities [4]) in the order of JOINTS."""
        return self._data.qpos[self._arm], self._data.qvel[self._arm_dof]

    @property
    def tip(self):
        return self._data.site('tip').xpos.copy()

    @property
    def blocks(self):
        """Block centres [3, 2] in the order of COLOURS."""
        return np.array([self._data.body(colour).xpos[:2] for colour in COLOURS])

    def command(self, targets):
        """Sets the joint targets [4]; they stay until the next command."""
        self._data.ctrl[:] = np.clip(targets, self._limits[:, 0], self._limits[:, 1])

    def step(self, count=1):
        mujoco.mj_step(self._model, self._data, count)

    def shuffle(self):
        """Puts the blocks at new places, never under the tip."""
        mujoco.mj_forward(self._model, self._data)
        for colour, (x, y) in zip(COLOURS, place(self._rng, self.tip[:2])):
            turn = self._rng.uniform(-math.pi, math.pi) / 2
            block = self._data.joint(colour)
            block.qpos[:] = x, y, HALF_BLOCK, math.cos(turn), 0, 0, math.sin(turn)
            block.qvel[:] = 0
        mujoco.mj_forward(self._model, self._data)

    def open_camera(self, size):
        """Opens the renderer for pictures of size x size; raises whatever the graphics library raises."""
        self._renderer = mujoco.Renderer(self._model, size, size)
        self.picture()

    def picture(self):
        """What the camera sees now, [size, size, 3] u8 RGB; valid until the next call."""
        self._renderer.update_scene(self._data, camera=CAMERA)
        return self._renderer.render()

    def close(self):
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
