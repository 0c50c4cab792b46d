import { execFileSync } from 'node:child_process';
import path from 'node:path';

/** Calls a function of scripts/setup/ in a Node process of its own, since jest cannot load ES modules. */
export const callSetup = (module: string, name: string, ...args: readonly unknown[]): unknown => {
  const url = path.resolve(__dirname, '../../scripts/setup', `${module}.mjs`);
  const code = `
    import { readFileSync } from 'node:fs';
    import { ${name} } from ${JSON.stringify(url)};
    const result = ${name}(...JSON.parse(readFileSync(0, 'utf8')));
    console.log(JSON.stringify({ result }));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
    input: JSON.stringify(args),
  });
  return (JSON.parse(output) as { result?: unknown }).result;
};
