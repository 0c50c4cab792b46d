#!/usr/bin/env node
// Expected time of a frame on an NVIDIA GPU, from products, bytes and copies; an estimate, not a measurement.
import { readFileSync } from 'node:fs';
import { gpuOf, GPUS } from './frame-time/gpus.mjs';
import { MODELS } from './frame-time/models.mjs';
import { report } from './frame-time/report.mjs';
import { readCommandLine } from './setup/command-line.mjs';

const USAGE = `Usage: node scripts/frame-time.mjs [--gpu FILE.json]... [--model pi05|libero|bench]...

Prints the tables of docs/nvidia.md.

  --gpu FILE.json  another GPU: the fields of scripts/frame-time/gpus.mjs
  --model NAME     another model (pi05 and bench)
  --help           this text`;

const list = { type: 'string', multiple: true };
const { values } = readCommandLine(USAGE, { options: { gpu: list, model: list } });
try {
  const models = (values.model ?? ['pi05', 'bench']).map(name => {
    if (!Object.hasOwn(MODELS, name))
      throw new Error(`--model ${name}: one of ${Object.keys(MODELS).join(', ')}`);
    return MODELS[name];
  });
  const gpus = values.gpu?.map(file => gpuOf(JSON.parse(readFileSync(file, 'utf8')))) ?? GPUS;
  console.log(report(models, gpus));
} catch (error) {
  console.error(`frame-time: ${error.message}`);
  process.exit(2);
}
