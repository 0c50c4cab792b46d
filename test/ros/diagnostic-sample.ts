/** A node at work with one camera and nothing wrong. */
import type { DiagnosticSnapshot } from '../../src/ros/diagnostic-snapshot';
import type { InputHealth } from '../../src/ros/input-health';

export const camera: InputHealth = {
  name: 'base_0_rgb',
  topic: 'camera/base_0_rgb/image_raw',
  word: 'OK',
  blocking: false,
  message: 'OK',
  rateHz: 29.9876,
  ageMs: 12,
  offsetMs: 3.25,
  received: 300,
  refused: 1,
  replaced: 2,
};
export const snapshot: DiagnosticSnapshot = {
  node: '/left/oxygen',
  robot: 'demo_arm',
  lifecycle: { state: 'active', transitionError: '' },
  engine: {
    up: true,
    provider: 'cpu',
    providerNotes: [],
    precision: 'fp32',
    restarts: 0,
    lastError: '',
    givingUp: false,
    replanHz: 8,
    stageMs: [['prefill', 41.5]],
  },
  inputs: [camera],
  gate: { mode: 'active', reason: '', enabled: true, speedScale: 1, dryRun: false, observationAgeMs: 80 },
  action: {
    targetHz: 70,
    hz: 70.01,
    stdMs: 0.2,
    ticks: 700,
    missed: 0,
    tickP99Ms: 0.6,
    tickMaxMs: 2,
    delayP99Ms: 0.4,
    delayMaxMs: 3,
  },
  language: { on: true, batch: 3, queued: 0, tokensPerS: 120, firstTokenMs: 60, requestMs: 400 },
  cache: { use: 0.5, bytes: 1024 },
  drops: [['IMAGE_CORRUPT', 7n]],
  lastError: '',
  graph: [],
  callbackExceptions: 0,
};
