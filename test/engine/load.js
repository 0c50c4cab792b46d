// A process that drives the compiled engine as fast as it goes: node load.js DIST ENGINE '{"mode", "k", "frames", "lengths", "every", "windows"}'.
// One camera; a request with a seed of its own on every `every`th frame; prints one JSON object.
const [dist, engine, settings] = process.argv.slice(2);
const { createHash } = require('node:crypto');
const { join } = require('node:path');
const { ModelSessions } = require(join(dist, 'engine/model-sessions'));
const { deploy } = require(join(dist, 'engine/deployment'));
const { Frames } = require(join(dist, 'bench/workload'));
const { fold } = require(join(dist, 'core/noise'));

const { mode, k, frames, lengths, every, windows } = JSON.parse(settings);

/** What two runs of the same frames must have in common, and what one run cost in each of its windows. */
async function main() {
  const sessions = await ModelSessions.load(engine, 1);
  const { model } = sessions.manifest;
  const source = new Frames(model, 5);
  const { cache, scheduler } = deploy(sessions, {
    attention: sessions.manifest.attention, denoiseSteps: 1, seed: 5n, cameras: 1, maxRequests: 48, maxQueue: 100,
    maxTokens: Math.max(...lengths), maxSeedTokens: 3, mode, executeMs: 0, ageingMs: 0, stopIds: [],
    tunables: { tokensPerFrame: { kind: 'fixed', steps: k }, replanRateHz: 0, standing: [] },
  }); // prettier-ignore
  const texts = {};
  const ends = {};
  const chunks = createHash('sha256');
  const costs = [];
  const failures = [];
  let next = 0;
  let batch = 0;
  let open = 0;
  let before = process.cpuUsage();
  const onAsk = () => {
    // Garbage that waits for the collector would look like growth: how much there is depends on the machine's load.
    if (next % 20 === 0) global.gc();
    if (next > 0 && next % Math.ceil(frames / windows) === 0) {
      const { user, system } = process.cpuUsage(before);
      costs.push({ cpuMs: (user + system) / 1000, rssMb: process.memoryUsage().rss / 2 ** 20 });
      before = process.cpuUsage();
    }
    if (next === frames) {
      scheduler.post({ type: 'no-frame' });
      if (open === 0) scheduler.close();
      return;
    }
    const id = next++;
    const whole = source.at(id);
    const cameras = whole.cameras.slice(0, 1);
    const images = whole.images.subarray(0, whole.images.length / whole.cameras.length);
    scheduler.post({ type: 'frame', frame: { ...whole, cameras, images } });
    if (id % every !== 0) return;
    const draw = fold(77, id);
    const seedIds = Array.from({ length: draw % 4 }, (_, i) => 3 + (fold(draw, i) % 100));
    open += 1;
    scheduler.post({ type: 'request', request: {
      id: String(id), seedIds, maxTokens: lengths[fold(78, id) % lengths.length], temperature: 0, topK: 0, topP: 1,
      samplingSeed: 0, priority: 0, deadlineMs: null, keepOnInstruction: true,
    } }); // prettier-ignore
  };
  await new Promise((complete, error) => {
    scheduler.events$.subscribe({
      complete,
      error,
      next: e => {
        if (e.type === 'ask') onAsk();
        if (e.type === 'chunk') chunks.update(Buffer.from(e.actions.buffer, e.actions.byteOffset, e.actions.byteLength));
        if (e.type === 'token') (texts[e.id] ??= []).push(e.tokenId);
        if (e.type === 'frame-end') batch = Math.max(batch, e.batch);
        if (e.type === 'drop' || e.type === 'language-off') failures.push(e.error.message);
        if (e.type === 'done') {
          ends[e.id] = (ends[e.id] ?? 0) + 1;
          if (e.reason !== 'length') failures.push(`${e.id}: ${e.reason}`);
          open -= 1;
          if (next === frames && open === 0) scheduler.close();
        }
      },
    }); // prettier-ignore
    scheduler.post({ type: 'epoch', epoch: 0, endAll: false });
  });
  const endedOnce = Object.values(ends).every(n => n === 1);
  const leaked = cache.snapshot().rows.length;
  await sessions.release();
  console.log(
    JSON.stringify({ texts, chunks: chunks.digest('hex'), batch, endedOnce, leaked, failures, costs }),
  );
}

main();
