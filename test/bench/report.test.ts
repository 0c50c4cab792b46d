/** The bench report: well-formed, complete, and readable whatever was measured. */
import fc from 'fast-check';
import sharp from 'sharp';
import { renderReport } from '../../src/bench/report';
import { BENCH_MODES, type BenchResult, type ModeFigures } from '../../src/bench/result';
import { covered, FAULTS, outside, svgs, textOf } from '../report/drawn';
import { elements, parse, words, type Element } from '../report/markup';
import { anyResult } from './report-random';
import { sample } from './report-sample';

const SECTIONS = ['speed-up', 'ablation', 'load', 'latency', 'memory', 'frame', 'arrivals', 'denoise', 'roofline', 'equality', 'figures', 'settings']; // prettier-ignore

const sectionsOf = (page: Element): (string | undefined)[] =>
  elements(page)
    .filter(e => e.tag === 'section')
    .map(e => e.attributes['id']);
const read = (result: BenchResult): Element => parse(renderReport(result));

describe('a full result', () => {
  const html = renderReport(sample());
  const page = parse(html);

  test('has every section, with charts', () => {
    expect(sectionsOf(page)).toEqual(SECTIONS);
    expect(svgs(page).length).toBe(17);
    expect(textOf(page)).not.toContain('Not measured');
  });

  test('needs nothing else', () => {
    expect(html).not.toMatch(/https?:|url\(|@import|<script|<link| src=| href=/);
    expect(html.length).toBeLessThan(200_000);
  });

  test('has one language, one title, a viewport, and charts that say what they show', () => {
    expect(page.attributes['lang']).toBe('en');
    expect(
      elements(page).filter(e => e.tag === 'title' && words(e)[0] === 'oxygen bench: bench'),
    ).toHaveLength(1);
    expect(elements(page).some(e => e.attributes['name'] === 'viewport')).toBe(true);
    for (const svg of svgs(page)) expect(svg.attributes['aria-label']).toMatch(/\d/);
    expect(elements(page).filter(e => e.tag === 'h1')).toHaveLength(1);
  });

  test('names all figures of all modes', () => {
    const cells = new Set(elements(page).filter(e => e.tag === 'td').flatMap(words)); // prettier-ignore
    const shown = [...cells].join(' ').replace(/\u202f/g, '');
    const check = (value: unknown, name: string): void => {
      if (typeof value === 'number') {
        const forms = [value.toPrecision(3), String(value), value.toFixed(0), value.toPrecision(2), `${(value * 100).toFixed(1)}\u00a0%`];
        expect([name, forms.some(f => shown.includes(f))]).toEqual([name, true]);
      } else if (typeof value === 'string') expect(shown).toContain(value.slice(0, 10));
      else for (const [key, inner] of Object.entries(value ?? {})) check(inner, `${name}.${key}`);
    };
    const { modes, parts_ms, settings, machine, engine, threads } = sample();
    check({ modes, parts_ms, settings, machine, engine, threads }, 'result');
  }); // prettier-ignore

  test('says first how much faster it is, in words', () => {
    const [title] = elements(page).filter(e => e.tag === 'h1');
    expect(words(title as Element)[0]).toBe(
      'Actions and language from one model, 2.05× as fast as one after the other',
    );
  });

  test('draws the spread of the repeats', () => {
    const whiskers = elements(page).filter(e => e.attributes['class'] === 'whisker');
    expect(whiskers).toHaveLength(BENCH_MODES.length);
  });

  test('is drawn within the charts, and no two labels of a chart cover each other', () => {
    expect(outside(page)).toEqual([]);
    expect(covered(page)).toEqual([]);
  });

  test('has charts that another reader of XML takes', async () => {
    const charts = html.match(/<svg.*?<\/svg>/gs) ?? [];
    for (const chart of charts) {
      const source = Buffer.from(chart.replace('<svg', '<svg xmlns="http://www.w3.org/2000/svg"'));
      expect((await sharp(source).metadata()).width).toBe(400);
    }
  });

  test('is the same every time', () => {
    expect(renderReport(sample())).toBe(html);
  });
});

describe('a part of a result', () => {
  test('without a sweep says so, and keeps the rest', () => {
    const page = read({ ...sample(), sweep: [] });
    expect(sectionsOf(page)).toEqual(
      SECTIONS.filter(s => !['speed-up', 'load', 'arrivals', 'denoise'].includes(s)),
    );
    expect(textOf(page)).toContain(
      'Not measured in this run: speed-up against N and k, action rate under language load, uneven language load, denoise steps.',
    );
  });

  test.each(BENCH_MODES)('with %s alone compares with nothing', mode => {
    const full = sample();
    const page = read({ ...full, modes: { [mode]: full.modes[mode] }, sweep: full.sweep.filter(p => p.mode === mode) }); // prettier-ignore
    expect(sectionsOf(page)).not.toContain('speed-up');
    expect(sectionsOf(page)).toContain('ablation');
    expect(textOf(page)).not.toContain('against isolated');
    expect(textOf(page)).not.toMatch(FAULTS);
  });

  test('without modes still says what the machine can do', () => {
    const page = read({ ...sample(), modes: {}, sweep: [] });
    expect(sectionsOf(page)).toEqual(['roofline', 'figures', 'settings']);
  });

  test('without memory and energy has a dash', () => {
    const full = sample();
    const { isolated, oxygen } = full.modes;
    const none = { memory: null, peak_pss_mb: null, energy_j_per_request: null };
    const page = read({
      ...full,
      modes: { isolated: { ...(isolated as ModeFigures), ...none }, oxygen: { ...(oxygen as ModeFigures), ...none } },
    });
    expect(sectionsOf(page)).not.toContain('memory');
    const row = elements(page).find(e => e.tag === 'tr' && words(e)[0] === 'energy per request');
    expect(words(row as Element)).toEqual(['energy per request', '–', '–']);
  }); // prettier-ignore

  test('tells of texts and chunks that differ', () => {
    const full = sample();
    const oxygen = { ...(full.modes.oxygen as ModeFigures), differing: 3, chunk_hash: 'other' };
    const text = textOf(read({ ...full, modes: { ...full.modes, oxygen } }));
    expect(text).toContain('3 texts differ between modes.');
    expect(text).toContain('Chunks are not equal bit by bit');
    expect(textOf(read(full))).toContain('All chunks are equal, bit by bit.');
  });

  test('calls a slow oxygen slow', () => {
    const full = sample();
    const oxygen = { ...(full.modes.oxygen as ModeFigures), frame_ms_median: 1130 };
    expect(textOf(read({ ...full, modes: { ...full.modes, oxygen } }))).toContain('0.50× the speed of one after the other');
  }); // prettier-ignore
});

test('names from files stay text', () => {
  const name = `<script>alert("x")</script>&'\u0000<img src=x onerror=y>`;
  const full = sample();
  const page = read({
    ...full,
    engine: { ...full.engine, name },
    machine: { ...full.machine, cpu: name },
    settings: { ...full.settings, arrivals: name },
    notes: [name],
  });
  expect(elements(page).some(e => ['script', 'img'].includes(e.tag))).toBe(false);
  expect(words(page)).toContain(name.replace('\u0000', '\ufffd'));
});

test('any result makes a well-formed page of numbers, drawn within its charts', () => {
  fc.assert(
    fc.property(anyResult, r => {
      const page = read(r);
      expect(textOf(page).replaceAll(/\u0000/g, '')).not.toMatch(FAULTS);
      expect(outside(page)).toEqual([]);
    }),
    { numRuns: 60 },
  );
});

test('the reader of these tests refuses what is not well-formed', () => {
  for (const bad of [
    '<p>',
    '<p></b>',
    '<p>a & b</p>',
    '<p x=1></p>',
    '<p a="1" a="2"></p>',
    '<p>a < b</p>',
  ]) {
    expect(() => parse(bad)).toThrow();
  }
});
