/** The replay report: well-formed, complete, and readable whatever was replayed. */
import fc from 'fast-check';
import sharp from 'sharp';
import { ERROR_CODES } from '../../src/core/errors';
import { renderReplayReport } from '../../src/replay/report';
import type { ReplayResult, ReplaySeries, ReplaySummary } from '../../src/replay/result';
import { covered, FAULTS, outside, svgs, textOf } from '../report/drawn';
import { elements, parse, words, type Element } from '../report/markup';
import { anyResult } from './report-random';
import { sample } from './report-sample';

const SECTIONS = ['actions', 'texts', 'cameras', 'rates', 'latency', 'drops', 'settings'];

let full: ReplayResult;
let html: string;
let page: Element;

beforeAll(async () => {
  full = await sample();
  html = renderReplayReport(full);
  page = parse(html);
});

const read = (result: ReplayResult): Element => parse(renderReplayReport(result));
const changed = (summary: Partial<ReplaySummary>, series: Partial<ReplaySeries> = {}): ReplayResult => ({
  summary: { ...full.summary, ...summary },
  series: { ...full.series, ...series },
});
const of = (tag: string, where: Element = page): Element[] => elements(where).filter(e => e.tag === tag);
const byId = (id: string, where: Element = page): Element =>
  elements(where).find(e => e.attributes['id'] === id) ?? { tag: 'none', attributes: {}, children: [] };
const byClass = (name: string, where: Element = page): Element[] =>
  elements(where).filter(e => (e.attributes['class'] ?? '').split(' ').includes(name));
const row = (where: Element, head: string): string[] =>
  of('tr', where).map(words).find(cells => cells[0] === head) ?? []; // prettier-ignore

