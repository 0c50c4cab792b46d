/** Instructions and language requests that make no sense, floods of them, and peers that listen too slowly. */
import { textsById } from '../ros/demo-scene';
import { Peer, sleep, until } from '../ros/harness';
import type { PeerEvent } from '../ros/harness';
import { stalls } from '../support/stalls';
import type { Stalls } from '../support/stalls';
import { measured, seconds, useRig } from './rig';

const rig = useRig(() => ({ parameters: { max_tokens: 512, tokens_per_frame: 1 } }));
const STRING = 'std_msgs/msg/String';
/**
 * What a flood may cost, s: mostly nothing. Now and then Fast DDS waits 200 ms inside itself while a peer floods it, in
 * the node's call of it (none of its threads runs meanwhile); the peer has heard late before that.
 */
const COST_S = 0.5;

/** A serialised std_msgs/String: CDR, little endian; rclpy would not let such texts through. */
function rawString(text: Buffer): string {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length + 1);
  return Buffer.concat([Buffer.from([0, 1, 0, 0]), length, text, Buffer.of(0)]).toString('hex');
}

const send = (text: string): void => rig.peer.instruction(text);
const sendRaw = (text: Buffer): void => rig.peer.publish('instruction', STRING, {}, { raw: rawString(text) });

const inForce = (text: string): Promise<PeerEvent> =>
  rig.peer.waitForMessage('status', msg => msg.instruction === text, 5000, rig.peer.events.length);

interface Rate {
  readonly hz: number;
  readonly gap: number;
  /** Time without ticks. */
  readonly missing: number;
  /** What the machine itself took away meanwhile. */
  readonly lost: Stalls;
}

/**
 * Ticks of the action timer per second while `during` runs, by the node's own count, and the longest time (s) that the
 * peer waited for a command; it has other things to do too.
 */
async function rate(during: () => Promise<unknown>): Promise<Rate> {
  const { peer } = rig;
  const from = peer.events.length;
  const status = (): Promise<PeerEvent> =>
    peer.waitForMessage('status', () => true, 2000, peer.events.length);
  const before = (await status()).msg;
  await during();
  const after = (await status()).msg;
  const times = peer.messages('action', from).map(event => event.t);
  const gap = Math.max(...times.slice(1).map((t, i) => t - times[i]!));
  const taken = seconds(after.stamp) - seconds(before.stamp);
  const hz = (after.ticks - before.ticks) / taken;
  return { hz, gap, missing: taken * (1 - hz / 70), lost: stalls(times[0]!, times.at(-1)!) };
}

function unharmed({ hz, missing, lost }: Rate): void {
  expect(missing).toBeLessThan(COST_S + lost.total);
  expect(hz).toBeLessThan(71);
}

/** Another peer, since the one that counts commands must have time for them. */
let shouter: Peer;
beforeAll(async () => {
  shouter = await Peer.bare('shouter');
});
const flood = (topic: string, type: string, field: string, msg: object): void =>
  shouter.send('burst', { topic, type, field, msg, count: 2000, qos: { depth: 2000 } });

test('2,000 instructions in a burst: the newest wins, 70 Hz unharmed', async () => {
  const seen = await rate(async () => {
    // What the transport drops of a flood is sent again every three seconds, 512 messages at a time.
    const last = rig.peer.waitForMessage('status', msg => msg.instruction === 'go to 1999', 20_000);
    flood('instruction', STRING, 'data', { data: 'go to' });
    await last;
    await sleep(1000);
  });
  measured(`flood of instructions: ${seen.hz.toFixed(2)} Hz, longest gap`, seen.gap);
  unharmed(seen);
  expect(seen.gap).toBeLessThan(COST_S + seen.lost.longest);
}, 30_000);

test('2,000 requests in a burst: those that were not taken are refused and counted, 70 Hz unharmed', async () => {
  const { peer } = rig;
  const from = peer.events.length;
  const seen = await rate(async () => {
    const msg = { id: 'flood', text: 'Scene: ', max_tokens: 1 };
    await rig.drops(
      'QUEUE_FULL',
      () => flood('language_request', 'oxygen_vla/msg/LanguageRequest', 'id', msg),
      1,
    );
    await sleep(1000);
  });
  measured(`flood of requests: ${seen.hz.toFixed(2)} Hz, longest gap`, seen.gap);
  unharmed(seen);
  await until('an end of each', 8000, () =>
    [...textsById(peer, from).values()].every(stream => stream.at(-1)!.finish_reason !== ''),
  );
});

