import { callSetup } from './call';

const complete = {
  sourced: false,
  node: '20.20.2',
  nodeRange: '>=20.20.2 <23',
  platform: 'linux-x64',
  glibc: '2.36',
  python: { executable: '/usr/bin/python3.11', version: '3.11', venv: true, headers: true },
  egl: true,
  tools: { npm: true, cxx: true, cmake: true, make: true, colcon: true },
  absentRosPackages: [],
};

const missing = (facts: object) => callSetup('prerequisites', 'missing', { ...complete, ...facts });
const describeMissing = (facts: object) => callSetup('prerequisites', 'describe', missing(facts));

test('a complete machine lacks nothing', () => {
  expect(missing({})).toEqual([]);
});

test.each([
  ['20.20.1', false],
  ['20.20.2', true],
  ['20.21.0', true],
  ['22.99.99', true],
  ['23.0.0', false],
  ['8.9.9', false],
])('Node %s is in range: %s', (version, expected) => {
  expect(callSetup('prerequisites', 'inRange', version, '>=20.20.2 <23')).toBe(expected);
});

test('everything that is missing is named at once, in one install line without repetition', () => {
  const text = describeMissing({
    node: '18.1.0',
    python: { executable: 'x', version: '3.11', venv: false, headers: false },
    egl: false,
    tools: { npm: true, cxx: false, cmake: false, make: false, colcon: true },
  });
  for (const word of ['Node.js', '18.1.0', 'C++ compiler', 'CMake', 'make', 'ensurepip', 'Python.h', 'EGL']) {
    expect(text).toContain(word);
  }
  expect(text).toContain(
    'apt-get install -y g++ cmake make python3.11-venv python3.11-dev libegl1 libgl1 libgl1-mesa-dri',
  );
});

test('without Python 3.11 all its packages are named, and the way with an installed ROS 2', () => {
  const text = describeMissing({ python: undefined, egl: false });
  expect(text).toContain('or source an installed ROS 2');
  expect(text).toContain('apt-get install -y python3.11 python3.11-venv python3.11-dev libegl1');
});

test('the wheels need x86-64 and glibc 2.28; a sourced ROS 2 does not', () => {
  expect(describeMissing({ platform: 'linux-arm64' })).toContain('linux-arm64');
  expect(describeMissing({ glibc: '2.27' })).toContain('glibc 2.27');
  expect(missing({ platform: 'linux-arm64', sourced: true, distro: 'jazzy' })).toEqual([]);
});

test('packages that a sourced ROS 2 lacks are named as Debian packages of that distribution', () => {
  const text = describeMissing({ sourced: true, distro: 'humble', absentRosPackages: ['trajectory_msgs'] });
  expect(text).toContain('apt-get install -y ros-humble-trajectory-msgs');
});

test('the Python of an old ROS 2 has no simulator; the way out is named', () => {
  const python = { ...complete.python, version: '3.10' };
  const text = describeMissing({ sourced: true, distro: 'humble', python });
  expect(text).toContain('this ROS 2 has 3.10');
  expect(text).toContain('the node alone builds here with colcon build');
});
