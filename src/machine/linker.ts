/** Where the dynamic linker would find a library, by reading what it reads. */
import { join } from 'node:path';
import type { Machine } from './machine';

const TRIPLETS: Readonly<Record<string, string>> = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };
/** How `ldconfig -p` marks the libraries of each processor. */
const MARKS: Readonly<Record<string, string>> = { x64: 'x86-64', arm64: 'AArch64' };

/** Name → path, in the linker's order: LD_LIBRARY_PATH, the cache of ldconfig, the system's own folders. */
export type Finder = (name: string) => string | null;

export function finder(machine: Machine): Finder {
  const { arch, env, exists } = machine;
  const paths = (env['LD_LIBRARY_PATH'] ?? '').split(/[:;]/).filter(path => path !== '');
  const cached = cache(machine);
  const triplet = TRIPLETS[arch] ?? '';
  const system = [`/lib/${triplet}`, `/usr/lib/${triplet}`, '/lib64', '/usr/lib64', '/lib', '/usr/lib'];
  return name => {
    const within = (folders: readonly string[]): string | undefined =>
      folders.map(folder => join(folder, name)).find(exists);
    return within(paths) ?? cached.get(name) ?? within(system) ?? null;
  };
}

/** Lines such as `libcudart.so.13 (libc6,x86-64) => /usr/local/cuda/lib64/libcudart.so.13`. */
function cache({ arch, run }: Machine): ReadonlyMap<string, string> {
  const answers = ['/sbin/ldconfig', 'ldconfig'].map(command => () => run(command, ['-p']));
  for (const ask of answers) {
    const answer = ask();
    if ('output' in answer) return cachedLibraries(answer.output, MARKS[arch] ?? '');
  }
  return new Map();
}

function cachedLibraries(text: string, mark: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, name, kind, path] = /^\s*(\S+) \(([^)]*)\) => (.+)$/.exec(line) ?? [];
    if (name === undefined || path === undefined || !kind?.includes(mark)) continue;
    if (!found.has(name)) found.set(name, path);
  }
  return found;
}
