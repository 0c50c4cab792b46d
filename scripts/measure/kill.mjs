// SIGKILL, of the engine process and of the node itself, while the robot is driven; then good chunks again.
import { isolated, NodeUnderTest, Peer, standStill, withNode } from './rig.mjs';

const PATIENCE_MS = 20_000;
/** So many chunks, and the engine counts as well again. */
const HEALTHY_CHUNKS = 11;

const chunks = async (peer, count) => {
  for (let n = 0; n < count; n++) await peer.message('action_chunk', undefined, PATIENCE_MS);
};

/** Runs `once` until it fails; how often it went well. */
const countGood = async (times, tell, once) => {
  for (let n = 0; n < times; n++) {
    try {
      await once();
    } catch (error) {
      tell(`time ${n + 1}: ${error.message}`);
      return n;
    }
  }
  return times;
};

const engineRecoveries = (env, times, tell) =>
  withNode(env, {}, (peer, node) =>
    countGood(times, tell, async () => {
      const before = node.enginePid();
      process.kill(before, 'SIGKILL');
      const { msg } = await peer.message('status', msg => msg.state === 'engine_down', PATIENCE_MS);
      await peer.message('status', each => each.engine_restarts > msg.engine_restarts, PATIENCE_MS);
      await chunks(peer, HEALTHY_CHUNKS);
    }),
  );

const nodeRecoveries = async (env, times, tell) => {
  const peer = await Peer.start(env);
  let node = new NodeUnderTest(env);
  try {
    standStill(peer);
    await chunks(peer, 1);
    return await countGood(times, tell, async () => {
      if (!(await node.kill())) throw new Error('a process was left behind');
      node = new NodeUnderTest(env);
      await chunks(peer, 3).catch(error => {
        throw new Error(`${error.message}\nThe node said last:\n${node.log().join('\n')}`);
      });
    });
  } finally {
    await node.end();
    await peer.end();
  }
};

export const measureKill = async ({ quick, env, tell }) => {
  const times = quick ? 3 : 20;
  const engine = await engineRecoveries(isolated(env), times, tell);
  const node = await nodeRecoveries(isolated(env), times, tell);
  return [
    {
      name: 'kill9_recovered',
      value: Math.min(engine, node),
      limit: { least: times },
      note: `engine ${engine}/${times}, node ${node}/${times}; no process is left behind`,
    },
  ];
};
