// How long a robot waits for a safe command: inputs that stop, a model that says NaN, an engine that is gone.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ENGINE } from '../setup/paths.mjs';
import { timeToHold } from './figures.mjs';
import { poison } from './poison.mjs';
import { CAMERA, isolated, nowMs, sleep, withNode } from './rig.mjs';

const LIMIT_MS = 100;
/** All commands of this time after the event are looked at. */
const WINDOW_MS = 400;
const GOOD = 'go to the green block';
const POISON = 'red';

const commands = ({ messages }) => messages.map(({ t, msg }) => ({ at: t, values: msg.data }));

/** End of the newest chunk that was published (ms). */
const endOfChunk = ({ messages }) => {
  const { stamp, dt, horizon } = messages.at(-1).msg;
  return stamp.sec * 1000 + stamp.nanosec / 1e6 + horizon * dt * 1000;
};

const worst = values => values.reduce((a, b) => Math.max(a, b), 0);

/** `fault` happens, no chunk comes any more; ms from the end of the last one to the hold. */
const afterLastChunk = async (peer, fault) => {
  const [actions, chunks] = [peer.collect('action'), peer.collect('action_chunk')];
  const chunk = peer.message('action_chunk');
  await chunk;
  await fault();
  // Frames that are on their way become chunks too.
  await sleep(700);
  const end = endOfChunk(chunks);
  await sleep(Math.max(0, end - nowMs()) + WINDOW_MS + 100);
  actions.stop();
  chunks.stop();
  return timeToHold(commands(actions), end, WINDOW_MS);
};

const stale = async peer => {
  const ms = await afterLastChunk(peer, () => peer.send('unstream', { topic: CAMERA }));
  const chunk = peer.message('action_chunk');
  peer.camera();
  await chunk;
  return ms;
};

const crash = async (peer, node) => {
  const actions = peer.collect('action');
  await sleep(200);
  const at = nowMs();
  process.kill(node.enginePid(), 'SIGKILL');
  await sleep(WINDOW_MS + 100);
  actions.stop();
  await healthy(peer);
  return timeToHold(commands(actions), at, WINDOW_MS);
};

/** An engine that was started again counts as well after ten chunks. */
const healthy = async peer => {
  for (let n = 0; n < 11; n++) await peer.message('action_chunk');
};

const nan = async peer => {
  const fault = peer.message('status', msg => msg.gate === 'fault');
  const ms = await afterLastChunk(peer, () => peer.instruct(`go to the ${POISON} block`));
  await fault;
  const chunk = peer.message('action_chunk');
  peer.instruct(GOOD);
  await peer.call('/oxygen/reset', 'std_srvs/srv/Trigger');
  await chunk;
  await sleep(500);
  return ms;
};

const repeated = async (times, once) => {
  const values = [];
  for (let n = 0; n < times; n++) values.push(await once());
  return values;
};

const poisoned = async (env, times) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'oxygen-measure-'));
  try {
    poison(ENGINE, path.join(folder, 'engine'), POISON);
    const parameters = { engine: path.join(folder, 'engine'), status_rate_hz: 10 };
    return await withNode(isolated(env), parameters, peer => repeated(times, () => nan(peer)));
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
};

export const measureSafe = async ({ quick, env }) => {
  const times = quick ? 2 : 5;
  const [stales, crashes] = await withNode(isolated(env), {}, async (peer, node) => {
    const stales = await repeated(times, () => stale(peer));
    return [stales, await repeated(times, () => crash(peer, node))];
  });
  const nans = await poisoned(env, times);
  const each = [
    ['stale', stales],
    ['NaN', nans],
    ['crash', crashes],
  ];
  const note = each.map(([name, values]) => `${name} ${worst(values).toFixed(0)}`).join(', ');
  return [
    {
      name: 'safe_command_ms',
      value: worst(each.flatMap(([, values]) => values)),
      limit: { most: LIMIT_MS },
      note: `worst of ${times} each at the peer: ${note}`,
    },
  ];
};
