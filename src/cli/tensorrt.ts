/** The last step of `oxygen build --target tensorrt`: TensorRT's engines, where TensorRT is. */
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { OxygenError } from '../core/errors';
import { TENSORRT_SCRIPT } from '../model/tensorrt-engine';

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Runs the script of the engine folder when this machine has a trtexec; its output goes to stderr. Resolves with whether
 * it ran. Throws BUILD_FAILED when it failed; the folder is whole without it and runs on CUDA.
 */
export async function makeTensorRtEngines(dir: string, env: Env = process.env): Promise<boolean> {
  if (env['TRTEXEC'] === undefined && !isOnPath('trtexec', env)) return false;
  const script = join(dir, TENSORRT_SCRIPT);
  const child = spawn('sh', [script], { env: { ...env }, stdio: ['ignore', 2, 2] });
  const ending = await new Promise<string | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      resolve(code === 0 ? null : signal ? `by ${signal}` : `with ${code}`),
    );
  });
  if (ending === null) return true;
  throw new OxygenError(
    'BUILD_FAILED',
    `${script} ended ${ending}, so ${dir} has no TensorRT engines yet; its output above says why. Run it again when ` +
      'that is cured; until then the engine runs on CUDA',
  );
}

function isOnPath(name: string, env: Env): boolean {
  return (env['PATH'] ?? '').split(delimiter).some(folder => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return folder !== '';
    } catch {
      return false;
    }
  });
}
