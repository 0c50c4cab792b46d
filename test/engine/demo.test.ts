/** The trained demo checkpoint against its own goldens (another framework): actions in robot units and every text. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SafetensorsFile } from '../../src/builder/safetensors';
import { lastValueFrom } from 'rxjs';
import { deploy } from '../../src/engine/deployment';
import { ModelSessions } from '../../src/engine/model-sessions';
import { PolicyIo } from '../../src/engine/policy-io';
import type { SchedulerEvent } from '../../src/core/scheduler-io';
import { engineDir, ROOT } from '../support/engines';

interface GoldenFrame {
  readonly index: number;
  readonly instruction: string;
  readonly prompt_ids: readonly number[];
  readonly texts: Readonly<
    Record<string, { readonly seed: string; readonly tokens: readonly number[]; readonly text: string }>
  >;
}
const folder = join(ROOT, 'test/data/demo');
const { frames } = JSON.parse(readFileSync(join(folder, 'goldens_demo.json'), 'utf8')) as {
  frames: GoldenFrame[];
};

// rad; in int8 a joint's target may move by a third of a degree, and a text part at a near tie
describe.each([
  ['demo', 1e-5, 60],
  ['demo-int8', 0.006, 57],
] as const)('%s', (engine, tolerance, equalTexts) => {
  let equal = 0;
  let sessions: ModelSessions;
  let io: PolicyIo;
  let golden: SafetensorsFile;
  beforeAll(async () => {
    sessions = await ModelSessions.load(engineDir(engine), 1);
    io = new PolicyIo(engineDir(engine), sessions.manifest);
    golden = new SafetensorsFile(join(folder, 'goldens_demo.safetensors'));
  });
  afterAll(async () => {
    golden.close();
    await sessions.release();
  });

  it.each(frames)('frame $index: $instruction', async f => {
    const tensor = (name: string) => `frame.${f.index}.${name}`;
    const requests = Object.entries(f.texts);
    const { scheduler } = deploy(sessions, {
    attention: 'bidirectional', denoiseSteps: sessions.manifest.model.denoiseSteps, seed: 0n, cameras: 1, maxRequests: requests.length,
    maxQueue: 8, maxTokens: 24, maxSeedTokens: 16, mode: 'oxygen', ageingMs: 0,
    tunables: { tokensPerFrame: { kind: 'fixed', steps: 24 }, replanRateHz: 0, executeMs: 0, standing: [] }, stopIds: [sessions.manifest.special.end],
  }); // prettier-ignore
    const frame = io.frame(
      {
        stampNs: 1n,
        epoch: 0,
        instruction: f.instruction,
        state: Float64Array.from(golden.readFloat32(tensor('state'))),
        cameras: ['base_0_rgb'],
        images: golden.readBytes(tensor('image.base_0_rgb')),
      },
      golden.readFloat32(tensor('noise')),
    );
    expect(frame.promptIds).toEqual(f.prompt_ids);

    const tokens = new Map<string, number[]>(requests.map(([name]) => [name, []]));
    let actions: Float64Array | null = null;
    let open = requests.length;
    scheduler.events$.subscribe((e: SchedulerEvent) => {
      if (e.type === 'chunk') actions = io.chunk(e.frame, e.actions).values;
      if (e.type === 'token') tokens.get(e.id)?.push(e.tokenId);
      if (e.type === 'done') {
        if (engine === 'demo') expect(e.reason).toBe('end');
        if (--open === 0) scheduler.close();
      }
    });
    const finished = lastValueFrom(scheduler.events$);
    scheduler.post({ type: 'frame', frame });
    for (const [name, { seed }] of requests) {
    const request = { id: name, seedIds: io.seedIds(seed, 16), maxTokens: 24, temperature: 0, topK: 0, topP: 1, samplingSeed: 0, priority: 0, deadlineMs: null, keepOnInstruction: true };
    scheduler.post({ type: 'request', request });
  } // prettier-ignore
    await finished;

    const want = golden.readFloat32(tensor('actions'));
    expect(Math.max(...want.map((v, i) => Math.abs(v - (actions?.[i] ?? NaN))))).toBeLessThan(tolerance);
    for (const [name, { tokens: ids, text }] of requests) {
      const got = tokens.get(name) ?? [];
      // the golden keeps the end token
      if (got.join() === ids.slice(0, -1).join() && io.tokenizer.decode(got) === text) equal++;
    }
  });

  it(`at least ${equalTexts} of the 60 texts are the golden ones`, () => {
    expect(equal).toBeGreaterThanOrEqual(equalTexts);
  });
});
