/** How the reports look. Colours have roles; they stay apart for colour-blind readers, and marks differ in shape too. */

/** What one report adds. */
export interface Look {
  /** Custom properties of its colours on light and on dark paper; `--oxygen`, the accent, is one of them. */
  readonly light: string;
  readonly dark: string;
  /** Rules of its own. */
  readonly rules: readonly string[];
}

const LIGHT = `
  --paper: #fdfdfc; --ink: #1b2026; --soft: #56606b; --rule: #d9dde1; --grid: #e8ebee; --wash: #f4f5f6;`;
const DARK = `
  --paper: #14171b; --ink: #e9ecef; --soft: #a3adb7; --rule: #353b42; --grid: #262b31; --wash: #1b1f24;`;

const colours = ({ light, dark }: Look): string => `
:root { color-scheme: light dark; ${LIGHT}${light} }
@media (prefers-color-scheme: dark) { :root { ${DARK}${dark} } }`;

const PAGE = `
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Noto Sans", "Liberation Sans", sans-serif; -webkit-text-size-adjust: 100%; }
main { max-width: 1020px; margin: 0 auto; padding: 48px 24px 72px; }
h1 { font-size: clamp(26px, 4.2vw, 38px); line-height: 1.15; letter-spacing: -0.02em; font-weight: 650; margin: 6px 0 14px; max-width: 24em; text-wrap: balance; }
h2 { font-size: 22px; line-height: 1.25; letter-spacing: -0.01em; font-weight: 650; margin: 0 0 6px; }
h3 { font-size: 15px; line-height: 1.35; font-weight: 650; margin: 0 0 12px; }
p { margin: 0 0 12px; }
code { font: 0.92em ui-monospace, "SF Mono", "DejaVu Sans Mono", "Liberation Mono", monospace; }
.eyebrow { color: var(--oxygen); font-weight: 650; font-size: 14px; margin: 0; }
.under, .lead, .words { color: var(--soft); max-width: 46em; }
.words { font-size: 14.5px; margin: 22px 0 0; }
.words em { font-style: normal; color: var(--ink); font-weight: 600; }
section { border-top: 1px solid var(--rule); margin-top: 44px; padding-top: 22px; }
section > h3 { margin-top: 26px; }
.missing { border-top: 1px solid var(--rule); margin-top: 44px; padding-top: 18px; color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(240px, 44%), 1fr)); gap: 22px 24px; margin: 28px 0 0; }
.tiles div { border-top: 2px solid var(--oxygen); padding-top: 10px; }
.tiles dt { font-size: 14px; color: var(--soft); }
.tiles dd { margin: 0; font-size: 14px; color: var(--soft); overflow-wrap: anywhere; }
.tiles .value { font-size: 28px; line-height: 1.25; letter-spacing: -0.015em; font-weight: 650; color: var(--ink); font-variant-numeric: tabular-nums; }
.tiles .value small { font-size: 16px; font-weight: 500; letter-spacing: 0; white-space: pre; }
.grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 340px), 1fr)); gap: 32px 48px; margin-top: 20px; align-items: start; }
figure { margin: 0; max-width: 500px; min-width: 0; }
figcaption { color: var(--soft); font-size: 13.5px; line-height: 1.45; margin-top: 10px; }
.key { font-size: 13.5px; margin: 0 0 6px; color: var(--ink); }
.key span { display: inline-block; margin-right: 14px; white-space: nowrap; }
.key span::before { content: ""; display: inline-block; width: 11px; height: 11px; margin-right: 6px; border-radius: 2px; background: var(--c); vertical-align: -1px; }
.modes { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; font-size: 14.5px; margin: 14px 0 0; }
.modes dt { font-weight: 650; color: var(--c); }
.modes dd { margin: 0; color: var(--soft); }
.scroll { overflow-x: auto; margin-top: 16px; }
table { border-collapse: collapse; font-size: 13.5px; line-height: 1.4; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 13px 5px 0; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--grid); }
th:first-child { text-align: left; font-weight: 400; color: var(--soft); white-space: normal; min-width: 6em; }
thead th { font-weight: 650; border-bottom-color: var(--rule); vertical-align: bottom; }
#settings td { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 12em; }
#settings thead { display: none; }
pre { background: var(--wash); border-radius: 6px; padding: 12px 14px; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 14px; margin: 16px 0 0; }
ul { margin: 0; padding-left: 1.2em; }
li { overflow-wrap: anywhere; }`;

const CHARTS = `
svg { display: block; width: 100%; height: auto; overflow: visible; font: 12px system-ui, -apple-system, "Segoe UI", "Noto Sans", "Liberation Sans", sans-serif; font-variant-numeric: tabular-nums; }
svg text { fill: var(--ink); }
.tick, .axis-title, .note { fill: var(--soft); }
.series { font-weight: 600; }
[class^="m-"] > .series { fill: var(--c); }
.figure { font-weight: 600; }
.tick, .series, .figure, .axis-title, .note, .on-bar { white-space: pre; }
.halo { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
line.grid { stroke: var(--grid); }
line.axis { stroke: var(--soft); }
line.reference { stroke: var(--soft); stroke-dasharray: 3 3; }
.curve { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.mark { fill: var(--c); stroke: var(--paper); stroke-width: 1; }
.open .mark { fill: var(--paper); stroke: var(--c); stroke-width: 2; }
.leader { stroke: var(--c); stroke-width: 1; opacity: 0.5; }
.bar { fill: var(--c); stroke: var(--paper); stroke-width: 0.75; }
.on-bar { fill: #14181d !important; font-weight: 600; }`;

/** Classes that set the colour of what is inside: `prefix-name`. */
export const roles = (prefix: string, names: Readonly<Record<string, string>>): string =>
  Object.entries(names)
    .map(([name, colour]) => `.${prefix}-${name} { --c: var(--${colour}); }`)
    .join('\n');

const print = ({ light }: Look): string => `
@media print {
  :root { color-scheme: light; ${LIGHT}${light} }
  body { font-size: 11pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  main { max-width: none; padding: 0; }
  section { break-inside: auto; margin-top: 24px; }
  h2, h3, .lead { break-after: avoid; }
  figure, tr, .tiles div { break-inside: avoid; }
  .scroll { overflow: visible; }
  .grid { grid-template-columns: 1fr 1fr; gap: 20px 28px; }
  .tiles { grid-template-columns: repeat(3, 1fr); }
  table { font-size: 8.5pt; }
  th, td { padding-right: 10px; white-space: normal; }
  @page { margin: 16mm; }
}`;

export const styleSheet = (look: Look): string =>
  [colours(look) + PAGE, CHARTS, ...look.rules, print(look)].join('\n');
