// Which npm packages, and which of their files, the installed program needs.
import fs from 'node:fs';
import path from 'node:path';

/** Needed only to compile or download; without node-gyp rclnodejs also cannot delete its own addon. */
const BUILD_ONLY = new Set(['node-gyp', 'node-addon-api', 'adm-zip', 'global-agent']);

/** Where `name` is found for the package at `place`, as Node looks for it: nearest node_modules first. */
const resolve = (packages, place, name) => {
  for (let folder = place; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))) {
    const candidate = path.posix.join(folder, 'node_modules', name);
    if (packages[candidate]) return candidate;
    if (folder === '') return undefined;
  }
};

/**
 * @param packages the `packages` of a package-lock.json
 * @returns their places (node_modules/...) that the program may load, sorted
 */
export const packagesAtRunTime = packages => {
  const found = new Set();
  const visit = place => {
    const { dependencies = {}, optionalDependencies = {} } = packages[place];
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const next = BUILD_ONLY.has(name) ? undefined : resolve(packages, place, name);
      if (next === undefined || found.has(next)) continue;
      found.add(next);
      visit(next);
    }
  };
  visit('');
  return [...found].sort();
};

const UNNEEDED = [
  /\.(map|d\.[cm]?ts|tsbuildinfo)$/,
  /(?<!licen[sc]e)\.md$/i,
  /\/\.bin(\/|$)/,
  /^node_modules\/rxjs\/(src|dist\/(bundles|esm|esm5|types))(\/|$)/,
  /^node_modules\/zod\/src(\/|$)/,
  /^node_modules\/rclnodejs\/(src|binding\.gyp|third_party\/ref-napi\/src)(\/|$)/,
  /^node_modules\/rclnodejs\/build\/(?!Release(\/rclnodejs\.node)?$)/,
];

// Both packages ship binaries for all systems side by side.
const system = new RegExp(`/${process.platform}(-|/)${process.arch}(/|$)`);
const isForeign = file => {
  const match = /^node_modules\/(?:onnxruntime-node\/bin\/napi-v\d+|rclnodejs\/prebuilds)\/(.+)$/.exec(file);
  if (!match) return false;
  const parts = `/${match[1]}`;
  if (parts.endsWith('-electron-rclnodejs.node')) return true;
  // The platform folder itself has no architecture yet.
  return parts !== `/${process.platform}` && !system.test(parts);
};

/** False for a file or folder below node_modules (relative path) that no running program reads. */
export const isNeeded = file => !UNNEEDED.some(pattern => pattern.test(file)) && !isForeign(file);

/**
 * The files beside onnxruntime-node's binding below `root`, a line each. Provider libraries are copied there by hand, so
 * no package list knows of them; they have hundreds of megabytes, so size and time stand for their content.
 */
export const bindingFiles = root => {
  const folder = path.join(root, 'node_modules/onnxruntime-node/bin/napi-v6', process.platform, process.arch);
  if (!fs.existsSync(folder)) return [];
  const line = name => {
    const { size, mtimeMs } = fs.statSync(path.join(folder, name));
    return `${name} ${size} ${mtimeMs}`;
  };
  return fs.readdirSync(folder).sort().map(line);
};
