/** The NVIDIA checks on made-up machines: nothing here depends on what this machine has. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Finding } from '../../src/doctor/check';
import { nvidiaChecks, wishOf, type Wish } from '../../src/doctor/nvidia/checks';
import { LEAST_DRIVER } from '../../src/doctor/nvidia/driver';
import { LEAST_TENSORRT } from '../../src/doctor/nvidia/libraries';
import { neededLibraries } from '../../src/machine/elf';
import { finder } from '../../src/machine/linker';
import { thisMachine, type Answer, type Machine } from '../../src/machine/machine';
import { findingsOf } from '../cli/findings';
import { ROOT } from '../support/engines';

const LIBRARIES = '/app/onnxruntime';
const CUDA_LIBRARIES = ['libcudart.so.13', 'libcublas.so.13', 'libcublasLt.so.13', 'libcurand.so.10'];
const TENSORRT_LIBRARIES = ['libcudnn.so.9', 'libnvinfer.so.10', 'libnvonnxparser.so.10'];
const DRIVER = (version: string): string =>
  `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  ${version}  Release Build  (dvs-builder)\nGCC version: 12\n`;
const L4T = (major: number, rest: string): string =>
  `# R${major} (release), REVISION: ${rest}, GCID: 38968081, BOARD: generic, EABI: aarch64, DATE: Wed\n`;

interface Parts {
  readonly arch?: string;
  readonly platform?: string;
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** Output of a command, by its name; commands that are not here are not installed. */
  readonly commands?: Readonly<Record<string, string | { readonly failed: string }>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly backends?: readonly string[];
  readonly libraries?: string | null;
  /** Where links lead. */
  readonly links?: Readonly<Record<string, string>>;
}

function machine(parts: Parts): Machine {
  const { files = {}, commands = {} } = parts;
  const bytes = (path: string): Uint8Array => Buffer.from(files[path] ?? fail(path));
  const answer = (command: string): Answer => {
    const found = commands[command];
    if (found === undefined) return { missing: true };
    return typeof found === 'string' ? { output: found } : found;
  };
  return {
    platform: parts.platform ?? 'linux',
    arch: parts.arch ?? 'x64',
    env: parts.env ?? {},
    libraries: parts.libraries === undefined ? LIBRARIES : parts.libraries,
    backends: () => Promise.resolve(parts.backends ?? ['cpu', 'webgpu', 'cuda', 'tensorrt']),
    exists: path => Object.hasOwn(files, path),
    text: path => (Object.hasOwn(files, path) ? Buffer.from(files[path]!).toString() : null),
    real: path => parts.links?.[path] ?? path,
    bytes: (path, offset, length) => bytes(path).subarray(offset, offset + length),
    run: answer,
  };
}

const fail = (path: string): never => {
  throw new Error(`${path} is not there`);
};

/** A shared library with nothing but a dynamic section that wants `names`. */
function elf(names: readonly string[]): Uint8Array {
  const strings = Buffer.from(`\0${names.map(name => `${name}\0`).join('')}`);
  const [headers, dynamicAt] = [64, 64 + 2 * 56];
  const entries: [number, number][] = names.map(name => [1, strings.indexOf(`\0${name}\0`) + 1]);
  const stringsAt = dynamicAt + 16 * (entries.length + 3);
  // addresses are file offsets + 0x1000
  entries.push([5, stringsAt + 0x1000], [10, strings.length], [0, 0]);
  const file = Buffer.alloc(stringsAt + strings.length);
  file.write('\x7fELF\x02\x01\x01', 'latin1');
  file.writeBigUInt64LE(BigInt(headers), 32);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(2, 56);
  const segment = (at: number, type: number, offset: number, size: number): void => {
    file.writeUInt32LE(type, at);
    [offset, offset + 0x1000, offset + 0x1000, size].forEach((n, i) =>
      file.writeBigUInt64LE(BigInt(n), at + 8 + 8 * i),
    );
  };
  segment(64, 1, 0, file.length);
  segment(64 + 56, 2, dynamicAt, 16 * entries.length);
  entries.flat().forEach((n, i) => file.writeBigUInt64LE(BigInt(n), dynamicAt + 8 * i));
  strings.copy(file, stringsAt);
  return file;
}

