import type { FromEngine } from '../../src/engine/protocol';
import type { EngineInfo } from '../../src/engine/protocol';
import { StatusBoard } from '../../src/ros/status';
import type { StatusMessage } from '../../src/ros/status';

type Done = Extract<FromEngine, { type: 'done' }>;

const done = (over: Partial<Done> = {}): Done => ({
  type: 'done',
  id: 'a',
  sequence: 1,
  reason: 'end',
  text: '',
  frameStampNs: 0n,
  error: null,
  firstTokenMs: 10,
  totalMs: 100,
  ...over,
});

const GATE = {
  mode: 'active',
  reason: '',
  enabled: true,
  dryRun: false,
  speedScale: 1,
  observationAgeMs: 40,
} as const;

const message = (board: StatusBoard, nowMs: number): StatusMessage => {
  board.updateRates(nowMs);
  return board.message({
    nowNs: 0n,
    lifecycle: 'active',
    engineUp: true,
    gate: GATE,
    mode: 'shared',
    instruction: '',
    drops: [],
    engineRestarts: 0,
    lastError: '',
  });
};

test('times to the first and the last token: means of the last period, of requests that ran to their end', () => {
  const board = new StatusBoard(0);
  board.finished(done());
  board.finished(done({ reason: 'length', firstTokenMs: 30, totalMs: 300 }));
  board.finished(done({ firstTokenMs: null, totalMs: 50 }));
  for (const reason of ['failed', 'cancelled', 'rejected', 'superseded'] as const) {
    board.finished(done({ reason, firstTokenMs: 1e6, totalMs: 1e6 }));
  }
  expect(message(board, 1000)).toMatchObject({ first_token_ms: 20, request_ms: 150, requests_finished: 7n });
  board.finished(done({ firstTokenMs: 40, totalMs: 80 }));
  // Too soon for a new period.
  expect(message(board, 1100)).toMatchObject({ first_token_ms: 20, request_ms: 150 });
  expect(message(board, 2000)).toMatchObject({ first_token_ms: 40, request_ms: 80 });
  expect(message(board, 3000)).toMatchObject({ first_token_ms: 0, request_ms: 0, requests_finished: 8n });
});

test('the mode, the steps of the newest frame, and whether language is on', () => {
  const board = new StatusBoard(0);
  expect(message(board, 1)).toMatchObject({ mode: 'shared', language: 'on', tokens_per_frame: 0 });
  const stats = {
    observationStampNs: 1n,
    batch: 2,
    queued: 0,
    decodeSteps: 7,
    rowSteps: 9,
    tokens: 9,
    stageMs: {},
    cacheUse: 0,
  };
  board.stats(stats);
  board.language('off');
  expect(message(board, 2)).toMatchObject({ language: 'off', tokens_per_frame: 7 });
  board.language('on');
  expect(message(board, 3).language).toBe('on');
  board.language('off');
  board.engineUp({} as EngineInfo);
  expect(message(board, 4).language).toBe('on');
});
