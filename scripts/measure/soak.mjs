// Memory over time, with pictures of 6.2 MB at 30 Hz and language.
import { slope } from './figures.mjs';
import { CAMERA, isolated, Peer, rssMb, sleep, withNode } from './rig.mjs';

const FULL_HD = { width: 1920, height: 1080 };
const READ_EVERY_MS = 1000;
const STANDING = {
  standing_requests: '[narration]',
  'narration.text': '"Scene: "',
  'narration.max_tokens': 16,
};

/** Slopes (MB/min) of node, engine and both, and where they ended (MB). */
const watch = async (node, seconds) => {
  const [minutes, nodes, engines] = [[], [], []];
  const start = performance.now();
  while (performance.now() - start < seconds * 1000) {
    await sleep(READ_EVERY_MS);
    minutes.push((performance.now() - start) / 60_000);
    nodes.push(rssMb(node.pid));
    engines.push(rssMb(node.enginePid()));
  }
  const both = nodes.map((mb, i) => mb + engines[i]);
  const [ofNode, ofEngine, ofBoth] = [nodes, engines, both].map(mb => slope(minutes, mb));
  return { ofNode, ofEngine, ofBoth, nodeMb: nodes.at(-1), engineMb: engines.at(-1) };
};

export const measureSoak = async ({ quick, env: common }) => {
  const [warmUp, seconds] = quick ? [70, 60] : [60, 600];
  const env = isolated(common);
  // The camera is a process of its own, as on a robot.
  const camera = await Peer.start(env);
  try {
    return await withNode(env, { ...STANDING, status_rate_hz: 2 }, async (peer, node) => {
      peer.send('unstream', { topic: CAMERA });
      camera.camera(FULL_HD);
      await sleep(warmUp * 1000);
      const status = async () => (await peer.message('status')).msg;
      const before = await status();
      const { ofNode, ofEngine, ofBoth, nodeMb, engineMb } = await watch(node, seconds);
      const after = await status();
      const sent = camera.next('the last picture', event => event.event === 'unstreamed');
      camera.send('unstream', { topic: CAMERA });
      const pictures = (await sent).count / (warmUp + seconds);
      const frames = (Number(after.frames) - Number(before.frames)) / seconds;
      const tokens = (Number(after.tokens) - Number(before.tokens)) / seconds;
      const work = `${pictures.toFixed(0)} pictures/s sent, ${frames.toFixed(1)} used, ${tokens.toFixed(0)} tokens/s`;
      const info = { limit: { info: true } };
      return [
        {
          name: 'soak_rss_mb_per_min',
          value: ofBoth,
          limit: { most: 1 },
          note: `${seconds} s after ${warmUp} s, 1920x1080 rgb8; ${work}`,
        },
        {
          name: 'soak_node_rss_mb_per_min',
          value: ofNode,
          ...info,
          note: `${nodeMb.toFixed(0)} MB at the end`,
        },
        {
          name: 'soak_engine_rss_mb_per_min',
          value: ofEngine,
          ...info,
          note: `${engineMb.toFixed(0)} MB at the end`,
        },
      ];
    });
  } finally {
    await camera.end();
  }
};
