/** The full-size check of scripts/scale.mjs, on the golden model's size. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { goldenDir, ROOT } from '../support/engines';

interface Scale {
  readonly passed: boolean;
  readonly build_random_init: { readonly peak_mb: number };
  readonly layers: Readonly<Record<string, number>>;
}

it.each([
  ['fp32', 1e-5],
  ['int8', 0.04],
] as const)('a bfloat16 checkpoint is written, built in %s and run; its outer layers agree with numpy', async (precision, limit) => {
  const dir = mkdtempSync(join(tmpdir(), 'oxygen-scale-test-'));
  writeFileSync(join(dir, 'thesis.tex'), '');
  try {
    const args = ['--config', join(goldenDir('tiny'), 'config.json'), '--dir', dir, '--precision', precision];
    const stdout = await new Promise<string>((resolve, reject) => {
      execFile(process.execPath, [join(ROOT, 'scripts/scale.mjs'), ...args], (error, out, err) =>
        error ? reject(new Error(`${out}${err}`)) : resolve(out),
      );
    });
    const { passed, layers, build_random_init } = JSON.parse(stdout) as Scale;
    expect(passed).toBe(true);
    expect(Object.keys(layers).sort()).toEqual(['first_layer', 'k.0', 'k.2', 'last_layer', 'v.0', 'v.2']);
    for (const error of Object.values(layers)) expect(error).toBeLessThan(limit);
    expect(build_random_init.peak_mb).toBeGreaterThan(30);
    expect(readdirSync(dir)).toEqual(['thesis.tex']);
  } finally {
    rmSync(dir, { recursive: true });
  }
}); // prettier-ignore
