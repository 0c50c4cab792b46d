// From the start of the process to the first sign of life, and to the active state.
import { quantile } from '../../dist/core/statistics.js';
import { isolated, LATCHED, NodeUnderTest, Peer, sleep } from './rig.mjs';

/** The peer is well there before the first node. */
const DISCOVERY_MS = 1000;

const once = async (peer, env) => {
  const first = peer.message('status');
  const active = peer.message('status', msg => msg.lifecycle === 'active');
  const node = new NodeUnderTest(env);
  try {
    const [up, ready] = await Promise.all([first, active]);
    return { up: up.t - node.startedMs, active: ready.t - node.startedMs };
  } catch (error) {
    error.message += `\nThe node said last:\n${node.log().join('\n')}`;
    throw error;
  } finally {
    await node.end();
  }
};

const figure = (name, values, most, what) => ({
  name,
  value: quantile(values, 0.5),
  limit: { most },
  note: `process start to ${what}; median of ${values.length}, worst ${Math.max(...values).toFixed(0)}`,
});

export const measureStart = async ({ quick, env: common }) => {
  const env = isolated(common);
  const peer = await Peer.start(env);
  try {
    peer.subscribe('status', 'oxygen_vla/msg/Status', { fields: ['lifecycle'], qos: LATCHED });
    await sleep(DISCOVERY_MS);
    const runs = [];
    for (let n = 0; n < (quick ? 3 : 5); n++) runs.push(await once(peer, env));
    return [
      figure(
        'node_up_ms',
        runs.map(run => run.up),
        1000,
        'the first `status` at the peer',
      ),
      figure(
        'active_ms',
        runs.map(run => run.active),
        5000,
        '`active` with the engine loaded',
      ),
    ];
  } finally {
    await peer.end();
  }
};