const PROVIDERS = {
  [`${LIBRARIES}/libonnxruntime_providers_shared.so`]: elf(['libc.so.6']),
  [`${LIBRARIES}/libonnxruntime_providers_cuda.so`]: elf([...CUDA_LIBRARIES, 'libcuda.so.1', 'libc.so.6']),
  [`${LIBRARIES}/libonnxruntime_providers_tensorrt.so`]: elf([
    'libcublas.so.13',
    'libc.so.6',
    ...TENSORRT_LIBRARIES,
  ]),
};
const cacheOf = (names: readonly string[], mark = 'libc6,x86-64'): string =>
  `${names.length} libs found in cache\n${names.map(name => `\t${name} (${mark}) => /opt/gpu/${name}`).join('\n')}\n`;

const LIBRARIES_12 = ['libcudart.so.12', 'libcublas.so.12', 'libcublasLt.so.12', 'libcurand.so.10'];
/** An own build of ONNX Runtime against CUDA 12, and a linker that finds what it wants. */
const OWN_12 = {
  [`${LIBRARIES}/libonnxruntime_providers_cuda.so`]: elf([...LIBRARIES_12, 'libcuda.so.1']),
};
const CACHE_12 = { '/sbin/ldconfig': cacheOf([...LIBRARIES_12, 'libcuda.so.1']) };

/** A desktop on which everything is right. */
const WHOLE: Parts = {
  files: { ...PROVIDERS, '/proc/driver/nvidia/version': DRIVER('580.126.09'), '/dev/nvidiactl': '' },
  commands: {
    'nvidia-smi': 'NVIDIA GeForce RTX 4090, 580.126.09, 24564 MiB, 8.9\n',
    '/sbin/ldconfig': cacheOf([...CUDA_LIBRARIES, ...TENSORRT_LIBRARIES, 'libcuda.so.1']),
  },
};

const ASKED: Wish = { from: 'option', provider: 'cuda' };
const TENSORRT: Wish = { from: 'option', provider: 'tensorrt' };
const findings = (parts: Parts, wish: Wish = ASKED): Promise<Finding[]> =>
  findingsOf(...nvidiaChecks(machine(parts), wish));
const faults = async (parts: Parts, wish: Wish = ASKED): Promise<string[]> =>
  (await findings(parts, wish)).filter(f => f.status !== 'ok').map(f => `${f.what}; ${f.cure}`);
const without = <T>(all: Readonly<Record<string, T>>, ...names: readonly string[]): Record<string, T> =>
  Object.fromEntries(Object.entries(all).filter(([name]) => !names.includes(name)));

describe('nobody asks', () => {
  test.each<[string, Parts, RegExp]>([
    ['no GPU', {}, /^no NVIDIA driver, and not asked for; .*--provider cuda/],
    ['a GPU', WHOLE, /^NVIDIA driver 580\.126\.09 is here, but not asked for/],
    ['a Jetson', { files: { '/etc/nv_tegra_release': L4T(36, '4.3') } }, /^Jetson Linux 36\.4\.3 is here/],
  ])('%s: one quiet line, and no command is run', async (_, parts, what) => {
    const run = (): never => fail('a command');
    const checks = nvidiaChecks({ ...machine(parts), run }, { from: 'nobody' });
    expect(await findingsOf(...checks)).toMatchObject([{ status: 'ok', what: expect.stringMatching(what) }]);
  });

  test('an engine for the CPU asks for nothing, the option wins over the engine', () => {
    expect(wishOf(null, 'cpu')).toEqual({ from: 'nobody' });
    expect(wishOf(null, 'tensorrt')).toEqual({ from: 'engine', provider: 'tensorrt' });
    expect(wishOf('cuda', 'tensorrt')).toEqual({ from: 'option', provider: 'cuda' });
  });
});

