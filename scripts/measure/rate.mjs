// 70 Hz of commands while the engine is saturated: eight language requests are always open.
import { regularity } from './figures.mjs';
import { isolated, sleep, withNode } from './rig.mjs';

const HZ = 70;
const OPEN = 8;
const WARM_UP_MS = 3000;
const SEEDS = ['Scene: ', 'Question: where is the red block? Answer:', 'Subtask: '];

/** Keeps requests open until it is stopped; returns `stop`. */
const saturate = peer => {
  let asked = 0;
  const ask = () => {
    const msg = { id: `${asked}`, text: SEEDS[asked % SEEDS.length], max_tokens: 16 };
    peer.send('publish', { topic: 'language_request', type: 'oxygen_vla/msg/LanguageRequest', msg });
    asked += 1;
  };
  const stop = peer.listen(event => {
    if (event.event === 'message' && event.topic === 'language/tokens') ask();
  });
  peer.subscribe('language/tokens', 'oxygen_vla/msg/LanguageToken', {
    fields: ['request_id', 'finish_reason'],
    only: 'finish_reason',
    qos: { depth: 1000 },
  });
  for (let i = 0; i < OPEN; i++) ask();
  return stop;
};

export const measureRate = ({ quick, env }) => {
  const seconds = quick ? 20 : 60;
  const parameters = { max_requests: OPEN, tokens_per_frame: 5, status_rate_hz: 2 };
  return withNode(isolated(env), parameters, async peer => {
    const stop = saturate(peer);
    await sleep(WARM_UP_MS);
    const status = async () => (await peer.message('status')).msg;
    const before = await status();
    const actions = peer.collect('action');
    await sleep(seconds * 1000);
    actions.stop();
    const after = await status();
    stop();

    const sent = regularity(
      actions.messages.map(({ s }) => s),
      HZ,
    );
    const heard = regularity(
      actions.messages.map(({ t }) => t),
      HZ,
    );
    const missed = Number(after.missed_ticks) - Number(before.missed_ticks);
    const load = `${after.batch_max} texts at once, ${after.tokens_per_s.toFixed(0)} tokens/s, ${after.replan_hz.toFixed(1)} chunks/s`;
    const count = actions.messages.length;
    return [
      {
        name: 'rate_hz',
        value: sent.hz,
        limit: { near: [HZ, 0.2] },
        note: `${count} commands in ${seconds} s; ${load}`,
      },
      {
        name: 'missed_ticks',
        value: Math.max(missed, sent.missed),
        limit: { most: 0 },
        note: `the node counts ${missed}, the peer ${sent.missed}`,
      },
      {
        name: 'dt_p99_ms',
        value: sent.p99Ms,
        limit: { most: 4 },
        note: `p99 of how much the time between two commands misses 14.286 ms, by their source stamps; max ${sent.maxMs.toFixed(1)}`,
      },
      {
        name: 'dt_heard_p99_ms',
        value: heard.p99Ms,
        limit: { info: true },
        note: `the same where the peer hears them; max ${heard.maxMs.toFixed(1)}`,
      },
    ];
  });
};
