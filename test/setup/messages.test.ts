/** The messages of this package between rclnodejs and rclpy, as set-up has built them: real processes, real DDS. */
import { spawn } from 'node:child_process';
import path from 'node:path';

const env = { ...process.env, ROS_DOMAIN_ID: `${100 + (process.pid % 100)}` };

const peer = (file: string, mode: string) =>
  spawn(file.endsWith('.py') ? 'python3' : process.execPath, [path.join(__dirname, file), mode], { env });

/** Runs both; resolves with what the listener has printed. */
const exchange = async (talker: string, listener: string): Promise<Record<string, unknown>> => {
  const talking = peer(talker, 'talk');
  const listening = peer(listener, 'listen');
  let output = '';
  let errors = '';
  listening.stdout.on('data', data => (output += data));
  for (const child of [talking, listening]) child.stderr.on('data', data => (errors += data));
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      listening.on('error', reject).on('close', resolve);
      talking.on('error', reject).on('exit', () => reject(new Error(`the talker ended:\n${errors}`)));
    });
    if (code !== 0) throw new Error(`the listener ended with ${code}:\n${errors}`);
    return JSON.parse(output);
  } finally {
    talking.removeAllListeners('exit');
    talking.kill('SIGKILL');
    listening.kill('SIGKILL');
  }
};

test('a chunk of rclnodejs arrives at rclpy with every field', async () => {
  expect(await exchange('peer.cjs', 'peer.py')).toEqual({
    stamp: [12, 345],
    observation_stamp: [11, 999999999],
    dt: 0.05,
    names: ['yaw', 'elbow'],
    kinds: ['position', 'velocity'],
    horizon: 3,
    values: [0.1, -0.2, 1 / 3, 1e-300, 5, -6],
    epoch: 4294967295,
  });
});

test('a request of rclpy arrives at rclnodejs with every field', async () => {
  expect(await exchange('peer.py', 'peer.cjs')).toEqual({
    id: 'a',
    text: 'Größe: ',
    max_tokens: -1,
    temperature: 0.5,
    top_k: 40,
    top_p: 0.25,
    seed: '18446744073709551615n',
    priority: -2147483648,
    deadline: { sec: 3, nanosec: 0 },
    keep_on_instruction: true,
  });
});