describe('a machine on which all is right', () => {
  test('cuda: the GPU, the provider files, where each library lies', async () => {
    const all = await findings(WHOLE);
    expect(all.map(f => `${f.status} ${f.name}`)).toEqual([
      'ok cuda driver',
      'ok cuda provider',
      'ok cuda libraries',
      'ok cuda libraries',
    ]);
    expect(all[0]!.what).toBe(
      'NVIDIA GeForce RTX 4090, 24564 MiB, compute capability 8.9, driver 580.126.09',
    );
    expect(all[2]!.what).toMatch(/libcudart\.so\.13 in \/opt\/gpu/);
    expect(all[2]!.what).not.toMatch(/cudnn|libc\.so/);
    expect(all[3]!.what).toMatch(
      /^libcudnn\.so\.9 in \/opt\/gpu will be used: it must be the one for CUDA 13, else take it off/,
    );
  });

  test('tensorrt: its own libraries besides', async () => {
    expect(await faults(WHOLE, TENSORRT)).toEqual([]);
    expect((await findings(WHOLE, TENSORRT)).at(-2)!.what).toMatch(
      /libcublas\.so\.13.*libcudnn\.so\.9.*libnvinfer\.so\.10/,
    );
  });
});

describe('the driver', () => {
  const driver = (
    version: string | null,
    smi: Parts['commands'],
    files: object = { '/dev/nvidiactl': '' },
  ): Parts => ({
    ...WHOLE,
    files: {
      ...PROVIDERS,
      ...files,
      ...(version === null ? {} : { '/proc/driver/nvidia/version': DRIVER(version) }),
    },
    commands: { ...without(WHOLE.commands!, 'nvidia-smi'), ...smi },
  });
  const smi = (version: string, capability = '8.9') => ({
    'nvidia-smi': `GPU, ${version}, 8192 MiB, ${capability}\n`,
  });
  test.each<[string, Parts, RegExp]>([
    ['none', driver(null, {}, {}), /^no NVIDIA driver is loaded.*install NVIDIA driver 580.*--gpus all/],
    ['too old', driver('575.57.08', smi('575.57.08')), /^driver 575\.57\.08; CUDA 13 needs 580 or newer/],
    ['too old, by nvidia-smi alone', driver(null, smi('570.1')), /^driver 570\.1; CUDA 13 needs 580/],
    [
      'updated under the kernel',
      driver('580.95.05', {
        'nvidia-smi': { failed: 'Failed to initialize NVML: Driver/library version mismatch' },
      }),
      /version mismatch; the driver was updated under the running kernel: restart/,
    ],
    ['no device in the container', driver('580.95.05', {}, {}), /no device \/dev\/nvidiactl.*--gpus all/],
    [
      'no GPU in the answer of nvidia-smi',
      driver('580.95.05', { 'nvidia-smi': '\n' }),
      /nvidia-smi lists no GPU.*--gpus all/,
    ],
    [
      'Pascal',
      driver('580.95.05', smi('580.95.05', '6.1')),
      /capability 6\.1.*CUDA 13 needs 7\.5 or more.*Turing/,
    ],
  ])('%s', async (_, parts, expected) => {
    expect(await faults(parts)).toEqual([expect.stringMatching(expected)]);
  });

  test.each(['580.65.06', '595.58.03', '1000.1'])(
    '%s is new enough, without nvidia-smi too',
    async version => {
      expect(await faults(driver(version, {}))).toEqual([]);
    },
  );

  test('Linux inside Windows: nvidia-smi answers, no kernel module and no device file of Linux', async () => {
    const found = await findings(driver(null, smi('581.80'), { '/dev/dxg': '' }));
    expect(found[0]).toMatchObject({ status: 'ok', what: expect.stringMatching(/^GPU, .* driver 581\.80$/) });
    expect(await faults(driver('580.95.05', {}, { '/dev/dxg': '' }))).toEqual([]);
  });

  test.each<[string, Parts, RegExp | null]>([
    ['a driver of CUDA 12', driver('570.1', smi('570.1')), /^driver 570\.1: enough for CUDA 12, which .*; leave it if/],
    ['a driver that is new anyway', driver('580.1', smi('580.1')), null],
    ['Pascal', driver('580.1', smi('580.1', '6.1')), /capability 6\.1.*: enough for CUDA 12/],
  ])('an own provider for CUDA 12: %s is at most a warning', async (_, parts, expected) => {
    const own = { ...parts, files: { ...parts.files!, ...OWN_12 }, commands: { ...parts.commands, ...CACHE_12 } };
    const found = (await findings(own)).filter(f => f.status !== 'ok');
    expect(found.map(f => `${f.status} ${f.name}`)).toEqual(expected === null ? [] : ['warning cuda driver']);
    for (const { what, cure } of found) expect(`${what}; ${cure}`).toMatch(expected!);
  }); // prettier-ignore

  test('too old for CUDA 12 as well, or for the published provider beside it', async () => {
    const old = driver('470.1', smi('470.1'));
    expect(await faults({ ...old, files: { ...old.files!, ...OWN_12 }, commands: { ...old.commands, ...CACHE_12 } })).toEqual([
      expect.stringMatching(/^driver 470\.1; CUDA 12 needs 525 or newer/),
    ]);
    expect((await findings(driver('570.1', smi('570.1'))))[0]).toMatchObject({ status: 'fault' });
  }); // prettier-ignore

  test('the text of the closed module, and each of two GPUs', async () => {
    const closed =
      'NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n';
    const old = driver(null, {}, { '/proc/driver/nvidia/version': closed });
    expect(await faults(old)).toEqual([expect.stringMatching(/^driver 535\.183\.01/)]);
    const two = driver('580.1', { 'nvidia-smi': 'A, 580.1, 1 MiB, 8.9\nB, 580.1, 1 MiB, 7.0\n' });
    expect(await faults(two)).toEqual([expect.stringMatching(/^B, /)]);
  });
});

