/** Is there an NVIDIA GPU, and is its driver new enough for the CUDA that the provider wants? */
import { ok, warning, type fault, type Outcome } from '../check';
import type { Answer, Machine } from '../../machine/machine';
import { jetsonRelease } from './jetson';
import { cudaMajor, PUBLISHED_CUDA } from './libraries';

interface Least {
  /** The first driver branch that runs its programs. */
  readonly driver: number;
  /** The first Jetson Linux that has it. */
  readonly l4t: number;
  /** It has no kernels for older GPUs. */
  readonly capability: number;
}

/** By the major of CUDA. 12 is for own builds of ONNX Runtime: the published provider wants 13. */
const LEAST: Readonly<Record<number, Least>> = {
  12: { driver: 525, l4t: 36, capability: 5 },
  13: { driver: 580, l4t: 38, capability: 7.5 },
};
const PUBLISHED = LEAST[PUBLISHED_CUDA] as Least;
export const LEAST_DRIVER = PUBLISHED.driver;

const DRIVER_CURE = `install NVIDIA driver ${LEAST_DRIVER} or newer, then restart the machine`;
const QUERY = ['--query-gpu=name,driver_version,memory.total,compute_cap', '--format=csv,noheader'];

/** Version of the kernel's driver, or null: no driver is loaded. */
export function driverVersion(machine: Machine): string | null {
  const text = machine.text('/proc/driver/nvidia/version') ?? '';
  return /Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)/.exec(text)?.[1] ?? null;
}

/** `bad`: how serious it is, by who asked. */
export function driverOutcomes(machine: Machine, bad: typeof fault): readonly Outcome[] {
  const jetson = jetsonRelease(machine);
  const cuda = cudaMajor(machine);
  return jetson === null ? desktopOutcomes(machine, cuda, bad) : jetsonOutcomes(jetson, cuda, bad);
}

const leastOf = (cuda: number): Least => LEAST[cuda] ?? PUBLISHED;

/** What is enough for an own build only is no fault, but worth a word. What is not a number is not known: no word. */
function ownBuild(cuda: number, of: keyof Least, has: number, what: string): readonly Outcome[] {
  if (!(has < PUBLISHED[of])) return [];
  const why = `enough for CUDA ${cuda}, which the provider library here wants, not for the published one (CUDA ${PUBLISHED_CUDA})`;
  return [warning(`${what}: ${why}`, 'leave it if it runs; it is not the pair that was designed for')];
}

/** On a Jetson the driver belongs to Jetson Linux and has version numbers of its own. */
function jetsonOutcomes(release: string, cuda: number, bad: typeof fault): readonly Outcome[] {
  const what = `Jetson Linux ${release}`;
  const major = Number.parseInt(release, 10);
  if (major >= PUBLISHED.l4t) return [ok(`${what}, which has CUDA ${PUBLISHED_CUDA}`)];
  if (major >= leastOf(cuda).l4t) return ownBuild(cuda, 'l4t', major, what);
  const cure = `flash JetPack 7 (Jetson Linux ${PUBLISHED.l4t} or newer), or build ONNX Runtime against the CUDA that is there: docs/nvidia.md`;
  return [bad(`${what} has CUDA ${cuda - 1} or older`, cure)];
}

function desktopOutcomes(machine: Machine, cuda: number, bad: typeof fault): readonly Outcome[] {
  const version = driverVersion(machine);
  const smi = machine.run('nvidia-smi', QUERY);
  if (version === null && !('output' in smi)) return [noDriver(machine, smi, bad)];
  const running = version ?? gpusOf(smi)[0]?.driver ?? '';
  const [major, least] = [Number.parseInt(running, 10), leastOf(cuda).driver];
  if (major < least) return [bad(`driver ${running}; CUDA ${cuda} needs ${least} or newer`, DRIVER_CURE)];
  return [
    ...ownBuild(cuda, 'driver', major, `driver ${running}`),
    ...('output' in smi ? gpuOutcomes(smi, running, cuda, bad) : [withoutGpus(machine, smi, running, bad)]),
  ];
}

/** The driver is loaded, but nvidia-smi names no GPU. */
function withoutGpus(
  machine: Machine,
  smi: Exclude<Answer, { output: string }>,
  running: string,
  bad: typeof fault,
): Outcome {
  const driver = `driver ${running}`;
  if ('failed' in smi) return bad(`${driver}, but nvidia-smi says: ${smi.failed}`, failureCure(smi.failed));
  if (!DEVICES.some(machine.exists))
    return bad(`${driver}, but no device ${DEVICES[0]} is visible here`, CONTAINER_CURE);
  return ok(`${driver}; nvidia-smi is not installed, so the GPU is not known`);
}

/** Of Linux; of Linux inside Windows (WSL2), which has no other. */
const DEVICES = ['/dev/nvidiactl', '/dev/dxg'];

const CONTAINER_CURE = 'in a container, start it with `--gpus all` and the NVIDIA container toolkit';

function noDriver(machine: Machine, smi: Answer, bad: typeof fault): Outcome {
  const said = 'failed' in smi ? `; nvidia-smi says: ${smi.failed}` : '';
  return bad(
    `no NVIDIA driver is loaded on this ${machine.arch} machine${said}`,
    `if it has an NVIDIA GPU, ${DRIVER_CURE}; ${CONTAINER_CURE}`,
  );
}

const failureCure = (said: string): string =>
  /version mismatch/i.test(said)
    ? 'the driver was updated under the running kernel: restart the machine'
    : `${DRIVER_CURE}; ${CONTAINER_CURE}`;

interface Gpu {
  readonly name: string;
  readonly driver: string;
  readonly memory: string;
  /** 8.9, or NaN where nvidia-smi is too old to tell. */
  readonly capability: number;
}

function gpusOf(smi: Answer): readonly Gpu[] {
  if (!('output' in smi)) return [];
  return smi.output
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => {
      const [name = '', driver = '', memory = '', capability = ''] = line.split(',').map(cell => cell.trim());
      return { name, driver, memory, capability: Number.parseFloat(capability) };
    });
}

/** nvidia-smi asked the device: it is there, whatever its file is called. */
function gpuOutcomes(smi: Answer, running: string, cuda: number, bad: typeof fault): readonly Outcome[] {
  const gpus = gpusOf(smi);
  if (gpus.length === 0) return [bad(`driver ${running}, but nvidia-smi lists no GPU`, CONTAINER_CURE)];
  return gpus.flatMap(({ name, driver, memory, capability }) => {
    const what = `${name}, ${memory}, compute capability ${capability}, driver ${driver}`;
    const least = leastOf(cuda).capability;
    const cure = 'use a GPU of the Turing generation or newer';
    if (capability < least) return [bad(`${what}: CUDA ${cuda} needs ${least} or more`, cure)];
    return capability < PUBLISHED.capability ? ownBuild(cuda, 'capability', capability, what) : [ok(what)];
  });
}
