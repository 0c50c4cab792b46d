/** What set-up takes for installed, and what it copies into the installed package. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { callSetup } from './call';

const lock = JSON.parse(readFileSync(path.resolve(__dirname, '../../package-lock.json'), 'utf8')) as {
  packages: Record<string, object>;
};

describe('npm dependencies', () => {
  const wanted = {
    packages: { '': {}, 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { version: '2.0.0' } },
  };
  const differences = (installed: object) =>
    callSetup('npm-dependencies', 'differences', wanted, { packages: installed });

  test('complete', () => {
    expect(differences(wanted.packages)).toEqual([]);
  });

  test('a missing package and one of another version are found', () => {
    expect(differences({ 'node_modules/a': { version: '1.0.1' } })).toEqual([
      'node_modules/a',
      'node_modules/b',
    ]);
  });

  test('packages for other systems may be absent, but not of another version', () => {
    const optional = { packages: { 'node_modules/c': { version: '1.0.0', optional: true } } };
    const call = (installed: object) =>
      callSetup('npm-dependencies', 'differences', optional, { packages: installed });
    expect(call({})).toEqual([]);
    expect(call({ 'node_modules/c': { version: '0.9.0' } })).toEqual(['node_modules/c']);
  });
});

describe('the installed program', () => {
  test('takes what it loads and leaves out what only builds or tests', () => {
    const places = callSetup('app-files', 'packagesAtRunTime', lock.packages) as string[];
    for (const name of [
      'rclnodejs',
      'onnxruntime-node',
      'onnxruntime-common',
      'sharp',
      'rxjs',
      'zod',
      'yaml',
    ]) {
      expect(places).toContain(`node_modules/${name}`);
    }
    for (const name of [
      'typescript',
      'jest',
      'eslint',
      'prettier',
      'node-gyp',
      'node-addon-api',
      'global-agent',
    ]) {
      expect(places).not.toContain(`node_modules/${name}`);
    }
  });

  test('finds nested packages as Node does: the nearest first', () => {
    const packages = {
      '': { dependencies: { a: '1', c: '1' } },
      'node_modules/a': { dependencies: { b: '2' } },
      'node_modules/a/node_modules/b': { dependencies: { c: '1' } },
      'node_modules/b': {},
      'node_modules/c': {},
    };
    expect(callSetup('app-files', 'packagesAtRunTime', packages)).toEqual([
      'node_modules/a',
      'node_modules/a/node_modules/b',
      'node_modules/c',
    ]);
  });

  test.each([
    ['node_modules/rclnodejs/build/Release/rclnodejs.node', true],
    ['node_modules/rclnodejs/build/Release/obj.target', false],
    ['node_modules/rclnodejs/generated/oxygen_vla/oxygen_vla__msg__Status.js', true],
    ['node_modules/rclnodejs/third_party/ref-napi/lib/ref.js', true],
    ['node_modules/rclnodejs/third_party/ref-napi/src', false],
    [`node_modules/rclnodejs/prebuilds/${process.platform}-${process.arch}`, true],
    ['node_modules/rclnodejs/prebuilds/linux-riscv64', false],
    ['node_modules/onnxruntime-node/bin/napi-v6/win32', false],
    [
      `node_modules/onnxruntime-node/bin/napi-v6/${process.platform}/${process.arch}/libonnxruntime.so.1`,
      true,
    ],
    ['node_modules/x/index.js.map', false],
    ['node_modules/x/README.md', false],
    ['node_modules/x/LICENSE.md', true],
  ])('%s: %p', (file, expected) => {
    expect(callSetup('app-files', 'isNeeded', file)).toBe(expected);
  });
});

describe('provider libraries that are copied beside the binding', () => {
  let root: string;
  let folder: string;
  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'oxygen-install-'));
    const at = 'node_modules/onnxruntime-node/bin/napi-v6';
    folder = path.join(root, at, process.platform, process.arch);
  });
  afterEach(() => rmSync(root, { recursive: true }));

  test('each one that comes, goes or changes makes the installed packages stale', () => {
    const states = [callSetup('app-files', 'bindingFiles', root)];
    const provider = path.join(folder, 'libonnxruntime_providers_cuda.so');
    const steps = [
      () => mkdirSync(folder, { recursive: true }) && writeFileSync(path.join(folder, 'binding.node'), ''),
      () => writeFileSync(provider, 'one'),
      () => writeFileSync(provider, 'longer'),
      () => utimesSync(provider, 1, 1),
    ];
    for (const step of steps) {
      step();
      states.push(callSetup('app-files', 'bindingFiles', root));
    }
    const distinct = new Set(states.map(state => JSON.stringify(state)));
    expect(distinct.size).toBe(states.length);
    expect(callSetup('app-files', 'bindingFiles', root)).toEqual(states.at(-1));
    rmSync(provider);
    expect(callSetup('app-files', 'bindingFiles', root)).toEqual(states[1]);
  });

  test('are part of what decides whether packages are copied, by colcon and by the set-up', () => {
    for (const script of ['scripts/install-app.mjs', 'scripts/setup/colcon.mjs']) {
      const text = readFileSync(path.resolve(__dirname, '../..', script), 'utf8');
      expect(text).toMatch(/bindingFiles\(\w+(\(\))?\)/);
    }
  });
});

test('paths of the machine that built the wheels are replaced', () => {
  const before =
    '"/opt/python/cp311-cp311/include/python3.11;/opt/python/cp311-cp311/lib/python3.11/site-packages/numpy/_core/include" ' +
    '"a;/usr/lib64/libtinyxml2.so;b"';
  expect(callSetup('ros-environment', 'localCmake', before, { include: '/i', numpy: '/n' })).toBe(
    '"/i;/n" "a;b"',
  );
});