describe('a full result', () => {
  test('has every section, most important first', () => {
    expect(of('section').map(e => e.attributes['id'])).toEqual(SECTIONS);
  });

  test('needs nothing else: no network, no script', () => {
    const sources = of('img').map(e => e.attributes['src'] ?? '');
    expect(sources).toHaveLength(16);
    for (const source of sources) expect(source).toMatch(/^data:image\/jpeg;base64,[\w+/]+=*$/);
    expect(html.replace(/ src="data:[^"]*"/g, '')).not.toMatch(/https?:|url\(|@import|<script|<link| src=| href=/);
    expect(html.length).toBeLessThan(500_000);
  }); // prettier-ignore

  test('has one language, one title, a viewport, and charts and pictures that say what they show', () => {
    expect(page.attributes['lang']).toBe('en');
    expect(words(of('title')[0] as Element)).toEqual(['oxygen replay: reach.mcap']);
    expect(elements(page).some(e => e.attributes['name'] === 'viewport')).toBe(true);
    expect(of('h1')).toHaveLength(1);
    for (const svg of svgs(page)) {
      if (svg.attributes['aria-hidden'] === undefined) expect(svg.attributes['aria-label']).toMatch(/\d/);
    }
    for (const img of of('img')) expect(img.attributes['alt']).toMatch(/base_0_rgb at \d/);
  });

  test('says first how far the actions are from the recording, in words', () => {
    expect(textOf(of('h1')[0] as Element)).toBe(
      'reach.mcap, replayed: actions differ from the recorded ones by 1.4\u00a0% of a joint’s range on average',
    );
    expect(textOf(byId('actions'))).toContain('open loop');
  });

  test('names every figure and every setting of the summary', () => {
    const shown = textOf(page).replace(/\u202f/g, '');
    const check = (value: unknown, name: string): void => {
      if (typeof value === 'number') {
        const forms = [value.toPrecision(3), String(value), value.toFixed(0), `${(value * 100).toFixed(0)}\u00a0%`];
        expect([name, forms.some(f => shown.includes(f))]).toEqual([name, true]);
      } else if (typeof value === 'string') expect(shown).toContain(value);
      else for (const [key, inner] of Object.entries(value ?? {})) check(inner, `${name}.${key}`);
    };
    check(full.summary, 'summary');
  }); // prettier-ignore

  test('lists every text and every instruction, with times and reasons', () => {
    const rows = of('tr', byId('texts')).map(tr =>
      words(tr)
        .filter(w => w !== ' ')
        .join('|'),
    );
    const at = (seconds: number) => `${seconds.toFixed(2)}\u00a0s`;
    for (const t of full.series.texts) {
      const to = t.to_s === null ? 'open' : at(t.to_s);
      const said = [t.seed, t.text].filter(s => s !== '');
      expect(rows).toContain(
        [at(t.from_s), to, ...said, t.id, t.reason ?? 'open', String(t.tokens)].join('|'),
      );
    }
    for (const { t, text } of full.series.instructions) expect(rows).toContain(`${at(t)}|${text}`);
  });

  test('draws one bar per text, in one lane per standing request, with a mark for each end', () => {
    const timeline = byClass('timeline')[0] as Element;
    expect(byClass('bar', timeline)).toHaveLength(full.series.texts.length);
    const ended = full.series.texts.filter(t => t.reason !== null);
    expect(byClass('mark', timeline)).toHaveLength(ended.length);
    expect(byClass('series', timeline).flatMap(words)).toEqual(['instruction', 'subtask', 'scene', 'requests']);
    const tops = (id: string) =>
      new Set(
        of('g', timeline)
          .filter(g => g.children.some(c => typeof c !== 'string' && c.tag === 'title' && textOf(c).includes(id)))
          .flatMap(g => of('rect', g).map(r => r.attributes['y'])),
      );
    expect(tops(' subtask/').size).toBe(1);
    expect(tops(' question-').size).toBe(2);
  }); // prettier-ignore

  test('breaks the recorded curve where nobody commanded, the replayed one not', () => {
    const [yaw] = svgs(byId('actions')) as [Element];
    const curves = (name: string) => byClass(name, yaw).flatMap(g => of('polyline', g));
    expect(curves('c-recorded')).toHaveLength(2);
    expect(curves('c-replayed')).toHaveLength(1);
    expect(curves('c-difference')).toHaveLength(2);
  });

  test('shows limits where they are in view, and only there', () => {
    const notes = of('figure', byId('actions')).map(f => byClass('note', f).flatMap(words));
    expect(notes[0]).toEqual(['replayed − recorded']);
    expect(notes[2]).toEqual(['max 0', 'min −2.75', 'replayed − recorded']);
  });

  test('explains every drop', () => {
    for (const [code, n] of Object.entries(full.summary.drops)) {
      expect(row(byId('drops'), code)).toEqual([
        code,
        String(n),
        ERROR_CODES[code as keyof typeof ERROR_CODES],
      ]);
    }
  });

  test('tells how to do it again, without a path of this machine', () => {
    expect(textOf(of('pre')[0] as Element)).toBe(
      'oxygen replay BAG --engine DIR --robot FILE \\\n  --tokens-per-frame 5 --seed 8601 --threads 1 \\\n  --report report.html',
    );
  });

  test('is drawn within the charts, and no two labels of a chart cover each other', () => {
    expect(outside(page)).toEqual([]);
    expect(covered(page)).toEqual([]);
  });

  test('has charts that another reader of XML takes', async () => {
    for (const chart of html.match(/<svg.*?<\/svg>/gs) ?? []) {
      const source = Buffer.from(chart.replace('<svg', '<svg xmlns="http://www.w3.org/2000/svg"'));
      expect((await sharp(source).metadata()).width).toBeGreaterThan(0);
    }
  });

  test('is the same every time', async () => {
    expect(renderReplayReport(await sample())).toBe(html);
  });
});

describe('colours', () => {
  const palette = (dark: boolean): Map<string, string> => {
    const [light = '', night = ''] = html.match(/:root \{ color-scheme: light dark;[^}]*\}|prefers-color-scheme: dark\) \{ :root \{[^}]*\}/g) ?? [];
    return new Map([...(dark ? night : light).matchAll(/--([\w-]+): (#[\da-f]{6})/g)].map(m => [m[1] ?? '', m[2] ?? '']));
  }; // prettier-ignore
  const light = (hex: string): number => {
    const parts = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255);
    const linear = parts.map(v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * (linear[0] ?? 0) + 0.7152 * (linear[1] ?? 0) + 0.0722 * (linear[2] ?? 0);
  };
  const contrast = (a: string, b: string): number => {
    const [low = 0, high = 0] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  /** Text on bars is dark on both papers. */
  const ON_BAR = '#14181d';

  test.each([false, true])('text can be read and marks can be seen (dark: %s)', dark => {
    const colours = palette(dark);
    const of = (name: string): string => colours.get(name) ?? 'missing';
    const text = ['ink', 'soft', 'oxygen', 'alarm'].flatMap(t =>
      ['paper', 'wash'].map(b => [t, of(t), of(b)]),
    );
    const heats = [0, 1, 2, 3, 4].map(i => [`heat ${i}`, of('ink'), of(`heat-${i}`)]);
    const bars = ['end', 'length', 'deadline', 'cancelled', 'superseded', 'fault'].map(b => [
      b,
      ON_BAR,
      of(b),
    ]);
    for (const [name = '', a = '', b = ''] of [...text, ...heats, ...bars]) {
      expect([name, contrast(a, b) >= 4.5]).toEqual([name, true]);
    }
    const drawn = ['oxygen', 'recorded', 'end', 'length', 'cancelled', 'fault'];
    for (const name of drawn) expect([name, contrast(of(name), of('paper')) >= 2.8]).toEqual([name, true]);
  });

  test('both papers define the same roles, and all that is used is defined', () => {
    expect([...palette(true).keys()]).toEqual([...palette(false).keys()]);
    const own = new Set([...palette(false).keys(), 'c', 'h']);
    const used = [...html.matchAll(/var\(--([\w-]+)\)/g)].map(m => m[1] ?? '');
    expect(used.filter(name => !own.has(name))).toEqual([]);
  });
});

describe('parts of a result', () => {
  test('damage is told loudly, with every fault', () => {
    const faults = Array.from({ length: 20 }, (_, i) => ({
      code: 'BAG_DAMAGED',
      message: `chunk ${i} is cut`,
    }));
    const damaged = read(changed({ partial: true, faults }));
    expect(textOf(of('h1', damaged)[0] as Element)).toMatch(/^Part of reach\.mcap/);
    const alarm = byClass('alarm', damaged)[0] as Element;
    expect(textOf(alarm)).toContain('Partial result: the bag is damaged.');
    for (const { message } of faults) expect(textOf(alarm)).toContain(message);
    expect(byClass('banner')).toEqual([]);
    expect(byClass('alarm', read(changed({ faults })))).toEqual([]);
    expect(byClass('banner', read(changed({ faults })))).toHaveLength(1);
  });

  test('without recorded actions it says what was looked for and how to name them', () => {
    const alone = read(
      changed(
        { comparison: null },
        { actions: full.series.actions.map(a => ({ ...a, recorded: a.t.map(() => null) })) },
      ),
    );
    const text = textOf(byId('actions', alone));
    expect(text).toContain('--action-topic TOPIC');
    expect(text).toContain('std_msgs/msg/Float64MultiArray, trajectory_msgs/msg/JointTrajectory, sensor_msgs/msg/JointState');
    expect(text).not.toMatch(/MAE|recorded ones|open loop/);
    expect(textOf(of('h1', alone)[0] as Element)).toBe('reach.mcap, replayed: 1\u202f238 action chunks and 74 texts from 1\u202f239 frames');
    expect(byClass('c-recorded', alone).flatMap(e => of('polyline', e))).toEqual([]);
  }); // prettier-ignore

  test('recorded actions that never met a replayed one have dashes, not zeros', () => {
    const joints = (full.summary.comparison?.joints ?? []).map(j => ({
      ...j,
      mae: null,
      rmse: null,
      max: null,
      count: 0,
    }));
    const comparison = {
      ...(full.summary.comparison as NonNullable<ReplaySummary['comparison']>),
      joints,
      horizon: [],
    };
    const page = read(changed({ comparison }));
    expect(row(byId('actions', page), 'yaw')).toEqual(['yaw', 'position', '–', '–', '–', '–', '0']);
    expect(textOf(byId('actions', page))).toContain('No replayed command had a recorded one beside it.');
    expect(textOf(byId('actions', page))).not.toContain('per step of the chunk');
  });

  test.each([
    ['refused, all of them', { used: 0, refused: 38, refusal: 'no joint of the robot' }, /^38 recorded actions could not be used: no joint of the robot$/],
    ['never beside a command', { used: 38, refused: 0 }, /^no command of a chunk has a recorded action beside it$/],
    ['none at all', { used: 0, refused: 0 }, /^no recorded actions to compare with$/],
  ])('recorded actions %s: the first tile says why there is no error', (_, counts, says) => {
    const known = full.summary.comparison as NonNullable<ReplaySummary['comparison']>;
    const comparison = { ...known, joints: [], horizon: [], ...counts };
    const tiles = byClass('tiles', read(changed({ comparison })))[0] as Element;
    const [value, detail] = of('dd', tiles).map(textOf);
    expect([textOf(of('dt', tiles)[0] as Element), (value as string).trim()]).toEqual(['Mean error', '–']);
    expect(detail).toMatch(says);
  }); // prettier-ignore

  test('a silent bag has no timeline, no pictures and says so', () => {
    const latency = { ...full.summary.latency, first_token_ms: null, request_ms: null };
    const requests = { finished: 0, by_reason: {}, open: 0 };
    const page = read(changed({ latency, requests, drops: {} }, { texts: [], instructions: [], thumbnails: [] }));
    expect(of('section', page).map(e => e.attributes['id'])).toEqual(SECTIONS.filter(s => s !== 'cameras'));
    expect(textOf(byId('texts', page))).toContain('Nothing was asked and nothing was said.');
    expect(textOf(byId('latency', page))).toContain('Not measured: no text began, no text ended.');
    expect(textOf(byId('drops', page))).toContain('Nothing was dropped.');
    expect(byClass('timeline', page)).toEqual([]);
  }); // prettier-ignore

  test('one frame and one command: a dot in every chart', () => {
    const actions = full.series.actions.map(a => ({
      ...a,
      t: [0.02],
      replayed: [a.min],
      recorded: [null],
    }));
    const bag = { ...full.summary.bag, to_s: 0.04, duration_s: 0.04 };
    const page = read(changed({ bag }, { actions, texts: [], instructions: [] }));
    expect(byClass('dot', page)).toHaveLength(actions.length);
    expect(outside(page)).toEqual([]);
  });

  test('many joints and texts are folded, none is lost', () => {
    const [joint] = full.series.actions as [ReplaySeries['actions'][number]];
    const actions = Array.from({ length: 32 }, (_, i) => ({ ...joint, name: `joint ${i}` }));
    const texts = Array.from({ length: 500 }, (_, i) => ({ id: `narration/${i}`, standing: null, seed: 'Say: ', text: `sentence ${i}`, from_s: i * 7, to_s: i * 7 + 6, reason: 'end' as const, tokens: 4 }));
    const bag = { ...full.summary.bag, to_s: 3600, duration_s: 3600 };
    const page = read(changed({ bag }, { actions, texts, more_texts: 12 }));
    expect(of('summary', page).flatMap(words)).toEqual(expect.arrayContaining(['20 more joints', 'All 500 texts']));
    expect(of('figure', byId('actions', page))).toHaveLength(32);
    expect(textOf(byId('texts', page))).toContain('12 more texts came that are not listed.');
    expect(outside(page)).toEqual([]);
    const height = Number(byClass('timeline', page)[0]?.attributes['height']);
    expect(height).toBeLessThan(250);
  }); // prettier-ignore

  test('short answers stand beside their bars, and a few of them need no wide timeline', () => {
    const texts = Array.from({ length: 36 }, (_, i) => ({ id: `q${i}`, standing: null, seed: 'where? ', text: `answer ${i}`, from_s: 6 * Math.floor(i / 4), to_s: 6 * Math.floor(i / 4) + 0.01, reason: 'end' as const, tokens: 2 }));
    const page = read(changed({}, { texts }));
    const [timeline] = byClass('timeline', page) as [Element];
    expect(timeline.attributes['width']).toBe('972');
    // those of the last moment have no room
    expect(byClass('said', timeline).flatMap(words)).toEqual(expect.arrayContaining(texts.slice(0, 32).map(t => t.text)));
    expect(covered(page)).toEqual([]);
  }); // prettier-ignore

  test('nearly all is not all', () => {
    expect(textOf(read(changed({ fresh_ratio: 0.9996 })))).toContain('99.9\u00a0% of');
    expect(textOf(read(changed({ fresh_ratio: 1 })))).toContain('100\u00a0% of');
  });

  test('long curves are thinned without losing a peak', () => {
    const t = Array.from({ length: 20_000 }, (_, i) => i / 200);
    const replayed = t.map((_, i) => (i === 7_777 ? 1.5 : 0.1 * Math.sin(i / 900)));
    const actions = full.series.actions.slice(0, 1).map(a => ({ ...a, t, replayed, recorded: t.map(() => null) }));
    const page = read(changed({ bag: { ...full.summary.bag, to_s: 100 } }, { actions }));
    const [curve] = byClass('c-replayed', byId('actions', page)).flatMap(g => of('polyline', g));
    const dots = (curve?.attributes['points'] ?? '').split(' ').map(p => p.split(',').map(Number));
    expect(dots.length).toBeLessThan(1700);
    const top = Math.min(...dots.map(d => d[1] ?? 0));
    expect(dots.filter(d => (d[1] ?? 0) < top + 50)).toHaveLength(1);
  }); // prettier-ignore

  test('a series that shares its times with a faster one is not cut to pieces', () => {
    const t = Array.from({ length: 300 }, (_, i) => i / 100);
    const replayed = t.map((_, i) => (i % 3 === 0 ? null : 0.5));
    const actions = full.series.actions.slice(0, 1).map(a => ({ ...a, t, replayed, recorded: replayed.map(v => (v === null ? 0.4 : null)) }));
    const page = read(changed({}, { actions }));
    for (const name of ['c-replayed', 'c-recorded']) {
      expect(byClass(name, byId('actions', page)).flatMap(g => of('polyline', g))).toHaveLength(1);
    }
  }); // prettier-ignore

  test('odd options: the command can be pasted', () => {
    const options = ['--start', '10.25', '--action-topic', "/it's here", '--instruction', 'go "left"'];
    const settings = { ...full.summary.settings, options };
    const text = textOf(of('pre', read(changed({ settings })))[0] as Element);
    expect(text).toContain(
      `--start 10.25 --action-topic '/it'\\''s here' --instruction 'go "left"' \\\n  --report`,
    );
  });
});

test('names and texts stay text', () => {
  const name = `<script>alert("x")</script>&'\u0000<img src=x onerror=y>`;
  const { summary: s, series } = full;
  const [text, shot, action] = [series.texts[0], series.thumbnails[0], series.actions[0]];
  if (!text || !shot || !action) throw new Error('the sample is empty');
  const page = read({
    summary: {
      ...s,
      bag: { ...s.bag, name },
      settings: { ...s.settings, engine: name, robot: name, cost: name },
      faults: [{ code: name, message: name }],
      drops: { [name]: 3 },
      comparison: s.comparison && { ...s.comparison, topic: name, refusal: name },
    },
    series: {
      ...series,
      texts: [{ ...text, id: name, seed: name, text: name }],
      instructions: [{ t: 1, text: name }],
      thumbnails: [{ ...shot, camera: name, caption: name, instruction: name }],
      actions: [{ ...action, name }],
    },
  });
  expect(of('script', page)).toEqual([]);
  expect(of('img', page)).toHaveLength(1);
  const said = words(page).filter(w => w === name.replace('\u0000', '\ufffd'));
  expect(said.length).toBeGreaterThanOrEqual(10);
});

test('any result makes a well-formed page of numbers, drawn within its charts', () => {
  fc.assert(
    fc.property(anyResult, result => {
      const html = renderReplayReport(result);
      expect(html).not.toMatch(FAULTS);
      const page = parse(html);
      expect(outside(page)).toEqual([]);
    }),
    { numRuns: 40 },
  );
}); // prettier-ignore
