/** Results that would hit what is read, or each other: found by what a path leads to, not by how it is written. */
import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Bag } from './bag/types';
import { OxygenError } from './core/errors';

/** A result by its option, such as `out`. */
export interface Wanted {
  readonly option: string;
  readonly path: string;
}

interface Place {
  /** Without links. */
  readonly path: string;
  /** Device and number of the file; null: there is none yet. The same for hard links. */
  readonly node: string | null;
  /** Those of the folders in which it lies. */
  readonly folders: readonly string[];
}

/** `bag`: what is read; null: none. Folders of `results` exist. @throws OxygenError USAGE */
export function refuseOverlaps(bag: Pick<Bag, 'path' | 'files'> | null, results: readonly Wanted[]): void {
  // A bag may have its files in a folder of its folder.
  const read = bag === null ? [] : [...placesOf(bag.path), ...filesOf(bag.path, bag.files)];
  const places = results.map(({ path }) => placesOf(path));
  results.forEach(({ option, path }, i) => {
    if (meets(places[i]!, read)) {
      throw new OxygenError(
        'USAGE',
        `--${option} ${path} is, holds or lies in ${bag!.path}, which is only read; choose another place`,
      );
    }
    const other = results.find((_, j) => j < i && meets(places[i]!, places[j]!));
    if (other !== undefined) {
      throw new OxygenError(
        'USAGE',
        `--${other.option} ${other.path} and --${option} ${path} are one place; choose another for one of them`,
      );
    }
  });
}

const meets = (some: readonly Place[], others: readonly Place[]): boolean =>
  some.some(a => others.some(b => isIn(a, b) || isIn(b, a)));

const isIn = (a: Place, b: Place): boolean =>
  a.path === b.path || (b.node !== null && (a.node === b.node || a.folders.includes(b.node)));

/** Of a path and, if it is a folder, of the files in it, which may be links to elsewhere. */
function placesOf(path: string): readonly Place[] {
  return [placeOf(path), ...(isA(path, 'isDirectory') ? filesOf(path, entriesOf(path)) : [])];
}

const filesOf = (folder: string, names: readonly string[]): readonly Place[] =>
  names
    .map(name => join(folder, name))
    .filter(file => isA(file, 'isFile'))
    .map(placeOf);

const isA = (path: string, what: 'isDirectory' | 'isFile'): boolean =>
  existsSync(path) && statSync(path)[what]();

/** A folder that may not be read is refused when a result is to get its name. */
function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function placeOf(path: string): Place {
  const folder = realpathSync(dirname(resolve(path)));
  const there = existsSync(path);
  const real = there ? realpathSync(path) : join(folder, basename(resolve(path)));
  return { path: real, node: there ? nodeOf(real) : null, folders: foldersOf(real).map(nodeOf) };
}

function foldersOf(path: string): readonly string[] {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...foldersOf(folder)];
}

function nodeOf(path: string): string {
  const { dev, ino } = statSync(path, { bigint: true });
  return `${dev}:${ino}`;
}
