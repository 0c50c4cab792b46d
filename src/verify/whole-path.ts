/** The way a robot uses the model: instruction, raw state and raw camera images in, robot-unit actions and text out. */
import { PolicyIo } from '../engine/policy-io';
import { resizeWithPad } from '../model/resize';
import type { Computed } from './cases';
import type { GoldenFolder } from './golden';
import type { Subject } from './subject';

interface WholePath {
  readonly num_steps: number;
  readonly cases: readonly {
    readonly case: string;
    readonly instruction: string;
    readonly state: readonly number[];
    readonly ids: readonly number[];
    readonly cameras_present: readonly string[];
    readonly prefix_tokens: number;
    readonly language: readonly {
      readonly seed: string;
      readonly seed_ids: readonly number[];
      readonly tokens: readonly number[];
      readonly text: string;
    }[];
  }[];
}

export interface TextCheck {
  readonly name: string;
  readonly golden: string;
  readonly computed: string;
  /** Written by the model. */
  readonly generated: boolean;
}

export async function checkWholePath(
  subject: Subject,
  engineDir: string,
  golden: GoldenFolder,
  computed: Computed,
): Promise<TextCheck[]> {
  const file = golden.json<WholePath>('whole_path.json');
  if (!file) return [];
  const io = new PolicyIo(engineDir, subject.manifest);
  const noise = golden.floats('whole_path.safetensors', 'noise');
  const { imageHeight, imageWidth } = subject.manifest.model.vision;
  const checks: TextCheck[] = [];
  for (const c of file.cases) {
    const check = (what: string, want: unknown, got: unknown, generated = false) =>
      checks.push({
        name: `whole_path.${c.case}.${what}`,
        golden: JSON.stringify(want),
        computed: JSON.stringify(got),
        generated,
      });
    // What the goldens were made with, whatever the engine's own profile is.
    const images = c.cameras_present.map(slot =>
      resizeWithPad(rawImage(golden, slot), imageWidth, imageHeight, 'pillow'),
    );
    const frame = io.frame(
      {
        stampNs: 0n,
        epoch: 0,
        instruction: c.instruction,
        state: Float64Array.from(c.state),
        cameras: c.cameras_present,
        images: Buffer.concat(images),
      },
      noise,
    );
    check('ids', c.ids, frame.promptIds);
    const prefix = await subject.prefix(frame, false);
    check('prefix_tokens', c.prefix_tokens, prefix.length);
    const chunk = await prefix.actions(noise, file.num_steps);
    if (chunk) {
      computed.set(`whole.${c.case}.actions`, chunk.actions);
      computed.set(`whole.${c.case}.actions_unnormalized`, io.chunk(frame, chunk.actions).values);
    }
    for (const l of c.language) {
      const seedIds = io.seedIds(l.seed, Infinity);
      const { tokens } = await prefix.text(seedIds, l.tokens.length);
      const label = JSON.stringify(l.seed);
      check(`seed_ids ${label}`, l.seed_ids, seedIds);
      check(`tokens ${label}`, l.tokens, tokens, true);
      check(`text ${label}`, l.text, io.tokenizer.decode(tokens), true);
    }
  }
  return checks;
}

function rawImage(golden: GoldenFolder, slot: string): { width: number; height: number; data: Uint8Array } {
  const [height = 0, width = 0] = golden.shape('images.safetensors', `raw.${slot}`);
  return { width, height, data: golden.bytes('images.safetensors', `raw.${slot}`) };
}
