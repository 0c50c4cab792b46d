/** `oxygen check-config FILE`: every fault of a configuration file, before the node or the builder meets it. */
import { describeError } from '../core/errors';
import { fault, runChecks, type Check } from '../doctor/check';
import { configCheck } from '../doctor/config-file';
import { printFindings } from '../doctor/print';
import { readManifest, type Manifest } from '../model/manifest';
import { NODE_NAME } from '../ros/params';
import { parseOperands } from './args';

const OPTIONS = {
  engine: { type: 'string', value: 'DIR', help: 'the engine that the file must fit' },
  node: {
    type: 'string',
    value: 'NAME',
    help: `name of the node in a parameter file (default ${NODE_NAME})`,
  },
  json: { type: 'boolean', help: 'print one JSON object instead of lines' },
} as const;

/** Exit code 0 without faults. */
export async function runCheckConfig(args: string[]): Promise<number> {
  const parsed = parseOperands('check-config', OPTIONS, args, ['FILE']);
  if (!parsed) return 0;
  const { engine, node = NODE_NAME, json = false } = parsed.options;
  const [file = ''] = parsed.operands;
  const { manifest, checks } = engine === undefined ? NO_ENGINE : openEngine(engine);
  const report = await printFindings(runChecks([...checks, configCheck(file, { manifest, node })]), json);
  return report.ok ? 0 : 1;
}

interface OpenedEngine {
  readonly manifest: Manifest | null;
  /** What to tell of the engine: nothing when it is sound. */
  readonly checks: readonly Check[];
}

const NO_ENGINE: OpenedEngine = { manifest: null, checks: [] };

/** The file is checked even when the engine is not sound. */
function openEngine(dir: string): OpenedEngine {
  try {
    return { manifest: readManifest(dir), checks: [] };
  } catch (error) {
    const told = fault(describeError(error), `oxygen doctor --engine ${dir}`);
    return { manifest: null, checks: [{ name: 'engine', cure: '', run: () => told }] };
  }
}
