/** The frame log beside an engine: whole lines, or a reason. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Observation } from '../../src/core/types';
import { FRAME_LOG, FrameLog } from '../../src/engine/frame-log';

const folder = mkdtempSync(join(tmpdir(), 'oxygen-frame-log-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const frame = {
  stampNs: 5n,
  instruction: 'go',
  cameras: ['base'],
  state: Float32Array.of(1, 2),
  images: new Uint8Array(3),
} as unknown as Observation;

test('a line per frame, behind what is there, as its kind is told', () => {
  const path = join(folder, 'a.jsonl');
  for (let i = 0; i < 2; i++) {
    const log = new FrameLog(path);
    log.write(frame);
    log.close();
  }
  const text = readFileSync(path, 'utf8');
  expect(text.startsWith(FRAME_LOG.toString())).toBe(true);
  const [first, second] = text.trim().split('\n');
  expect(first).toBe(second);
  expect(JSON.parse(first!)).toMatchObject({
    stamp: '5',
    instruction: 'go',
    cameras: ['base'],
    state: [1, 2],
  });
});

test('a full disk is no bug: the reason says which file, and that a frame is missing', () => {
  const log = new FrameLog('/dev/full');
  const missing = { code: 'RESULT_NOT_WRITTEN', message: expect.stringMatching(/\/dev\/full: a frame is missing \(ENOSPC/) }; // prettier-ignore
  expect(() => log.write(frame)).toThrow(expect.objectContaining(missing));
  log.close();
});
