// The environment of ROS 2 for child processes: a sourced ROS 2 as it is, else the wheels in .venv.
import fs from 'node:fs';
import path from 'node:path';
import { INSTALL, VENV } from './paths.mjs';

const DISTRO_OF_WHEELS = 'jazzy';

const split = value => (value ?? '').split(path.delimiter).filter(part => part !== '');

/** `parts` in front of a path list, none twice. */
export const prepend = (value, parts) =>
  [...parts, ...split(value).filter(part => !parts.includes(part))].join(path.delimiter);

const without = (value, unwanted) =>
  split(value)
    .filter(part => part !== unwanted && !part.startsWith(`${unwanted}/`))
    .join(path.delimiter);

/** `sourced` if the caller's terminal has a ROS 2 (not ours), else `wheels`. */
export const rosKind = (env = process.env) => {
  const prefixes = split(env.AMENT_PREFIX_PATH).filter(prefix => prefix !== INSTALL);
  return env.ROS_DISTRO && prefixes.length > 0 && !prefixes.includes(VENV) ? 'sourced' : 'wheels';
};

/** Names the ROS 2 in use, for stamps. */
export const rosName = (env = process.env) => (rosKind(env) === 'sourced' ? env.ROS_DISTRO : 'wheels');

/** Folders that exist among `folder`/python3*<tail>; Debian and plain Python name them differently. */
const pythonFolders = (folder, tail) => {
  const names = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
  return names
    .filter(name => /^python3(\.\d+)?$/.test(name))
    .map(name => path.join(folder, name, tail))
    .filter(found => fs.existsSync(found));
};

/** Folders of libraries that the wheels bring along beside the ROS packages' own. */
const bundledLibraries = () =>
  pythonFolders(path.join(VENV, 'lib'), 'site-packages').flatMap(site =>
    fs
      .readdirSync(site)
      .filter(name => /^ros_.*\.libs$/.test(name))
      .sort()
      .map(name => path.join(site, name)),
  );

/** What the wheels add to an environment: path lists to extend in front, and variables to set. */
const wheels = () => ({
  lists: {
    PATH: [path.join(VENV, 'bin')],
    LD_LIBRARY_PATH: [path.join(VENV, 'lib'), ...bundledLibraries()],
    AMENT_PREFIX_PATH: [VENV],
  },
  // The wheels would start Python a second time only to set LD_LIBRARY_PATH; it is set here already.
  values: {
    ROS_DISTRO: DISTRO_OF_WHEELS,
    ROS_VERSION: '2',
    ROS_PYTHON_VERSION: '3',
    _ROS_WHEELS_BOOTSTRAP_COMPLETE: '1',
  },
});

/** What this project adds: its installed package, and the Python with the simulator. */
const project = env => ({
  lists: {
    PATH: [path.join(VENV, 'bin')],
    LD_LIBRARY_PATH: [path.join(INSTALL, 'lib')],
    AMENT_PREFIX_PATH: [INSTALL],
    PYTHONPATH: [
      ...pythonFolders(path.join(INSTALL, 'lib'), 'site-packages'),
      ...pythonFolders(path.join(INSTALL, 'local/lib'), 'dist-packages'),
    ],
  },
  // Without a display MuJoCo draws through EGL.
  values: { MUJOCO_GL: env.MUJOCO_GL ?? 'egl' },
});

const apply = (env, { lists, values }) => {
  const result = { ...env, ...values };
  for (const [name, parts] of Object.entries(lists)) {
    if (parts.length > 0) result[name] = prepend(result[name], parts);
  }
  return result;
};

/** Environment to build with: ROS 2 without this project's own package. */
export const rosEnv = (env = process.env) => {
  const clean = { ...env };
  for (const name of ['AMENT_PREFIX_PATH', 'CMAKE_PREFIX_PATH', 'LD_LIBRARY_PATH', 'PYTHONPATH']) {
    if (clean[name] !== undefined) clean[name] = without(clean[name], INSTALL);
    if (clean[name] === '') delete clean[name];
  }
  return rosKind(env) === 'sourced' ? clean : apply(clean, wheels());
};

/** Environment of everything that runs: ROS 2, the messages of this project, `python3` with the simulator. */
export const projectEnv = (env = process.env) => apply(rosEnv(env), project(env));

/** The same as a script to source in a terminal, so that other ROS 2 programs there know the messages. */
export const envScript = (env = process.env) => {
  const layers = rosKind(env) === 'sourced' ? [project(env)] : [wheels(), project(env)];
  const quote = text => `'${text.replaceAll("'", `'\\''`)}'`;
  const lines = layers.flatMap(({ lists, values }) => [
    ...Object.entries(values).map(([name, value]) => `export ${name}=${quote(value)}`),
    ...Object.entries(lists)
      .filter(([, parts]) => parts.length > 0)
      .map(([name, parts]) => `export ${name}=${quote(parts.join(':'))}"\${${name}:+:$${name}}"`),
  ]);
  return `# Written by set-up. Use: . .setup/env.sh\n${lines.join('\n')}\n`;
};
