/** Would the ROS node start here? Only a warning: building, verifying and measuring need no ROS. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ok, warning, type Outcome } from './check';

const PACKAGE = 'oxygen_vla';
const OPT = '/opt/ros';
const TIMEOUT_MS = 30_000;

export async function rosOutcome(env: NodeJS.ProcessEnv = process.env): Promise<Outcome> {
  const cure = sourceCure(join(__dirname, '../..'));
  const prefixes = (env['AMENT_PREFIX_PATH'] ?? '').split(':').filter(prefix => prefix !== '');
  if (prefixes.length === 0) return warning('no ROS 2 is sourced, so `oxygen node` cannot start', cure);
  const index = join('share/ament_index/resource_index/packages', PACKAGE);
  if (!prefixes.some(prefix => existsSync(join(prefix, index)))) {
    return warning(`the ROS package ${PACKAGE} with its messages is not in AMENT_PREFIX_PATH`, cure);
  }
  const answer = await askChild(env);
  return answer === 'ready'
    ? ok(`ROS 2 ${env['ROS_DISTRO'] ?? '(ROS_DISTRO not set)'}, rclnodejs and the messages load`)
    : warning(`rclnodejs: ${answer}`, cure);
}

function askChild(env: NodeJS.ProcessEnv): Promise<string> {
  const script = join(__dirname, 'ros-child.js');
  return new Promise(resolve => {
    execFile(process.execPath, [script], { env, timeout: TIMEOUT_MS }, (error, stdout, stderr) => {
      const how = error?.signal ? `its process ended by ${error.signal}` : stderr.trim();
      resolve(stdout.trim().split('\n').at(-1) || how || 'its process said nothing');
    });
  });
}

/** `root`: folder of the program. The line to type, for what is there. */
function sourceCure(root: string): string {
  const project = join(root, '.setup/env.sh');
  const distros = existsSync(OPT) ? readdirSync(OPT).sort() : [];
  const distro = distros.at(-1);
  if (distro !== undefined)
    return `source ${OPT}/${distro}/setup.bash, then the workspace's install/setup.bash`;
  if (existsSync(project)) return `source ${project}`;
  return 'source /opt/ros/<distro>/setup.bash and install/setup.bash, or run `npm run setup` in a checkout';
}
