/** What the program is made of can run no text as code, opens no sockets, and starts processes in known places only. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as ts from 'typescript';
import { ROOT } from '../support/engines';

const SRC = join(ROOT, 'src');

interface Finding {
  readonly file: string;
  readonly what: string;
}

/** Modules that run text as code, open sockets or start processes. */
const WATCHED = /^(node:)?(vm|http|https|http2|net|tls|dgram|inspector|cluster|module|child_process)$/;
const GLOBALS = ['eval', 'Function', 'fetch', 'WebSocket', 'EventSource'];

function findingsOf(file: string, text: string): Finding[] {
  const found: Finding[] = [];
  const add = (what: string): number => found.push({ file, what });
  const isText = (node: ts.Node | undefined): boolean => node !== undefined && ts.isStringLiteral(node);
  const module = (node: ts.Node | undefined): void => {
    if (node && ts.isStringLiteral(node) && WATCHED.test(node.text)) add(node.text.replace('node:', ''));
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) module(node.moduleSpecifier);
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const { expression: callee, arguments: given } = node;
      if (ts.isIdentifier(callee) && GLOBALS.includes(callee.text)) add(callee.text);
      const loads = callee.kind === ts.SyntaxKind.ImportKeyword || /\brequire$/.test(callee.getText());
      if (loads && !isText(given?.[0])) add('load by a name that is no literal');
      if (loads) module(given?.[0]);
      if (/\b(dlopen|_load|binding)$/.test(callee.getText())) add(callee.getText());
    }
    if (ts.isPropertyAssignment(node) && node.name.getText() === 'shell') add('shell');
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  return found;
}

test('the search finds what it looks for', () => {
  const text = `
    import { exec } from 'child_process'; import net from 'node:net';
    eval(x); new Function('a')(); import(name); require(name); require('node:vm'); process.dlopen(a, b);
    spawn('a', { shell: true }); fetch(url); a.require(b);
    import('./fine.js'); require('fine'); // eval(comment)
    const text = 'eval(1)';`;
  const load = 'load by a name that is no literal';
  expect(findingsOf('f', text).map(({ what }) => what)).toEqual(
    ['child_process', 'net', 'eval', 'Function', load, load, 'vm', 'process.dlopen', 'shell', 'fetch', load], // prettier-ignore
  );
});

test('src/ has it only where it is known why', () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'));
  expect(files.length).toBeGreaterThan(100);
  const found = files.flatMap(name => findingsOf(name, readFileSync(join(SRC, name), 'utf8')));
  const known: readonly Finding[] = [
    { file: 'engine/client.ts', what: 'child_process' }, // the engine process
    { file: 'bench/process.ts', what: 'child_process' }, // engine processes of the bench
    { file: 'doctor/ros-check.ts', what: 'child_process' }, // loads rclnodejs apart, as that may abort
    { file: 'cli/tensorrt.ts', what: 'child_process' }, // build.sh of the engine that was just written
    { file: 'machine/machine.ts', what: 'child_process' }, // asks nvidia-smi and trtexec who they are
    { file: 'ros/rcl.ts', what: 'child_process' }, // keeps rclnodejs from compiling itself
    { file: 'ros/rcl.ts', what: 'process.dlopen' }, // only for the reason why rclnodejs does not load
  ];
  const shown = ({ file, what }: Finding): string => `${file}: ${what}`;
  expect(found.map(shown).sort()).toEqual(known.map(shown).sort());
});

test('set-up runs no install scripts of packages, and what is installed is locked', () => {
  expect(readFileSync(join(ROOT, '.npmrc'), 'utf8')).toMatch(/^ignore-scripts=true$/m);
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { integrity?: string; link?: boolean }>;
  };
  const unlocked = Object.entries(lock.packages).filter(([name, { integrity }]) => name !== '' && !integrity);
  expect(unlocked).toEqual([]);
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  for (const version of Object.values({ ...dependencies, ...devDependencies }))
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  const setUp = readFileSync(join(ROOT, 'scripts/setup/npm-dependencies.mjs'), 'utf8');
  expect(setUp).toMatch(/'ci'.*'--ignore-scripts'/);
});
