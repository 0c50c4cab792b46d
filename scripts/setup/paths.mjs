// The places that set-up fills. All of them are ignored by git.
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** Absolute path of something in the repository. */
export const at = (...parts) => path.join(ROOT, ...parts);

export const STATE = at('.setup');
export const VENV = at('.venv');
export const VENV_PYTHON = path.join(VENV, 'bin/python');
export const NODE_MODULES = at('node_modules');
export const RCLNODEJS = path.join(NODE_MODULES, 'rclnodejs');
export const INSTALL = at('install/oxygen_vla');
export const ENGINE = at('engines/demo');
