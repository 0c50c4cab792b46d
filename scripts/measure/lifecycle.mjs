// The managed node goes round and round: configure, activate, deactivate, cleanup. Its memory must not grow.
import { growthPercent } from './figures.mjs';
import { isolated, NodeUnderTest, Peer, rssMb, sleep, standStill } from './rig.mjs';

const ROUND = ['configure', 'activate', 'deactivate', 'cleanup'];
const SETTLE_MS = 100;
const READINGS = 3;

const settled = async pid => {
  const readings = [];
  for (let n = 0; n < READINGS; n++) {
    await sleep(SETTLE_MS / READINGS);
    readings.push(rssMb(pid));
  }
  return readings.sort((a, b) => a - b)[(READINGS - 1) / 2];
};

/** '' when it is done. */
const change = async (peer, label) => {
  const request = { transition: { label } };
  const answer = await peer.call('/oxygen/change_state', 'lifecycle_msgs/srv/ChangeState', request);
  if (answer === null) return 'was not answered in 10 s';
  return answer.success ? '' : 'failed';
};

/** Loops done and the memory after each (MB); ends at the first transition that fails. */
const goRound = async (peer, node, loops, tell) => {
  const readings = [];
  for (let n = 0; n < loops; n++) {
    for (const label of ROUND) {
      const fault = await change(peer, label);
      if (fault === '') continue;
      tell(`loop ${n + 1}: ${label} ${fault}; the node said last:\n${node.log().slice(-6).join('\n')}`);
      return readings;
    }
    readings.push(await settled(node.pid));
    if ((n + 1) % 20 === 0) tell(`loop ${n + 1}: ${readings.at(-1).toFixed(1)} MB`);
  }
  return readings;
};

export const measureLifecycle = async ({ quick, env: common, tell }) => {
  const loops = quick ? 20 : 200;
  const env = isolated(common);
  const peer = await Peer.start(env);
  const node = new NodeUnderTest(env, { autostart: false });
  try {
    standStill(peer);
    const readings = await goRound(peer, node, loops, tell);
    const [first, last] = [readings[0] ?? 0, readings.at(-1) ?? 0];
    return [
      { name: 'lifecycle_loops', value: readings.length, limit: { least: loops }, note: ROUND.join(', ') },
      {
        name: 'lifecycle_rss_growth_pct',
        value: readings.length < 10 ? NaN : growthPercent(readings),
        limit: { most: 2 },
        note: `VmRSS of the node, unconfigured, second tenth of the loops to the last (medians); ${first.toFixed(0)} MB to ${last.toFixed(0)} MB`,
      },
    ];
  } finally {
    await node.end();
    await peer.end();
  }
};