describe('a Jetson', () => {
  const jetson = (release: string, parts: Partial<Parts> = {}): Parts => ({
    ...WHOLE,
    arch: 'arm64',
    files: { ...PROVIDERS, '/etc/nv_tegra_release': release },
    commands: { '/sbin/ldconfig': cacheOf([...CUDA_LIBRARIES, 'libcuda.so.1'], 'libc6,AArch64') },
    ...parts,
  });

  test('JetPack 7 with an own build', async () => expect(await faults(jetson(L4T(38, '2.1')))).toEqual([]));

  test('the npm package has no CUDA for arm64: the cure is an own build', async () => {
    expect(await faults(jetson(L4T(38, '2.1'), { backends: ['cpu'] }))).toEqual([
      expect.stringMatching(/knows cpu only, not cuda; build ONNX Runtime 1\.30\.0 .* on this machine/),
    ]);
  });

  test('JetPack 6: CUDA 12, told with both ways out; libraries by the name of JetPack', async () => {
    const parts = jetson(L4T(36, '4.3'), {
      commands: { '/sbin/ldconfig': cacheOf(['libcuda.so.1'], 'libc6,AArch64') },
    });
    const told = await faults(parts);
    expect(told[0]).toMatch(
      /^Jetson Linux 36\.4\.3 has CUDA 12 or older; flash JetPack 7 .*or build ONNX Runtime/,
    );
    expect(told[1]).toMatch(/^libcudart\.so\.13 is not found.*install the CUDA runtime 13 of JetPack/);
  });

  test('JetPack 6 with an own build against its CUDA 12: a warning; JetPack 5 is too old for that as well', async () => {
    const own = (release: string): Parts =>
      jetson(release, {
        files: { ...PROVIDERS, '/etc/nv_tegra_release': release, ...OWN_12 },
        commands: { '/sbin/ldconfig': cacheOf([...LIBRARIES_12, 'libcuda.so.1'], 'libc6,AArch64') },
      });
    expect((await findings(own(L4T(36, '4.3')))).filter(f => f.status !== 'ok')).toMatchObject([
      { status: 'warning', what: expect.stringMatching(/^Jetson Linux 36\.4\.3: enough for CUDA 12/) },
    ]);
    expect((await findings(own(L4T(35, '4.1'))))[0]).toMatchObject({
      status: 'fault',
      what: 'Jetson Linux 35.4.1 has CUDA 11 or older',
    });
  });

  test('an own build against CUDA 12: what it wants counts, not what the published one wants', async () => {
    const told = await faults({ ...WHOLE, files: { ...WHOLE.files!, ...OWN_12 } });
    expect(told.map(line => line.split(' ')[0])).toEqual(LIBRARIES_12.slice(0, 3));
  });
});

