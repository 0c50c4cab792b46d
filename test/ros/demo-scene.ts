/** A golden frame of the demo checkpoint as a robot that stands still: picture, joints, and what the model says. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSafetensors } from '../support/safetensors';
import type { Peer } from './harness';
import { ROOT } from './harness';

export const JOINTS = ['yaw', 'shoulder', 'elbow', 'wrist'];
export const IMAGE_SIZE = [84, 84] as const;

export interface Scene {
  readonly instruction: string;
  readonly state: readonly number[];
  /** Raw RGB bytes. */
  readonly imageFile: string;
  /** Greedy token ids by seed, end token excluded. */
  readonly texts: ReadonlyMap<string, { readonly tokens: readonly number[]; readonly text: string }>;
}

interface Frame {
  readonly instruction: string;
  readonly state: number[];
  readonly texts: Record<string, { seed: string; tokens: number[]; text: string }>;
}

const DATA = join(ROOT, 'test/data/demo');
const END = 1;

/** `folder` takes the image file. */
export function demoScene(folder: string, index = 0): Scene {
  const { frames } = JSON.parse(readFileSync(join(DATA, 'goldens_demo.json'), 'utf8')) as { frames: Frame[] };
  const frame = frames[index]!;
  const image = readSafetensors(join(DATA, 'goldens_demo.safetensors')).get(
    `frame.${index}.image.base_0_rgb`,
  )!;
  const imageFile = join(folder, `scene-${index}.rgb`);
  writeFileSync(imageFile, Uint8Array.from(image.data as Uint8Array));
  const texts = Object.values(frame.texts).map(
    ({ seed, tokens, text }) => [seed, { tokens: tokens.filter(token => token !== END), text }] as const,
  );
  return { instruction: frame.instruction, state: frame.state, imageFile, texts: new Map(texts) };
}

/** Streams the scene: camera at 30 Hz, joints at 50 Hz, and the instruction. */
export function show(peer: Peer, scene: Scene): void {
  peer.joints(JOINTS, scene.state, 50);
  peer.image('base_0_rgb', scene.imageFile, IMAGE_SIZE, 30);
  peer.instruction(scene.instruction);
}

/** Messages on language/tokens by request id. */
export function textsById(peer: Peer, from = 0): Map<string, PeerToken[]> {
  const byId = new Map<string, PeerToken[]>();
  for (const { msg } of peer.messages('language/tokens', from)) {
    const token = msg as PeerToken;
    byId.set(token.request_id, [...(byId.get(token.request_id) ?? []), token]);
  }
  return byId;
}

export interface PeerToken {
  readonly request_id: string;
  readonly sequence_number: number;
  readonly token_id: number;
  readonly text_delta: string;
  readonly finish_reason: string;
}
