/** Results never hit what is read, or each other, whatever way a path takes. */
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { refuseOverlaps } from '../src/overlaps';

let folder: string;
const at = (name: string): string => join(folder, name);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oxygen-overlaps-'));
  mkdirSync(at('rec/deep'), { recursive: true });
  mkdirSync(at('elsewhere'));
  for (const file of [
    'rec/rec_0.mcap',
    'rec/metadata.yaml',
    'rec/deep/rec_1.mcap',
    'in.mcap',
    'elsewhere/far.mcap',
  ])
    writeFileSync(at(file), file);
  symlinkSync(at('elsewhere/far.mcap'), at('rec/rec_2.mcap'));
  symlinkSync(at('rec'), at('link'));
  symlinkSync(at('in.mcap'), at('link.mcap'));
  linkSync(at('in.mcap'), at('hard.mcap'));
  linkSync(at('rec/rec_0.mcap'), at('hard_0.mcap'));
  linkSync(at('rec/deep/rec_1.mcap'), at('hard_1.mcap'));
  mkdirSync(at('old'));
  linkSync(at('rec/rec_0.mcap'), at('old/result.mcap'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const FOLDER = () => ({ path: at('rec'), files: ['rec_0.mcap', 'deep/rec_1.mcap', 'rec_2.mcap'] });
const FILE = () => ({ path: at('in.mcap'), files: ['in.mcap'] });

test.each([
  ['the bag', FOLDER, 'rec'],
  ['the bag, through a link', FOLDER, 'link'],
  ['the bag, written in another way', FOLDER, 'elsewhere/../rec/'],
  ['a folder around it', FOLDER, '.'],
  ['a file of it', FOLDER, 'rec/rec_0.mcap'],
  ['something new in it', FOLDER, 'rec/new.html'],
  ['something new in it, through a link', FOLDER, 'link/new.html'],
  ['another name of a file of it', FOLDER, 'hard_0.mcap'],
  ['another name of a file deep in it', FOLDER, 'hard_1.mcap'],
  ['what a link in it leads to', FOLDER, 'elsewhere/far.mcap'],
  ['a folder around that', FOLDER, 'elsewhere'],
  ['an old result with a file of it', FOLDER, 'old'],
  ['the bag, a file', FILE, 'in.mcap'],
  ['the bag, a file, through a link', FILE, 'link.mcap'],
  ['the bag, a file, by its other name', FILE, 'hard.mcap'],
  ['a folder around a file', FILE, '.'],
])('%s is no place for a result', (_, bag, name) => {
  const path = name === '.' ? folder : `${folder}/${name}`;
  for (const option of ['out', 'report', 'frame-log']) {
    const refused = expect.objectContaining({
      code: 'USAGE',
      message: `--${option} ${path} is, holds or lies in ${bag().path}, which is only read; choose another place`,
    }) as Error;
    expect(() => refuseOverlaps(bag(), [{ option, path }])).toThrow(refused);
    expect(() => refuseOverlaps(bag(), [{ option, path: relative('.', path) }])).toThrow('is only read');
  }
});

test('places beside the bag are free, also beside a file of a bag folder', () => {
  const places = ['new', 'rec.html', 'recording', 'elsewhere/new.mcap'].map((name, i) => ({
    option: `o${i}`,
    path: at(name),
  }));
  refuseOverlaps(FOLDER(), places);
  refuseOverlaps(FILE(), places);
  const one = { path: at('rec/rec_0.mcap'), files: ['rec_0.mcap'] };
  refuseOverlaps(one, [{ option: 'report', path: at('rec/new.html') }]);
});

test.each([
  ['the same new file', 'a', 'a'],
  ['the same new file, through a link', 'elsewhere/a', 'shortcut/a'],
  ['two names of a file', 'a.html', 'b.html'],
  ['one in the other', 'results', 'results/a.html'],
])('two results in one place: %s', (_, first, second) => {
  symlinkSync(at('elsewhere'), at('shortcut'));
  mkdirSync(at('results'));
  writeFileSync(at('a.html'), '');
  linkSync(at('a.html'), at('b.html'));
  const wanted = [
    { option: 'out', path: at(first) },
    { option: 'report', path: at(second) },
  ];
  for (const results of [wanted, [...wanted].reverse()])
    expect(() => refuseOverlaps(FILE(), results)).toThrow('are one place; choose another for one of them');
});