describe('libraries', () => {
  test.each(Object.keys(PROVIDERS))(
    '%s missing: the name, the folder, the package that has it',
    async path => {
      const name = path.slice(LIBRARIES.length + 1);
      const told = await faults({ ...WHOLE, files: without(WHOLE.files!, path) }, TENSORRT);
      expect(told).toEqual([`${name} is not in ${LIBRARIES}; ${CURE}`]);
    },
  );
  const CURE = 'copy them from the Python package onnxruntime-gpu 1.30.0 into that folder: docs/nvidia.md';

  const names = [...CUDA_LIBRARIES, 'libcuda.so.1', ...TENSORRT_LIBRARIES];
  test.each(names)('%s missing, with or without the provider files', async name => {
    const commands = { ...WHOLE.commands, '/sbin/ldconfig': cacheOf(names.filter(other => other !== name)) };
    const one = [
      expect.stringMatching(new RegExp(`^${name} is not found by the dynamic linker; (install|it comes)`)),
    ];
    expect(await faults({ ...WHOLE, commands }, TENSORRT)).toEqual(one);
    const bare = await faults(
      { ...WHOLE, commands, files: without(WHOLE.files!, ...Object.keys(PROVIDERS)) },
      TENSORRT,
    );
    expect(bare.slice(1)).toEqual(one);
  });

  test('cuda alone wants neither cuDNN nor TensorRT', async () => {
    const commands = { ...WHOLE.commands, '/sbin/ldconfig': cacheOf([...CUDA_LIBRARIES, 'libcuda.so.1']) };
    expect(await faults({ ...WHOLE, commands })).toEqual([]);
  });

  test('a cuDNN that the linker finds is told with the CUDA that it must be for; none is no word', async () => {
    const cudnn = (commands: Parts['commands'], files: object = {}) =>
      findings({ ...WHOLE, commands: { ...WHOLE.commands, ...commands }, files: { ...WHOLE.files!, ...files } }).then(
        all => all.filter(f => f.what.includes('cudnn')).map(f => f.what),
      );
    const both = { '/sbin/ldconfig': cacheOf([...LIBRARIES_12, 'libcuda.so.1', 'libcudnn.so.9']) };
    expect(await cudnn({})).toEqual([expect.stringMatching(/will be used: it must be the one for CUDA 13/)]);
    expect(await cudnn(both, OWN_12)).toEqual([expect.stringMatching(/must be the one for CUDA 12/)]);
    expect(await cudnn({ '/sbin/ldconfig': cacheOf([...CUDA_LIBRARIES, 'libcuda.so.1']) })).toEqual([]);
  }); // prettier-ignore

  const nvinfer = (version: string): Parts => ({
    ...WHOLE,
    links: { '/opt/gpu/libnvinfer.so.10': `/opt/gpu/libnvinfer.so.${version}` },
  });
  test.each(['10.13.3', '10.14.0', '10.3.0'])('TensorRT %s is older than what the provider was built against', async v => {
    expect((await findings(nvinfer(v), TENSORRT)).filter(f => f.status !== 'ok')).toMatchObject([
      { status: 'warning', what: expect.stringMatching(`TensorRT is ${v}; the published provider wants 10.14.1`) },
    ]);
    expect(await faults(nvinfer(v))).toEqual([]);
  }); // prettier-ignore
  test.each(['10.14.1', '10.15.0', '10'])('TensorRT %s is not doubted', async version => {
    expect(await faults(nvinfer(version), TENSORRT)).toEqual([]);
  });
  test('on arm64 the provider is an own build: it may take an older TensorRT', async () => {
    const names = [...CUDA_LIBRARIES, ...TENSORRT_LIBRARIES, 'libcuda.so.1'];
    const commands = { ...WHOLE.commands, '/sbin/ldconfig': cacheOf(names, 'libc6,AArch64') };
    expect(await faults({ ...nvinfer('10.13.3'), arch: 'arm64', commands }, TENSORRT)).toEqual([]);
  });

  test('a provider file that is no library, or cut off', async () => {
    const path = `${LIBRARIES}/libonnxruntime_providers_cuda.so`;
    for (const content of ['version https://git-lfs', PROVIDERS[path]!.subarray(0, 100)]) {
      const told = await faults({ ...WHOLE, files: { ...WHOLE.files!, [path]: content } });
      expect(told).toEqual([expect.stringMatching(/cannot be read as a library: .*; copy the file again/)]);
    }
  });

  test('no onnxruntime-node for this processor; no Linux', async () => {
    expect((await faults({ ...WHOLE, libraries: null }))[0]).toMatch(/no binding for linux x64/);
    expect(await faults({ platform: 'darwin', arch: 'arm64' })).toEqual([
      expect.stringMatching(/no cuda provider for darwin arm64; use Linux/),
    ]);
  });

  test('an engine for cuda on a laptop: the same words, but the node still starts, so warnings', async () => {
    const wish = wishOf(null, 'cuda');
    const all = await findings({}, wish);
    expect(new Set(all.map(f => f.status))).toEqual(new Set(['warning']));
    expect(all.map(f => f.what)).toEqual((await findings({})).map(f => f.what));
  });
});

