/** Is there an NVIDIA GPU, and is its driver new enough for CUDA 13? */
import { ok, type fault, type Outcome } from '../check';
import type { Answer, Machine } from '../../machine/machine';

/** The first driver branch that runs programs of CUDA 13. */
export const LEAST_DRIVER = 580;
/** Turing: CUDA 13 has no kernels for older ones. */
export const LEAST_CAPABILITY = 7.5;
/** Jetson Linux of JetPack 7, which comes with CUDA 13. */
export const LEAST_L4T = 38;

const DRIVER_CURE = `install NVIDIA driver ${LEAST_DRIVER} or newer, then restart the machine`;
const L4T = '/etc/nv_tegra_release';
const QUERY = ['--query-gpu=name,driver_version,memory.total,compute_cap', '--format=csv,noheader'];

/** Version of the kernel's driver, or null: no driver is loaded. */
export function driverVersion(machine: Machine): string | null {
  const text = machine.text('/proc/driver/nvidia/version') ?? '';
  return /Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)/.exec(text)?.[1] ?? null;
}

/** Jetson Linux as `36.4.3`, or null: this is no Jetson. */
export function jetsonRelease(machine: Machine): string | null {
  const [, major, rest] = /R(\d+)[^,]*,\s*REVISION:\s*([\d.]+)/.exec(machine.text(L4T) ?? '') ?? [];
  return major === undefined ? null : `${major}.${rest}`;
}

/** `bad`: how serious it is, by who asked. */
export function driverOutcomes(machine: Machine, bad: typeof fault): readonly Outcome[] {
  const jetson = jetsonRelease(machine);
  return jetson === null ? desktopOutcomes(machine, bad) : [jetsonOutcome(jetson, bad)];
}

/** On a Jetson the driver belongs to Jetson Linux and has version numbers of its own. */
function jetsonOutcome(release: string, bad: typeof fault): Outcome {
  const what = `Jetson Linux ${release}`;
  if (Number.parseInt(release, 10) >= LEAST_L4T) return ok(`${what}, which has CUDA 13`);
  return bad(
    `${what} has CUDA 12 or older`,
    `flash JetPack 7 (Jetson Linux ${LEAST_L4T} or newer), or build ONNX Runtime against the CUDA that is there: docs/nvidia.md`,
  );
}

function desktopOutcomes(machine: Machine, bad: typeof fault): readonly Outcome[] {
  const version = driverVersion(machine);
  const smi = machine.run('nvidia-smi', QUERY);
  if (version === null && !('output' in smi)) return [noDriver(machine, smi, bad)];
  const running = version ?? gpusOf(smi)[0]?.driver ?? '';
  if (Number.parseInt(running, 10) < LEAST_DRIVER) {
    return [bad(`driver ${running}; CUDA 13 needs ${LEAST_DRIVER} or newer`, DRIVER_CURE)];
  }
  if ('failed' in smi) {
    return [bad(`driver ${running}, but nvidia-smi says: ${smi.failed}`, failureCure(smi.failed))];
  }
  if (!machine.exists('/dev/nvidiactl')) {
    return [bad(`driver ${running}, but no device /dev/nvidiactl is visible here`, CONTAINER_CURE)];
  }
  if ('missing' in smi)
    return [ok(`driver ${running}; nvidia-smi is not installed, so the GPU is not known`)];
  return gpusOf(smi).map(gpu => gpuOutcome(gpu, bad));
}

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

function gpuOutcome({ name, driver, memory, capability }: Gpu, bad: typeof fault): Outcome {
  const what = `${name}, ${memory}, compute capability ${capability}, driver ${driver}`;
  return capability < LEAST_CAPABILITY
    ? bad(`${what}: CUDA 13 needs ${LEAST_CAPABILITY} or more`, 'use a GPU of the Turing generation or newer')
    : ok(what);
}
