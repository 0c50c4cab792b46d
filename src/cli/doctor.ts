/** `oxygen doctor`: what is missing or wrong on this machine, in an engine, a robot file or a checkpoint. */
import { runChecks, type Check } from '../doctor/check';
import { checkpointCheck } from '../doctor/checkpoint';
import { engineCheck } from '../doctor/engine';
import { robotCheck } from '../doctor/files';
import { machineChecks } from '../doctor/machine';
import { runtimeChecks } from '../doctor/runtime';
import { parseOptions } from './args';
import { printFindings } from '../doctor/print';
import { Progress } from './progress';

const OPTIONS = {
  engine: { type: 'string', value: 'DIR', help: 'check this engine, with a checksum of every file' },
  robot: { type: 'string', value: 'FILE', help: 'check this robot file, against the engine if one is given' },
  checkpoint: { type: 'string', value: 'DIR', help: 'check this checkpoint without building' },
  json: { type: 'boolean', help: 'print one JSON object instead of lines' },
} as const;

/** Exit code 0 without faults; warnings are allowed. */
export async function runDoctor(args: string[]): Promise<number> {
  const o = parseOptions('doctor', OPTIONS, args);
  if (!o) return 0;
  const checks: Check[] = [...machineChecks(), ...runtimeChecks()];
  if (o.robot !== undefined) checks.push(robotCheck(o.robot));
  if (o.engine !== undefined) {
    checks.push(engineCheck(o.engine, { robot: o.robot ?? null, progress: new Progress('hashing') }));
  }
  if (o.checkpoint !== undefined) checks.push(checkpointCheck(o.checkpoint));
  const report = await printFindings(runChecks(checks), o.json ?? false);
  return report.ok ? 0 : 1;
}
