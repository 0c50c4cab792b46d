/** The golden schedule of joining requests through the real scheduler: cross-frame batches must equal solo runs. */
import { lastValueFrom, tap, toArray } from 'rxjs';
import { KvCache } from '../core/kv-cache';
import { greedyRequest } from '../core/requests';
import { RunCosts } from '../core/run-costs';
import { Scheduler } from '../core/scheduler';
import type { SchedulerEvent } from '../core/scheduler-io';
import type { Tunables } from '../core/types';
import { goldenFrame, type Computed } from './cases';
import { longestPrefix } from '../model/config';
import type { GoldenFolder } from './golden';
import { SPARE_POSITIONS, type Subject } from './subject';

interface GoldenBatch {
  readonly steps_per_frame: number;
  readonly max_decoding_steps: number;
  /** Frame → prompts that join. */
  readonly schedule: Readonly<Record<string, readonly number[]>>;
  readonly jax: GoldenRun;
  readonly eos?: { readonly eos_token: number; readonly jax: GoldenRun };
}
type GoldenRun = readonly {
  readonly batch: readonly {
    readonly request_id: string;
    readonly prompt: number;
    readonly tokens_full: readonly number[];
  }[];
}[];

/** One comparison of a token list. */
export interface TokenCheck {
  readonly name: string;
  readonly golden: readonly number[];
  readonly computed: readonly number[];
  /** Against the golden text; else against the engine's own, decoded alone. */
  readonly ofGoldens: boolean;
}

interface Join {
  readonly prompt: number;
  readonly id: string | null;
  /** Decode steps before the next frame. */
  readonly k: number;
}

export async function checkBatched(
  subject: Subject,
  golden: GoldenFolder,
  computed: Computed,
): Promise<TokenCheck[]> {
  const file = golden.json<GoldenBatch>('batched_decode.json');
  if (!file) return [];
  const checks: TokenCheck[] = [];
  const runs: [string, GoldenRun, number[]][] = [['', file.jax, []]];
  if (file.eos) runs.push(['eos.', file.eos.jax, [file.eos.eos_token]]);
  for (const [label, run, stopIds] of runs) {
    const joins = joinsOf(file);
    const batched = await generate(subject, golden, joins, file.max_decoding_steps, stopIds, computed);
    for (const { request_id: id, prompt, tokens_full: full } of lastOfEach(run)) {
      const stop = stopIds.length > 0 ? full.indexOf(stopIds[0] as number) : -1;
      const tokens = batched.get(id) ?? [];
      checks.push({
        name: `batched_decode.${label}${id}`,
        golden: stop < 0 ? full : full.slice(0, stop),
        computed: tokens,
        ofGoldens: true,
      });
      const solo = await generate(
        subject,
        golden,
        [{ prompt, id, k: file.steps_per_frame }],
        file.max_decoding_steps,
        stopIds,
        null,
      );
      checks.push({
        name: `batched_decode.${label}${id} alone`,
        golden: solo.get(id) ?? [],
        computed: tokens,
        ofGoldens: false,
      });
    }
  }
  return checks;
}

/** One frame per join: a frame has one prompt here, so of several joins in one golden frame each gets a frame of its own. */
function joinsOf(file: GoldenBatch): Join[] {
  let id = 0;
  return Object.entries(file.schedule).flatMap(([, prompts]): Join[] => {
    const k = file.steps_per_frame;
    if (prompts.length === 0) return [{ prompt: 0, id: null, k }];
    return prompts.map((prompt, i) => ({ prompt, id: `req_${id++}`, k: i === prompts.length - 1 ? k : 1 }));
  });
}

const lastOfEach = (run: GoldenRun) => [
  ...new Map(run.flatMap(f => f.batch.map(r => [r.request_id, r] as const))).values(),
];

async function generate(
  subject: Subject,
  golden: GoldenFolder,
  joins: readonly Join[],
  maxTokens: number,
  stopIds: readonly number[],
  actions: Computed | null,
): Promise<Map<string, number[]>> {
  const { model } = subject.manifest;
  const maxPrefixLength = longestPrefix(model);
  const costs = new RunCosts(null);
  const options = { attention: 'causal', denoiseSteps: model.denoiseSteps, seed: 0n } as const;
  const executor = subject.executor(options, costs);
  const { layers, headDim } = model.language;
  const capacity = maxPrefixLength + SPARE_POSITIONS;
  const cache = new KvCache({ layers, headDim, maxRequests: joins.length, capacity });
  const scheduler = new Scheduler(executor, cache, performance, costs, {
    mode: 'oxygen',
    tunables: tunables(1),
    maxQueue: joins.length,
    maxPrefixLength,
    stopIds,
    ageingMs: 0,
  });
  const noise = golden.floats('goldens_jax.safetensors', 'noise');
  const rest = [...joins];
  let open = joins.filter(j => j.id !== null).length;
  const onAsk = () => {
    const join = rest.shift();
    if (!join) return scheduler.post({ type: 'no-frame' });
    const frame = goldenFrame(subject, golden, 'full', join.prompt);
    scheduler.post({ type: 'tunables', tunables: tunables(join.k) });
    scheduler.post({
      type: 'frame',
      frame: { ...frame, id: joins.indexOf(join), stampNs: 0n, epoch: 0, noise },
    });
    if (join.id !== null) scheduler.post({ type: 'request', request: greedyRequest(join.id, maxTokens) });
  };
  const onEvent = (e: SchedulerEvent) => {
    if (e.type === 'ask') onAsk();
    const id = e.type === 'chunk' ? joins[e.frame.id]?.id : null;
    if (e.type === 'chunk' && id) actions?.set(`batched.${id.replace('req_', '')}.actions`, e.actions);
    if (e.type === 'done' && --open === 0) scheduler.close();
    if (e.type === 'drop') throw e.error;
  };
  const events = lastValueFrom(scheduler.events$.pipe(tap(onEvent), toArray()));
  scheduler.post({ type: 'tunables', tunables: tunables(1) });
  const tokens = new Map<string, number[]>();
  for (const e of await events) {
    if (e.type === 'token') tokens.set(e.id, [...(tokens.get(e.id) ?? []), e.tokenId]);
  }
  return tokens;
}

const tunables = (steps: number): Tunables => ({
  tokensPerFrame: { kind: 'fixed', steps },
  replanRateHz: 0,
  executeMs: 0,
  standing: [],
});
