/** Colours of the replay report: curves, ends of texts, heat; and what only it has. */
import { roles, styleSheet } from '../../report/style';

/** Levels of the heat tables. */
export const HEATS = 5;

const LIGHT = `
  --oxygen: #0063a8; --recorded: #d08700; --alarm: #b3261e;
  --end: #3f95d2; --length: #1f9d75; --deadline: #c58600; --cancelled: #c76d9f; --superseded: #8f98a1; --fault: #e2705c;
  --heat-0: #f1f6fb; --heat-1: #deebf6; --heat-2: #c8def1; --heat-3: #accce8; --heat-4: #8fb9df;`;
const DARK = `
  --oxygen: #62b2f0; --recorded: #c98a1c; --alarm: #ff8a7a;
  --end: #5ea9dc; --length: #3fb38b; --deadline: #e3a52e; --cancelled: #d184b2; --superseded: #98a1ab; --fault: #f08a74;
  --heat-0: #19212a; --heat-1: #1d2c3b; --heat-2: #22394f; --heat-3: #274763; --heat-4: #2c5578;`;

const RULES = `
h1 { overflow-wrap: anywhere; }
.banner { border-left: 4px solid var(--rule); background: var(--wash); border-radius: 0 6px 6px 0; padding: 12px 16px; margin: 20px 0 0; font-size: 14.5px; max-width: 54em; }
.banner.alarm { border-color: var(--alarm); }
.banner.alarm strong { color: var(--alarm); font-size: 17px; }
.banner p { margin: 0 0 6px; }
.joint { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 12px; overflow-wrap: anywhere; margin-bottom: 6px; }
.joint small { color: var(--soft); font-weight: 400; font-size: 13.5px; }
.joint .facts { color: var(--soft); font-weight: 400; font-size: 13.5px; font-variant-numeric: tabular-nums; }
section > .key { margin-top: 18px; }
.dot { fill: var(--c); }
.c-recorded .dot { r: 3px; }
.c-recorded .curve { stroke-width: 4.5; }
.c-replayed .curve { stroke-width: 1.6; }
.c-difference .curve { stroke-width: 1.2; }
.c-rate .curve { stroke-width: 1.6; stroke-linejoin: miter; }
.quantile { stroke: var(--ink); stroke-dasharray: 2 3; }
.note-line { color: var(--soft); font-size: 14px; max-width: 52em; margin: 10px 0 0; }
.heat { display: block; min-width: 4.4em; padding: 3px 8px; border-radius: 3px; color: var(--ink); background: var(--h); }
td:has(.heat) { padding: 2px 4px 2px 0; }
details { margin-top: 16px; }
summary { cursor: pointer; font-size: 14.5px; font-weight: 600; color: var(--oxygen); }
svg.timeline { width: auto; max-width: none; height: auto; }
.instruction rect { fill: var(--wash); stroke: var(--rule); }
.instruction .since { stroke: var(--rule); }
.instruction-text { font-weight: 600; }
.r-open .bar { fill: var(--paper); stroke: var(--soft); stroke-dasharray: 3 2; }
.r-open .on-bar { fill: var(--ink) !important; }
[class^="r-"] .mark { fill: #14181d; stroke: none; }
.endings { display: flex; flex-wrap: wrap; gap: 2px 22px; font-size: 13.5px; margin: 16px 0 0; }
.endings div { display: flex; gap: 8px; }
.endings dt { font-weight: 600; color: var(--ink); white-space: nowrap; }
.endings dd { margin: 0; color: var(--soft); }
.icon { display: inline-block; width: 16px; height: 16px; vertical-align: -3px; }
#texts td, #texts thead th:not(:first-child), #drops td:last-child, #drops thead th:last-child { text-align: left; }
#texts bdi.said, #drops td:last-child { white-space: pre-wrap; overflow-wrap: anywhere; }
#texts th:first-child { white-space: nowrap; min-width: 4.5em; }
#texts th, #texts td { vertical-align: top; }
#texts td:has(bdi) { white-space: normal; overflow-wrap: break-word; max-width: 18em; }
#texts td:has(.said) { overflow-wrap: anywhere; min-width: 17em; max-width: 40em; }
#texts .asked { color: var(--soft); }
.pictures { list-style: none; margin: 20px 0 0; padding: 0; display: grid; grid-template-columns: repeat(auto-fill, minmax(min(208px, 44%), 1fr)); gap: 22px 18px; }
.pictures li { font-size: 13.5px; line-height: 1.4; }
.pictures img { display: block; width: 100%; max-width: 320px; height: auto; border-radius: 4px; background: var(--wash); }
.pictures p { margin: 4px 0 0; overflow-wrap: anywhere; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 5; overflow: hidden; }
.pictures .when { color: var(--soft); font-variant-numeric: tabular-nums; }
.pictures strong { color: var(--ink); }
.pictures .told { color: var(--soft); }`;

export const STYLE = styleSheet({
  light: LIGHT,
  dark: DARK,
  rules: [
    RULES,
    roles('c', { replayed: 'oxygen', recorded: 'recorded', difference: 'soft', rate: 'oxygen', bar: 'end' }),
    roles('r', {
      end: 'end',
      length: 'length',
      deadline: 'deadline',
      cancelled: 'cancelled',
      superseded: 'superseded',
      fault: 'fault',
      open: 'soft',
    }),
    Array.from({ length: HEATS }, (_, i) => `.heat-${i} { --h: var(--heat-${i}); }`).join('\n'),
  ],
});
