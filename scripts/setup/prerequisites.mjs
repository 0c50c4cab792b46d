// What must be on the machine already. Everything that is missing is named at once, with its install line.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { run } from './command.mjs';
import { at } from './paths.mjs';
import { rosKind, rosName } from './ros-env.mjs';

/** The wheels of ROS 2 exist for this Python only. */
export const WHEELS_PYTHON = 'python3.11';

/** MuJoCo and the other packages of requirements-demo.txt have wheels from this Python on. */
const SIMULATOR_PYTHON = '3.11';

const ROS_PACKAGES = [
  'rosidl_default_generators',
  'rclpy',
  'sensor_msgs',
  'trajectory_msgs',
  'visualization_msgs',
];

// Asks Python itself, because folders differ between distributions and builds of Python.
const PROBE = `
import ctypes, importlib.util, json, os, sys, sysconfig
def lib(*names):
    for name in names:
        try:
            ctypes.CDLL(name)
            return True
        except OSError:
            pass
    return False
print(json.dumps({
    'executable': getattr(sys, '_base_executable', sys.executable),
    'version': '%d.%d' % sys.version_info[:2],
    'venv': all(importlib.util.find_spec(m) for m in ('venv', 'ensurepip')),
    'headers': os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h')),
    'egl': lib('libEGL.so.1') and lib('libOpenGL.so.0', 'libGL.so.1'),
}))`;

/** True if the dynamic linker knows the library: works without Python, which may be missing too. */
const isLinkable = (...names) => {
  const { stdout } = spawnSync('/sbin/ldconfig', ['-p'], { encoding: 'utf8' });
  return names.some(name => stdout?.includes(`\t${name} `));
};

const answers = (command, args = ['--version']) => spawnSync(command, args, { stdio: 'ignore' }).status === 0;

const probePython = command => {
  const { status, stdout } = spawnSync(command, ['-c', PROBE], { encoding: 'utf8' });
  return status === 0 ? JSON.parse(stdout) : undefined;
};

/** Path of the Python that .venv is made from. */
export const basePython = env =>
  probePython(rosKind(env) === 'sourced' ? 'python3' : WHEELS_PYTHON)?.executable;

/** Collects what `missing` decides on. */
const lookAround = env => {
  const sourced = rosKind(env) === 'sourced';
  const prefixes = (env.AMENT_PREFIX_PATH ?? '').split(':');
  const hasPackage = name =>
    prefixes.some(prefix => fs.existsSync(`${prefix}/share/ament_index/resource_index/packages/${name}`));
  const python = probePython(sourced ? 'python3' : WHEELS_PYTHON);
  return {
    sourced,
    distro: env.ROS_DISTRO,
    node: process.versions.node,
    nodeRange: JSON.parse(fs.readFileSync(at('package.json'), 'utf8')).engines.node,
    platform: `${process.platform}-${process.arch}`,
    glibc: process.report.getReport().header.glibcVersionRuntime,
    python,
    egl: python?.egl || (isLinkable('libEGL.so.1') && isLinkable('libOpenGL.so.0', 'libGL.so.1')),
    tools: {
      npm: answers('npm'),
      cxx: answers(env.CXX ?? 'c++'),
      cmake: answers('cmake'),
      make: answers('make'),
      colcon: !sourced || answers('colcon', ['--help']),
    },
    absentRosPackages: sourced ? ROS_PACKAGES.filter(name => !hasPackage(name)) : [],
  };
};

const atLeast = (version, wanted) => {
  const [a, b] = [version, wanted].map(text => text.split('.').map(Number));
  const i = b.findIndex((part, k) => part !== (a[k] ?? 0));
  return i === -1 || (a[i] ?? 0) > b[i];
};

/** True if `version` (1.2.3) satisfies a range of the form ">=1.2.3 <4". */
export const inRange = (version, range) =>
  range.split(' ').every(bound => {
    const [, sign, wanted] = /^(>=|<)(.+)$/.exec(bound);
    return sign === '>=' ? atLeast(version, wanted) : !atLeast(version, wanted);
  });

