// The live view: one row a second, and under it, on a terminal, the texts that are being written right now.

const HEADER_EVERY = 20;
const COLUMNS = [
  { title: 'time', width: 6, of: s => (s.t === null ? 'start' : `${Math.round(s.t)} s`) },
  { title: 'action', width: 9, of: s => `${s.action_hz.toFixed(1)} Hz` },
  { title: 'replan', width: 9, of: s => `${s.replan_hz.toFixed(1)} Hz` },
  { title: 'tokens', width: 8, of: s => `${Math.round(s.tokens_per_s)}/s` },
  { title: 'batch', width: 7, of: s => `${s.batch}` },
  { title: 'drops', width: 7, of: s => `${s.drops}` },
  { title: 'reached', width: 9, of: s => `${s.reached}/${s.instructions}` },
  {
    title: 'tip',
    width: 9,
    of: s => (s.distance_m === null ? '-' : `${(s.distance_m * 100).toFixed(1)} cm`),
  },
];
const SEED_WIDTH = 26;
const ANSWER_WIDTH = 51;

export const header = () => `${COLUMNS.map(c => c.title.padStart(c.width)).join('')}  instruction`;

/** One row for a `second` line of the driver; at most 100 characters. */
export const row = second =>
  `${COLUMNS.map(c => c.of(second).padStart(c.width)).join('')}  ${second.instruction}`;

const shortSeed = seed => seed.replace(/^Question: /, '').replace(/ ?Answer:$/, '');

/** Seed, the newest full answer, and the end of the text that is still growing. */
export const textRow = ({ seed, answer, running }, width, dim = text => text) => {
  const left = `  ${shortSeed(seed).padEnd(SEED_WIDTH)}${answer.padEnd(ANSWER_WIDTH)}`;
  const room = Math.max(0, width - left.length - 3);
  return running === '' || room < 8
    ? left.slice(0, width - 1).trimEnd()
    : `${left}${dim(`… ${running.slice(-room)}`)}`;
};

/** Draws on `stream`; on a terminal the text block is drawn again in place. */
export const openScreen = stream => {
  const live = stream.isTTY === true;
  const dim = live ? text => `\x1b[2m${text}\x1b[22m` : text => text;
  const width = () => stream.columns ?? 100;
  let rows = 0;
  let block = [];

  const draw = (lines, texts) => {
    const back = block.length > 0 ? `\x1b[${block.length}A\x1b[0J` : '';
    block = live ? texts.map(text => textRow(text, width(), dim)) : [];
    const shown = live ? block : texts.map(text => textRow(text, width()));
    stream.write(back + [...lines, ...shown].map(line => `${line}\n`).join(''));
  };
  let texts = [];
  return {
    /** Something to read that stays: a log line, an error. */
    note: line => draw([line], live ? texts : []),
    second: second => {
      const lines = rows++ % HEADER_EVERY === 0 ? [dim(header()), row(second)] : [row(second)];
      draw(lines, texts);
    },
    texts: news => {
      texts = news;
      if (live) draw([], texts);
    },
    /** Leaves the newest texts standing and draws no more over them. */
    close: () => {
      block = [];
      texts = [];
    },
  };
};
