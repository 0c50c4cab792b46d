// A stamp says that a step has succeeded for certain inputs. It is written only after success, so an
// interrupted step is simply done again.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { STATE } from './paths.mjs';

const SKIPPED = new Set(['__pycache__', 'node_modules']);

/** Adds a file, or all files below a folder in sorted order, to the hash: names and content. */
const addPath = (hash, file, name) => {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) {
    hash.update(`\0absent:${name}`);
  } else if (stat.isDirectory()) {
    for (const entry of fs.readdirSync(file).sort()) {
      if (!SKIPPED.has(entry)) addPath(hash, path.join(file, entry), `${name}/${entry}`);
    }
  } else {
    hash.update(`\0file:${name}:${stat.size}:`).update(fs.readFileSync(file));
  }
};

/** Hash of the content of `files` (files and folders, absolute) and of further `values` (strings). */
export const hashOf = (files, values = []) => {
  const hash = createHash('sha256');
  for (const value of values) hash.update(`\0value:${value}`);
  for (const file of files) addPath(hash, file, path.basename(file));
  return hash.digest('hex');
};

const stampFile = name => path.join(STATE, `${name}.stamp`);

/** True if step `name` has succeeded with these inputs before. */
export const hasStamp = (name, inputs) => {
  try {
    return fs.readFileSync(stampFile(name), 'utf8') === inputs;
  } catch {
    return false;
  }
};

export const writeStamp = (name, inputs) => {
  fs.mkdirSync(STATE, { recursive: true });
  fs.writeFileSync(`${stampFile(name)}.new`, inputs);
  fs.renameSync(`${stampFile(name)}.new`, stampFile(name));
};

export const removeStamp = name => fs.rmSync(stampFile(name), { force: true });