const pythonItems = ({ sourced, python }) => {
  const name = sourced ? 'python3' : WHEELS_PYTHON;
  if (python === undefined) {
    const packages = [name, `${name}-venv`, `${name}-dev`];
    const hint = sourced ? '' : ' (the wheels of ROS 2 need exactly this one; or source an installed ROS 2)';
    return [{ what: `Python: command ${name}${hint}`, packages }];
  }
  return [
    !atLeast(python.version, SIMULATOR_PYTHON) && {
      what: `Python ${SIMULATOR_PYTHON} or newer for the simulated robot (this ROS 2 has ${python.version})`,
      cure: 'use ROS 2 Jazzy or newer for the demo and the tests; the node alone builds here with colcon build',
    },
    !python.venv && { what: `the modules venv and ensurepip of ${name}`, packages: [`${name}-venv`] },
    !python.headers && { what: `the header Python.h of ${name}`, packages: [`${name}-dev`] },
  ].filter(Boolean);
};

/** What is missing to build the node. */
export const missingForNode = ({ node, nodeRange, tools }) => {
  const list = [];
  if (!inRange(node, nodeRange)) {
    list.push({
      what: `Node.js ${nodeRange} (this is ${node})`,
      cure: 'install Node.js 22 LTS from nodejs.org',
    });
  }
  if (!tools.npm) list.push({ what: 'npm', packages: ['npm'] });
  if (!tools.cxx) list.push({ what: 'a C++ compiler', packages: ['g++'] });
  if (!tools.cmake) list.push({ what: 'CMake', packages: ['cmake'] });
  if (!tools.make) list.push({ what: 'make', packages: ['make'] });
  return list;
};

/**
 * Names everything that is missing.
 * @returns list of {what, packages?: Debian packages, cure?: text for what apt cannot give}
 */
export const missing = facts => {
  const { sourced, distro, platform, glibc, egl, tools, absentRosPackages } = facts;
  const list = missingForNode(facts);
  if (!sourced && (platform !== 'linux-x64' || glibc === undefined || !atLeast(glibc, '2.28'))) {
    list.push({
      what: `Linux on x86-64 with glibc >= 2.28 (this is ${platform}, glibc ${glibc ?? 'none'})`,
      cure: 'install ROS 2 for this machine and source it: . /opt/ros/<distro>/setup.sh',
    });
  }
  list.push(...pythonItems(facts));
  if (!egl) {
    list.push({
      what: 'EGL and Mesa for software rendering of the simulated cameras',
      packages: ['libegl1', 'libgl1', 'libgl1-mesa-dri'],
    });
  }
  if (!tools.colcon) list.push({ what: 'colcon', packages: ['python3-colcon-common-extensions'] });
  for (const name of absentRosPackages) {
    const debian = `ros-${distro}-${name.replaceAll('_', '-')}`;
    list.push({ what: `the ROS 2 package ${name}`, packages: [debian] });
  }
  return list;
};

const aptLine = list =>
  `apt-get install -y ${[...new Set(list.flatMap(item => item.packages ?? []))].join(' ')}`;

/** One message that names all of `list` and how to get it. */
export const describe = list => {
  const lines = list.map(({ what, cure }) => `  - ${what}${cure ? `: ${cure}` : ''}`);
  const apt = list.some(item => item.packages) ? `\nOn Debian or Ubuntu: sudo ${aptLine(list)}` : '';
  return `This machine lacks:\n${lines.join('\n')}${apt}`;
};

const mayInstall = () => process.getuid?.() === 0 && answers('apt-get');

/** Installs Debian packages; allowed only as root, where it needs no password and no question. */
const install = async (list, { env, onLine }) => {
  console.error(`\n  running as root: ${aptLine(list)}`);
  const options = { env: { ...env, DEBIAN_FRONTEND: 'noninteractive' }, onLine };
  await run('apt-get', ['update', '-q'], options);
  const packages = [...new Set(list.flatMap(item => item.packages))];
  await run('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...packages], options);
};

const stepFor = (name, decide) => ({
  name,
  inputs: ({ env }) => [[at('package.json')], [process.version, rosName(env)]],
  run: async context => {
    let list = decide(lookAround(context.env));
    const installable = list.filter(item => item.packages);
    if (installable.length > 0 && mayInstall()) {
      await install(installable, context).catch(error => {
        throw new Error(
          `${describe(list)}\n\nInstalling them failed: ${error.message}\n${error.output ?? ''}`,
        );
      });
      list = decide(lookAround(context.env));
    }
    if (list.length > 0) throw new Error(describe(list));
  },
});

export const prerequisites = stepFor('prerequisites', missing);

/** A robot that only builds the node needs neither simulator nor tests. */
export const nodePrerequisites = stepFor('prerequisites of the node', missingForNode);
