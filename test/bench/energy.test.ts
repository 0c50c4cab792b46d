import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readEnergy, spentJoules } from '../../src/bench/energy';

let root: string;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'oxygen-energy-'))));
afterEach(() => rmSync(root, { recursive: true }));

function zone(name: string, microjoules: number | null): void {
  mkdirSync(join(root, name), { recursive: true });
  writeFileSync(join(root, name, 'max_energy_range_uj'), '1000000\n');
  if (microjoules !== null) writeFileSync(join(root, name, 'energy_uj'), `${microjoules}\n`);
}

it('adds up processors, not their parts, and follows a counter over its end', () => {
  zone('intel-rapl:0', 900_000);
  zone('intel-rapl:1', 100_000);
  zone('intel-rapl:0:0', 5);
  const before = readEnergy(root);
  zone('intel-rapl:0', 200_000);
  zone('intel-rapl:1', 150_000);
  zone('intel-rapl:0:0', 999_999);
  expect(spentJoules(before, readEnergy(root))).toBeCloseTo(0.35, 9);
});

it('says nothing when there is no counter, none that may be read, or one has gone', () => {
  expect(readEnergy(root)).toBeNull();
  expect(readEnergy(join(root, 'none'))).toBeNull();
  zone('intel-rapl:0', null);
  expect(readEnergy(root)).toBeNull();
  zone('intel-rapl:0', 1);
  expect(spentJoules(readEnergy(root), [])).toBeNull();
  expect(spentJoules(null, readEnergy(root))).toBeNull();
});
