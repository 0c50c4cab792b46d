import { spawnSync } from 'node:child_process';
import { evaluate, ROOT } from './support';

const run = (script: string, body: string): unknown =>
  evaluate(`
    import { startChild } from './demo/children.mjs';
    const child = startChild('it', 'sh', ['-c', ${JSON.stringify(script)}], { env: process.env });
    import { readFileSync } from 'node:fs';
    const alive = pid => {
      try { return !readFileSync('/proc/' + pid + '/stat', 'utf8').includes(') Z '); } catch { return false; }
    };
    console.log(JSON.stringify(await (async () => { ${body} })()));
  `);

test('exit code 0 is no reason, any other one is', () => {
  expect(run('echo hello; echo there >&2', `return [await child.ended, child.tail().sort()];`)).toEqual([
    '',
    ['hello', 'there'],
  ]);
  expect(run('exit 3', `return child.ended;`)).toBe('ended with exit code 3');
  expect(run('kill -9 $$', `return child.ended;`)).toBe('ended with SIGKILL');
});

test('a process that dies takes what it has started along', () => {
  expect(run('sleep 600 & exit 3', `return child.ended;`)).toBe('ended with exit code 3');
});

test('stop asks politely first, and is done at once when the process has ended', () => {
  const polite = `trap 'exit 0' INT; echo up; while :; do sleep 0.05; done`;
  expect(
    run(
      polite,
      `while (!child.tail().length) await new Promise(r => setTimeout(r, 20)); return child.stop();`,
    ),
  ).toBe('');
  expect(run('exit 3', `await child.ended; return child.stop();`)).toBe('ended with exit code 3');
});

test('a process that ignores every request is killed together with its children', () => {
  const deaf = `trap '' INT TERM; sleep 600 & echo $!; wait; sleep 600`;
  const [reason, left] = run(
    deaf,
    `while (!child.tail().length) await new Promise(r => setTimeout(r, 20));
     const grandchild = Number(child.tail()[0]);
     const reason = await child.stop([['SIGINT', 100], ['SIGTERM', 100], ['SIGKILL', 1000]]);
     await new Promise(r => setTimeout(r, 200));
     return [reason, alive(grandchild)];`,
  ) as [string, boolean];
  expect(reason).toBe('ended with SIGKILL');
  expect(left).toBe(false);
});

test.each([['--seconds', '0'], ['--seconds', 'x'], ['--seed', '-1'], ['--nonsense'], ['stray']])(
  'a wrong command line (%s %s) ends with code 2 and the usage',
  (...args) => {
    const { status, stderr, stdout } = spawnSync('node', ['demo/run.mjs', ...args], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    expect(status).toBe(2);
    expect(stderr).toContain('Usage: npm start');
    expect(stdout).toBe('');
  },
);
