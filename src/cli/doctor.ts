/** `oxygen doctor`: what is missing or wrong on this machine, in an engine, a robot file or a checkpoint. */
import { runChecks, type Check } from '../doctor/check';
import { checkpointCheck } from '../doctor/checkpoint';
import { engineCheck } from '../doctor/engine';
import { robotCheck } from '../doctor/files';
import { machineChecks } from '../doctor/machine';
import { nvidiaChecks, wishOf } from '../doctor/nvidia/checks';
import { thisMachine } from '../machine/machine';
import { runtimeChecks } from '../doctor/runtime';
import { readManifest, type Target } from '../model/manifest';
import { choice, parseOptions } from './args';
import { printFindings } from '../doctor/print';
import { Progress } from './progress';

const OPTIONS = {
  engine: { type: 'string', value: 'DIR', help: 'check this engine, with a checksum of every file' },
  robot: { type: 'string', value: 'FILE', help: 'check this robot file, against the engine if one is given' },
  checkpoint: { type: 'string', value: 'DIR', help: 'check this checkpoint without building' },
  provider: {
    type: 'string',
    value: 'P',
    help: 'cuda or tensorrt: check all that it needs (also done for engines of these targets)',
  },
  json: { type: 'boolean', help: 'print one JSON object instead of lines' },
} as const;

/** Exit code 0 without faults; warnings are allowed. */
export async function runDoctor(args: string[]): Promise<number> {
  const o = parseOptions('doctor', OPTIONS, args);
  if (!o) return 0;
  const provider =
    o.provider === undefined ? null : choice('provider', o.provider, ['cuda', 'tensorrt'], 'cuda');
  const wish = wishOf(provider, targetOf(o.engine));
  const checks: Check[] = [...machineChecks(), ...runtimeChecks(), ...nvidiaChecks(thisMachine(), wish)];
  if (o.robot !== undefined) checks.push(robotCheck(o.robot));
  if (o.engine !== undefined) {
    checks.push(engineCheck(o.engine, { robot: o.robot ?? null, progress: new Progress('hashing') }));
  }
  if (o.checkpoint !== undefined) checks.push(checkpointCheck(o.checkpoint));
  const report = await printFindings(runChecks(checks), o.json ?? false);
  return report.ok ? 0 : 1;
}

/** What is wrong with the folder is told by its own check. */
function targetOf(engine: string | undefined): Target {
  try {
    return engine === undefined ? 'cpu' : readManifest(engine).target;
  } catch {
    return 'cpu';
  }
}
