import fs from 'node:fs';
import path from 'node:path';
import { run } from './command.mjs';
import { at, NODE_MODULES } from './paths.mjs';

/** Settings for npm and node-gyp: no questions, no downloads of CUDA libraries, Node's headers from here. */
export const npmEnv = env => {
  const prefix = path.dirname(path.dirname(process.execPath));
  const headers = fs.existsSync(path.join(prefix, 'include/node')) ? { npm_config_nodedir: prefix } : {};
  return { ...env, npm_config_yes: 'true', ONNXRUNTIME_NODE_INSTALL: 'skip', ...headers };
};

/**
 * Compares the lockfile with npm's own record of what it installed, written when an installation is complete.
 * @returns names of packages that are absent or of another version; packages for other systems do not count
 */
export const differences = (lock, installed) =>
  Object.entries(lock.packages)
    .filter(([place, wanted]) => {
      if (place === '') return false;
      const found = installed.packages[place];
      return found === undefined ? !wanted.optional : found.version !== wanted.version;
    })
    .map(([place]) => place);

const readJson = file => {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
};

const COLCON_IGNORE = path.join(NODE_MODULES, 'COLCON_IGNORE');

export const npmDependencies = {
  name: 'npm dependencies',
  isDone: () => {
    const lock = readJson(at('package-lock.json'));
    const installed = readJson(path.join(NODE_MODULES, '.package-lock.json'));
    return (
      installed !== undefined && fs.existsSync(COLCON_IGNORE) && differences(lock, installed).length === 0
    );
  },
  run: async ({ env, onLine }) => {
    const lock = readJson(at('package-lock.json'));
    const installed = readJson(path.join(NODE_MODULES, '.package-lock.json'));
    // A complete installation stays: `npm ci` would delete it first.
    if (installed === undefined || differences(lock, installed).length > 0) {
      // npm itself stumbles over the remains of an interrupted installation.
      fs.rmSync(NODE_MODULES, { recursive: true, force: true, maxRetries: 3 });
      await run('npm', ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund'], {
        env: npmEnv(env),
        onLine,
      });
    }
    fs.writeFileSync(COLCON_IGNORE, '');
  },
};