test.each<[string, () => void]>([
  ['empty', () => send('')],
  ['blank', () => send(' \n\t ')],
  ['longer than anybody speaks', () => send('go to the red block '.repeat(200))],
  ['a megabyte', () => send('x'.repeat(1_000_000))],
  ['control characters only', () => send('\u0001\u0002\u001b')],
  ['nothing before a NUL', () => sendRaw(Buffer.from('\0go'))],
])('an instruction, %s: refused and counted, the last one stays', async (_, say) => {
  await rig.drops('INSTRUCTION_INVALID', say);
  await inForce(rig.scene.instruction);
});

test.each<[string, () => void, RegExp]>([
  ['right to left', () => send('לך אל הקובייה האדומה'), /^לך אל/],
  ['emoji', () => send('go 🟥🟩'), /^go 🟥🟩$/u],
  ['control characters between words', () => send('go\u0007 to\u001b[31m red'), /^go to\[31m red$/],
  ['NUL in the middle', () => sendRaw(Buffer.from('go to\0 the red')), /^go to( the red)?$/],
  ['lone surrogates', () => sendRaw(Buffer.from([0x67, 0x6f, 0x20, 0xed, 0xa0, 0x80])), /^go \ufffd+$/],
  ['bytes that are no UTF-8', () => sendRaw(Buffer.from([0x67, 0x6f, 0x20, 0xff, 0xfe])), /^go \ufffd+$/],
])('an instruction, %s: taken, and told as valid text', async (_, say, shown) => {
  const from = rig.peer.events.length;
  say();
  const { msg } = await rig.peer.waitForMessage(
    'status',
    ({ instruction }) => shown.test(instruction),
    4000,
    from,
  );
  expect(msg.instruction).not.toMatch(/[\u0000-\u0008\u000b-\u001f\ud800-\udfff]/u);
  await rig.chunk();
});

test('an instruction that is longer than the prompt loses its end, which is told', async () => {
  await rig.peer.publish('instruction', STRING, { data: `go to the ${'very '.repeat(60)}red block` });
  await rig.node.says(/PROMPT_SHORTENED: /, 4000);
  await rig.chunk();
});

test('bytes that are no message: the subscription lives', async () => {
  rig.peer.publish('instruction', STRING, {}, { raw: '00010000ffffff7f41' });
  await sleep(200);
  send('go to the green block');
  await inForce('go to the green block');
});

test('requests: each fault is answered with a rejection, and counted', async () => {
  const { peer } = rig;
  const wrong = {
    zero: { max_tokens: 0 },
    negative: { max_tokens: -3 },
    huge: { max_tokens: 2 ** 31 - 1 },
    cold: { temperature: -1 },
    nan: { temperature: 'nan' },
    'top-p': { top_p: 2 },
    long: { text: 'x'.repeat(1_000_000) },
    seed: { text: 'far too long a seed '.repeat(40) },
  };
  await rig.drops(
    'REQUEST_INVALID',
    () => Object.entries(wrong).forEach(([id, over]) => peer.request({ id, text: 'Scene: ', ...over })),
    Object.keys(wrong).length,
  );
  for (const id of Object.keys(wrong)) {
    const { msg } = await peer.waitForMessage('language/tokens', token => token.request_id === id);
    expect(msg).toMatchObject({ finish_reason: 'rejected', sequence_number: 0, token_id: -1 });
  }
  await rig.drops('REQUEST_UNKNOWN', () => peer.publish('cancel_request', STRING, { data: 'nobody' }));
  expect(rig.node.log).toMatch(/REQUEST_UNKNOWN: cancel_request: no unfinished request has the id 'nobody'/);
});

test('cancelled, superseded by a new instruction unless it asked to be kept, ended by a reset', async () => {
  const { peer, scene } = rig;
  const from = peer.events.length;
  // Hot sampling seldom meets the end token.
  const endless = (id: string, over: object = {}): void =>
    peer.request({ id, text: 'Scene: ', max_tokens: 512, temperature: 50, seed: 1, ...over });
  const token = (id: string, fits: (reason: string) => boolean): Promise<PeerEvent> =>
    peer.waitForMessage(
      'language/tokens',
      msg => msg.request_id === id && fits(msg.finish_reason),
      4000,
      from,
    );
  const talking = (id: string): Promise<PeerEvent> => token(id, () => true);
  const ended = async (id: string): Promise<string> =>
    (await token(id, reason => reason !== '')).msg.finish_reason;
  const open = (id: string): boolean => textsById(peer, from).get(id)!.at(-1)!.finish_reason === '';

  endless('a');
  await talking('a');
  peer.publish('cancel_request', STRING, { data: 'a' });
  expect(await ended('a')).toBe('cancelled');

  endless('b');
  endless('c', { keep_on_instruction: true });
  await Promise.all([talking('b'), talking('c')]);
  const { epoch } = await rig.chunk();
  send(scene.instruction); // the same text is no change
  await sleep(200);
  expect(open('b')).toBe(true);
  send('go to the green block');
  expect(await ended('b')).toBe('superseded');
  expect((await rig.chunk()).epoch).toBe(epoch + 1);
  expect(open('c')).toBe(true);

  expect(await peer.call('/oxygen/reset', 'std_srvs/srv/Trigger', {})).toMatchObject({ success: true });
  expect(await ended('c')).toBe('superseded');
  expect((await rig.chunk()).epoch).toBe(epoch + 2);
});

test('an empty id gets one, and the text is the golden one', async () => {
  const { peer, scene } = rig;
  await rig.recovers();
  const from = peer.events.length;
  peer.request({ id: '', text: 'Scene: ' });
  const done = (msg: PeerEvent['msg']): boolean =>
    /^request-\d+$/.test(msg.request_id) && msg.finish_reason === 'end';
  await peer.waitForMessage('language/tokens', done, 5000, from);
  await peer.waitForMessage('language/text', msg =>
    msg.data.startsWith(`Scene: ${scene.texts.get('Scene: ')!.text}`),
  );
});

test('a listener of tokens that sleeps sees gaps in the numbers; nobody else notices', async () => {
  const { peer } = rig;
  const slow = await Peer.bare('slow_peer');
  slow.send('subscribe', {
    topic: 'language/tokens',
    type: 'oxygen_vla/msg/LanguageToken',
    qos: { reliability: 'best_effort', depth: 1 },
    slow: 0.15,
  });
  const seen = (): number => slow.messages('language/tokens').length;
  await until('the slow one to hear', 5000, () => {
    peer.request({ id: `first-${Date.now()}`, text: 'Scene: ', max_tokens: 1 });
    return seen() > 0;
  });
  const from = peer.events.length;
  const felt = await rate(async () => {
    for (let n = 0; n < 3; n++) peer.request({ id: `talk-${n}`, text: 'Scene: ' });
    for (let n = 0; n < 3; n++)
      await peer.waitForMessage(
        'language/tokens',
        msg => msg.request_id === `talk-${n}` && msg.finish_reason === 'end',
      );
  });
  unharmed(felt);
  for (const [id, stream] of textsById(peer, from))
    if (id.startsWith('talk-'))
      expect(stream.map(token => token.sequence_number)).toEqual(stream.map((_, n) => n));
  const heard = () =>
    [...textsById(slow)].filter(([id]) => id.startsWith('talk-')).map(([, stream]) => stream);
  // All may be over before it wakes up.
  const streams = await until('the slow one to hear of it', 5000, () => heard().length > 0 && heard());
  expect(streams.some(stream => stream.at(-1)!.sequence_number + 1 > stream.length)).toBe(true);
  slow.kill();
});

test('a reliable listener of commands and tokens that stands still blocks nothing', async () => {
  const { peer } = rig;
  const stuck = await Peer.start();
  await stuck.waitForMessage('action', () => true);
  stuck.kill('SIGSTOP');
  const seen = await rate(async () => {
    peer.request({ id: 'past the stuck one', text: 'Scene: ' });
    await peer.waitForMessage(
      'language/tokens',
      ({ finish_reason }) => finish_reason === 'end',
      5000,
      peer.events.length,
    );
    await sleep(1500);
  });
  stuck.kill();
  measured(`a stuck listener: ${seen.hz.toFixed(2)} Hz, longest gap`, seen.gap);
  unharmed(seen);
});
