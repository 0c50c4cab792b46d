/** `oxygen check-config` on damaged files. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { configCheck } from '../../src/doctor/config-file';
import { readManifest } from '../../src/model/manifest';
import { engineDir, ROOT } from '../support/engines';
import { faultsIn, findingsOf } from './findings';

const ROBOTS = join(ROOT, 'config/robots');
const robots = readdirSync(ROBOTS).map(name => readFileSync(join(ROBOTS, name), 'utf8'));
const parameters = readFileSync(join(ROOT, 'config/oxygen.yaml'), 'utf8');

const dir = mkdtempSync(join(tmpdir(), 'oxygen-fuzz-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** One change to a text: [kind, place 0..1, what goes in]. */
const mutation = fc.tuple(
  fc.constantFrom('insert', 'delete', 'repeat', 'replace', 'indent'),
  fc.double({ min: 0, max: 1, noNaN: true }),
  fc.oneof(
    fc.constantFrom('[', ']', '{', '}', ': ', '- ', '? ', '&a ', '*a', '!!map ', '"', "'", '|', '>', '#', '%', '@', '`', '\n', '\t', '---\n', '~', '<<: ', '0x', '1e999', '.nan', '\u0000', '\ufeff', '\u2028', '💥'),
    fc.string({ unit: 'binary', maxLength: 12 }),
  ),
); // prettier-ignore

function mutate(text: string, [kind, place, what]: readonly [string, number, string]): string {
  const at = Math.floor(place * text.length);
  const end = Math.min(text.length, at + 1 + ((at * 7) % 40));
  switch (kind) {
    case 'insert':
      return text.slice(0, at) + what + text.slice(at);
    case 'delete':
      return text.slice(0, at) + text.slice(end);
    case 'repeat':
      return text.slice(0, end) + text.slice(at, end).repeat(3) + text.slice(end);
    case 'replace':
      return text.slice(0, at) + what + text.slice(end);
    default:
      return text.slice(0, at) + text.slice(at).replaceAll('\n', '\n  ');
  }
}

test('300 damaged robot and parameter files: always findings, never a crash or a hang', async () => {
  const manifest = readManifest(engineDir('tiny'));
  const path = join(dir, 'f.yaml');
  let faulty = 0;
  const property = fc.asyncProperty(
    fc.oneof(fc.constantFrom(...robots), fc.constant(parameters)),
    fc.array(mutation, { minLength: 1, maxLength: 6 }),
    async (source, mutations) => {
      const start = performance.now();
      writeFileSync(path, mutations.reduce(mutate, source));
      const findings = await findingsOf(configCheck(path, { manifest, node: 'oxygen' }));
      expect(findings.length).toBeGreaterThan(0);
      for (const { status, what, cure } of findings) {
        expect(what).not.toMatch(/INTERNAL|\[object/);
        expect(status === 'ok' || cure !== '').toBe(true);
      }
      if (faultsIn(findings).length > 0) faulty++;
      expect(performance.now() - start).toBeLessThan(3000);
    },
  );
  await fc.assert(property, { numRuns: 300, seed: 4 });
  expect(faulty).toBeGreaterThan(100);
});