describe('the linker', () => {
  test('LD_LIBRARY_PATH before the cache before the system folders', () => {
    const files = { '/usr/lib/x86_64-linux-gnu/liba.so': '', '/mine/liba.so': '' };
    const commands = { '/sbin/ldconfig': cacheOf(['liba.so', 'libb.so']) };
    const find = (env: Record<string, string>, with_: Parts = { files, commands }) =>
      finder(machine({ ...with_, env }));
    expect(find({ LD_LIBRARY_PATH: ':/none:/mine' })('liba.so')).toBe('/mine/liba.so');
    expect(find({})('liba.so')).toBe('/opt/gpu/liba.so');
    expect(find({}, { files })('liba.so')).toBe('/usr/lib/x86_64-linux-gnu/liba.so');
    expect(find({})('libc.so')).toBeNull();
  });

  test('libraries of another processor do not count; ldconfig may be on PATH only', () => {
    const text = cacheOf(['liba.so'], 'libc6') + cacheOf(['libb.so'], 'libc6,x86-64, OS ABI: Linux 3.2.0');
    const find = finder(machine({ commands: { ldconfig: text } }));
    expect([find('liba.so'), find('libb.so')]).toEqual([null, '/opt/gpu/libb.so']);
  });
});

test('the guide names the driver, TensorRT and every library that the checks want', () => {
  const guide = readFileSync(join(ROOT, 'docs/nvidia.md'), 'utf8');
  const named = [
    ...CUDA_LIBRARIES,
    ...TENSORRT_LIBRARIES,
    'libcuda.so.1',
    `| ${LEAST_DRIVER} or newer |`,
    `TensorRT ${LEAST_TENSORRT} or a later 10`,
  ];
  for (const name of named) expect(guide).toContain(name);
});

describe('real files', () => {
  test.each(['x64', 'arm64'])('what the binding for %s wants, as the linker would read it', arch => {
    const path = join(
      ROOT,
      `node_modules/onnxruntime-node/bin/napi-v6/linux/${arch}/onnxruntime_binding.node`,
    );
    const file = readFileSync(path);
    const needed = neededLibraries((offset, length) => file.subarray(offset, offset + length));
    expect(needed).toEqual(expect.arrayContaining(['libonnxruntime.so.1', 'libstdc++.so.6', 'libc.so.6']));
  });

  test('this machine: its binding is found, a missing command is missing, a failing one says why', async () => {
    const here = thisMachine();
    expect(existsSync(join(here.libraries!, 'onnxruntime_binding.node'))).toBe(true);
    expect(await here.backends()).toContain('cpu');
    expect(here.run('no-such-command', [])).toEqual({ missing: true });
    expect(here.run('sh', ['-c', 'echo oh; echo no >&2; exit 3'])).toEqual({ failed: 'oh' });
    expect(here.text('/no/such/file')).toBeNull();
  });
});
