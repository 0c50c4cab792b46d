import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { callSetup } from './call';

type Env = Record<string, string>;

const root = path.resolve(__dirname, '../..');
const venv = path.join(root, '.venv');
const install = path.join(root, 'install/oxygen_vla');
const plain = { PATH: '/usr/bin:/bin', HOME: '/home/u', RMW_IMPLEMENTATION: 'rmw_x', ROS_DOMAIN_ID: '7' };
const sourced = {
  ...plain,
  ROS_DISTRO: 'humble',
  AMENT_PREFIX_PATH: '/opt/ros/humble',
  LD_LIBRARY_PATH: '/opt/lib',
};

const rosEnv = (env: object) => callSetup('ros-env', 'rosEnv', env) as Env;
const projectEnv = (env: object) => callSetup('ros-env', 'projectEnv', env) as Env;

test.each([
  ['nothing sourced', plain, 'wheels'],
  ['ROS 2 sourced', sourced, 'sourced'],
  [
    'our own script sourced',
    { ...plain, ROS_DISTRO: 'jazzy', AMENT_PREFIX_PATH: `${install}:${venv}` },
    'wheels',
  ],
  ['only our package', { ...plain, ROS_DISTRO: 'jazzy', AMENT_PREFIX_PATH: install }, 'wheels'],
])('%s: %p', (_, env, kind) => {
  expect(callSetup('ros-env', 'rosKind', env)).toBe(kind);
});

test('a sourced ROS 2 is used as it is', () => {
  expect(rosEnv(sourced)).toEqual(sourced);
});

test('the wheels come in front and settings of the user stay', () => {
  const env = rosEnv(plain);
  expect(env).toMatchObject({ ROS_DISTRO: 'jazzy', RMW_IMPLEMENTATION: 'rmw_x', ROS_DOMAIN_ID: '7' });
  expect(env['PATH']).toBe(`${venv}/bin:/usr/bin:/bin`);
  expect(env['AMENT_PREFIX_PATH']).toBe(venv);
});

test.each([
  ['wheels', plain],
  ['sourced', sourced],
])('applied twice it is the same (%s)', (_, env) => {
  expect(projectEnv(projectEnv(env))).toEqual(projectEnv(env));
});

test('the environment to build with leaves out what was built before', () => {
  expect(rosEnv(projectEnv(plain))['AMENT_PREFIX_PATH']).toBe(venv);
  expect(rosEnv(projectEnv(sourced))['AMENT_PREFIX_PATH']).toBe('/opt/ros/humble');
});

test.each([
  ['wheels', plain],
  ['sourced', sourced],
])('the script to source gives the same as a child process gets (%s)', (_, env) => {
  const script = callSetup('ros-env', 'envScript', env) as string;
  const output = execFileSync('/bin/sh', ['-c', `${script}\nenv -0`], { env, encoding: 'utf8' });
  const entries = output.split('\0').filter(entry => entry !== '');
  const actual = Object.fromEntries(entries.map(entry => entry.split(/=(.*)/s).slice(0, 2))) as Env;
  for (const [name, value] of Object.entries(projectEnv(env))) {
    // The script may name a folder twice; the order of first mention is what counts.
    expect([name, [...new Set(actual[name]?.split(':'))].join(':')]).toEqual([name, value]);
  }
});
