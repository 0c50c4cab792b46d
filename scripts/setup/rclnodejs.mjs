// rclnodejs' native addon: prebuilt for Ubuntu, compiled elsewhere. Whether it can be loaded is checked in a
// process of its own before anything requires it: rclnodejs answers a failed load with deleting its build.
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { run } from './command.mjs';
import { npmEnv } from './npm-dependencies.mjs';
import { NODE_MODULES, RCLNODEJS } from './paths.mjs';
import { rosEnv, rosName } from './ros-env.mjs';

const BUILT = path.join(RCLNODEJS, 'build/Release/rclnodejs.node');

/** Asks rclnodejs itself which prebuilt file it would take here. */
const prebuilt = env => {
  const ask = `
    const { detectPrebuildRuntime, getTaggedPrebuildFilename } = require('./lib/prebuilds.js');
    const ubuntuCodename = require('./lib/utils.js').detectUbuntuCodename();
    const { ROS_DISTRO: rosDistro } = process.env;
    console.log(getTaggedPrebuildFilename({ rosDistro, ubuntuCodename, arch: process.arch, runtime: detectPrebuildRuntime() }))`;
  const options = { cwd: RCLNODEJS, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
  const name = execFileSync(process.execPath, ['-e', ask], options).trim();
  const file = path.join(RCLNODEJS, `prebuilds/${process.platform}-${process.arch}`, name);
  return fs.existsSync(file) ? file : undefined;
};

/** Why the addon cannot be loaded in this environment; undefined if it can. */
const loadError = (file, env) => {
  if (!fs.existsSync(file)) return 'the file does not exist';
  const load = 'process.dlopen({ exports: {} }, process.argv[1])';
  const { status, signal, stderr } = spawnSync(process.execPath, ['-e', load, file], {
    env,
    encoding: 'utf8',
  });
  if (status === 0) return undefined;
  return (
    /Error: (.*)/.exec(stderr)?.[1] ?? `the loading process ended with ${signal ?? `exit code ${status}`}`
  );
};

const compile = (env, onLine) =>
  run(
    process.execPath,
    [path.join(NODE_MODULES, 'node-gyp/bin/node-gyp.js'), '-j', `${availableParallelism()}`, 'rebuild'],
    { cwd: RCLNODEJS, env: npmEnv(env), onLine },
  );

export const rclnodejs = {
  name: 'rclnodejs',
  inputs: ({ env }) => [
    [path.join(RCLNODEJS, 'package.json')],
    [rosName(env), process.arch, process.versions.modules],
  ],
  outputs: [RCLNODEJS],
  isSound: ({ env }) =>
    loadError(fs.existsSync(BUILT) ? BUILT : (prebuilt(rosEnv(env)) ?? BUILT), rosEnv(env)) === undefined,
  run: async ({ env, onLine }) => {
    const ros = rosEnv(env);
    const ready = prebuilt(ros);
    // rclnodejs would copy a prebuilt file here and never replace it, not even for another ROS 2.
    fs.rmSync(path.join(RCLNODEJS, 'build'), { recursive: true, force: true });
    if (ready && loadError(ready, ros) === undefined) return;
    await compile(ros, onLine);
    const reason = loadError(BUILT, ros);
    if (reason) throw new Error(`rclnodejs was built but cannot be loaded: ${reason}\n(${BUILT})`);
  },
};
