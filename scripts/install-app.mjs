#!/usr/bin/env node
// Copies the program and the npm packages that it needs when it runs, so that it does not depend on the checkout.
// usage: node scripts/install-app.mjs DESTINATION (called by CMake)
import fs from 'node:fs';
import path from 'node:path';
import { bindingFiles, isNeeded, packagesAtRunTime } from './setup/app-files.mjs';
import { at } from './setup/paths.mjs';
import { setUp } from './setup/runner.mjs';
import { hashOf } from './setup/stamp.mjs';
import { nodeSteps } from './setup/steps.mjs';

const replace = (from, to, filter = () => true) => {
  fs.rmSync(to, { recursive: true, force: true });
  fs.cpSync(from, to, { recursive: true, filter: source => filter(path.relative(at(), source)) });
};

const copyModules = app => {
  const lock = JSON.parse(fs.readFileSync(at('package-lock.json'), 'utf8'));
  const places = packagesAtRunTime(lock.packages).filter(place => fs.existsSync(at(place)));
  fs.rmSync(path.join(app, 'node_modules'), { recursive: true, force: true });
  for (const place of places) {
    // Nested packages are places of their own.
    const nested = path.join(place, 'node_modules');
    replace(at(place), path.join(app, place), file => file !== nested && isNeeded(file));
  }
};

const destination = process.argv[2];
if (destination === undefined) throw new Error('usage: install-app.mjs DESTINATION');
if (!(await setUp(nodeSteps))) process.exit(1);
// The packages are many files: copied only when they differ.
const stamp = path.join(destination, 'node_modules.stamp');
const inputs = hashOf(
  [
    at('package-lock.json'),
    at('scripts/setup/app-files.mjs'),
    at('.setup/rclnodejs.stamp'),
    at('.setup/messages-for-javascript.stamp'),
  ],
  bindingFiles(at()),
);
if (!fs.existsSync(stamp) || fs.readFileSync(stamp, 'utf8') !== inputs) {
  copyModules(destination);
  fs.writeFileSync(stamp, inputs);
}
replace(at('dist'), path.join(destination, 'dist'));
fs.copyFileSync(at('package.json'), path.join(destination, 'package.json'));
