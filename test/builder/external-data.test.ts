/** Case O-18: graphs keep their weights in files beside them, under bare names, and say which one is missing or cut. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildEngine } from '../../src/builder/build';
import { openCheckpoint } from '../../src/builder/checkpoint';
import { readManifest } from '../../src/model/manifest';
import { ROOT } from '../support/engines';
import { toyFolder, toyTensors } from './toy';

let dir: string;
let engine: string;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'oxygen-external-'));
  engine = join(dir, 'engine');
  const checkpoint = openCheckpoint(toyFolder(join(dir, 'checkpoint'), toyTensors()));
  await buildEngine(checkpoint, {
    out: engine,
    precision: 'fp32',
    tokenizer: null,
    stats: { missing: [] },
  });
  checkpoint.close();
});
afterEach(() => rmSync(dir, { recursive: true }));

const weightFiles = (): string[] => readdirSync(engine).filter(f => f.endsWith('.weights'));

it('no weights are inside the graphs, and every place is a bare file name in the folder', () => {
  const script = `
import onnx, sys, json
out = []
for path in sys.argv[1:]:
    for t in onnx.load(path, load_external_data=False).graph.initializer:
        place = {e.key: e.value for e in t.external_data}
        out.append([t.name, 0 if place else t.ByteSize(), place.get("location")])
print(json.dumps(out))`;
  const graphs = readdirSync(engine).filter(f => f.endsWith('.onnx'));
  const python = process.env['OXYGEN_PYTHON'] ?? join(ROOT, '.venv/bin/python');
  const answer = execFileSync(python, ['-c', script, ...graphs.map(g => join(engine, g))], {
    encoding: 'utf8',
  });
  const initializers = JSON.parse(answer) as [name: string, bytesInside: number, location: string | null][];
  const outside = initializers.filter(([, , location]) => location !== null);
  expect(outside.length).toBeGreaterThan(40);
  expect(new Set(outside.map(([, , location]) => location))).toEqual(new Set(weightFiles()));
  for (const [name, bytes, location] of initializers)
    if (location === null && bytes > 1024) throw new Error(`${name} holds ${bytes} bytes inside the graph`);
});

/** Opens the three graphs in another working directory, as ros2 launch would. */
function openElsewhere(): string {
  const script = `
    const { InferenceSession } = require(${JSON.stringify(require.resolve('onnxruntime-node'))});
    const open = ${JSON.stringify(readdirSync(engine).filter(f => f.endsWith('.onnx')))}.map(f =>
      InferenceSession.create(require('path').join(${JSON.stringify(engine)}, f)));
    Promise.all(open).then(s => console.log(s.length + ' opened'), e => console.log(String(e)));`;
  return execFileSync(process.execPath, ['-e', script], { encoding: 'utf8', cwd: '/' });
}

it('the graphs open from any directory', () => expect(openElsewhere()).toContain('3 opened'));

it.each([0, 1, 2])(
  'weight file %d: gone, it is named with its folder; cut, with wanted and actual size',
  k => {
    const file = weightFiles()[k]!;
    const wanted = statSync(join(engine, file)).size;
    truncateSync(join(engine, file), 1000);
    expect(() => readManifest(engine)).toThrow(
      expect.objectContaining({
        code: 'ENGINE_INVALID',
        message: expect.stringContaining(`${file} has 1000 bytes, ${wanted} were written`) as string,
      }),
    );
    rmSync(join(engine, file));
    expect(() => readManifest(engine)).toThrow(
      expect.objectContaining({
        code: 'ENGINE_INVALID',
        message: expect.stringMatching(new RegExp(`${engine}: ${file} is missing`)) as string,
      }),
    );
  },
);
