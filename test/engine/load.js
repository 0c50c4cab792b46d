// A process that drives the compiled engine as fast as it goes: node load.js DIST ENGINE SETTINGS; prints one JSON object.
// SETTINGS: {"mode", "k", "frames", "lengths", "every", "windows", "pairs"}. One camera; a request with a seed of its own on every
// `every`th frame.
const [dist, engine, settings] = process.argv.slice(2);
const { createHash } = require('node:crypto');
const { join } = require('node:path');
const { ModelSessions } = require(join(dist, 'engine/model-sessions'));
const { deploy } = require(join(dist, 'engine/deployment'));
const { Frames } = require(join(dist, 'bench/workload'));
const { fold } = require(join(dist, 'core/noise'));

const { mode, k, frames, lengths, every, windows, pairs } = JSON.parse(settings);
/** Frames of a block of a pair, and those after which a new run has as many texts open as an old one. */
const BLOCK = 25;
const WARM_UP = 50;

/** One scheduler and its cache. It stands still, language too, from the frame that it asks for in vain to the next `advance`. */
class Run {
  texts = {};
  ends = {};
  chunks = createHash('sha256');
  failures = [];
  batch = 0;
  #open = 0;
  #until = 0;
  #onAsk = () => {};
  #onIdle = () => {};

  constructor(sessions, source, first) {
    const { attention } = sessions.manifest;
    this.next = first;
    this.source = source;
    const { cache, scheduler } = deploy(sessions, {
      attention, denoiseSteps: 1, seed: 5n, cameras: 1, maxRequests: 48, maxQueue: 100,
      maxTokens: Math.max(...lengths), maxSeedTokens: 3, mode, executeMs: 0, ageingMs: 0, stopIds: [],
      tunables: { tokensPerFrame: { kind: 'fixed', steps: k }, replanRateHz: 0, standing: [] },
    }); // prettier-ignore
    this.cache = cache;
    this.scheduler = scheduler;
    this.failed = new Promise((_, reject) =>
      scheduler.events$.subscribe({ next: e => this.#on(e), error: reject }),
    );
  }

  /** `n` further frames, until the one after them is asked for. */
  async advance(n) {
    const asked = new Promise(resolve => (this.#onAsk = resolve));
    const began = this.#until > 0;
    this.#until = this.next + n;
    if (began) this.#give();
    else this.scheduler.post({ type: 'epoch', epoch: 0, endAll: false });
    await Promise.race([asked, this.failed]);
  }

  /** Lets the open texts end. */
  async end() {
    const idle = new Promise(resolve => (this.#onIdle = resolve));
    this.scheduler.post({ type: 'no-frame' });
    if (this.#open > 0) await Promise.race([idle, this.failed]);
    this.scheduler.close();
    const { texts, batch, failures } = this;
    const endedOnce = Object.values(this.ends).every(times => times === 1);
    return {
      texts, chunks: this.chunks.digest('hex'), batch, endedOnce, leaked: this.cache.snapshot().rows.length, failures,
    }; // prettier-ignore
  }

  #on(e) {
    if (e.type === 'ask') this.next === this.#until ? this.#onAsk() : this.#give();
    if (e.type === 'chunk')
      this.chunks.update(Buffer.from(e.actions.buffer, e.actions.byteOffset, e.actions.byteLength));
    if (e.type === 'token') (this.texts[e.id] ??= []).push(e.tokenId);
    if (e.type === 'frame-end') this.batch = Math.max(this.batch, e.batch);
    if (e.type === 'drop' || e.type === 'language-off') this.failures.push(e.error.message);
    if (e.type === 'done') {
      this.ends[e.id] = (this.ends[e.id] ?? 0) + 1;
      if (e.reason !== 'length') this.failures.push(`${e.id}: ${e.reason}`);
      this.#open -= 1;
      if (this.#open === 0) this.#onIdle();
    }
  }

  #give() {
    const id = this.next++;
    // The request goes first: one that comes after its frame has begun belongs to the next.
    if (id % every === 0) this.#request(id);
    const whole = this.source.at(id);
    const cameras = whole.cameras.slice(0, 1);
    const images = whole.images.subarray(0, whole.images.length / whole.cameras.length);
    this.scheduler.post({ type: 'frame', frame: { ...whole, cameras, images } });
  }

  #request(id) {
    const draw = fold(77, id);
    const seedIds = Array.from({ length: draw % 4 }, (_, i) => 3 + (fold(draw, i) % 100));
    this.#open += 1;
    this.scheduler.post({ type: 'request', request: {
      id: String(id), seedIds, maxTokens: lengths[fold(78, id) % lengths.length], temperature: 0, topK: 0, topP: 1,
      samplingSeed: 0, priority: 0, deadlineMs: null, keepOnInstruction: true,
    } }); // prettier-ignore
  }
}

/** CPU time in ms of what is awaited. */
async function cpuMs(work) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/**
 * CPU time of the old run over that of a new one, for the same frames, by turns: what a shared machine does to one it does to
 * the other, but for the block or two that the median leaves out.
 */
async function agedOverNew(sessions, source, old) {
  const young = new Run(sessions, source, old.next - WARM_UP);
  await young.advance(WARM_UP);
  const ratios = [];
  for (let pair = 0; pair < pairs; pair++) {
    const runs = pair % 2 ? [old, young] : [young, old];
    const spent = new Map();
    for (const run of runs) spent.set(run, await cpuMs(() => run.advance(BLOCK)));
    ratios.push(spent.get(old) / spent.get(young));
  }
  await young.end();
  return ratios.sort((a, b) => a - b);
}

async function main() {
  const sessions = await ModelSessions.load(engine, 1);
  const source = new Frames(sessions.manifest.model, 5);
  const run = new Run(sessions, source, 0);
  const rssMb = [];
  for (let window = 0; window < windows; window++) {
    for (let left = frames / windows; left > 0; left -= 20) {
      await run.advance(Math.min(20, left));
      // Garbage that waits for the collector would look like growth: how much there is depends on the machine's load.
      global.gc();
    }
    rssMb.push(process.memoryUsage().rss / 2 ** 20);
  }
  const ratios = await agedOverNew(sessions, source, run);
  const outcome = await run.end();
  await sessions.release();
  console.log(JSON.stringify({ ...outcome, rssMb, ratios }));
}

main();
