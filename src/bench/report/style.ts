/** Colours of the bench report: modes, stages of a frame, memory, ramps, roof. */
import { roles, styleSheet } from '../../report/style';

const LIGHT = `
  --isolated: #b84a00; --parallel: #9c4275; --shared: #007355; --oxygen: #0063a8;
  --ramp-1: #5596ca; --ramp-2: #2f80c0; --ramp-3: #0a559a; --ramp-4: #06294d;
  --vision: #c58600; --prefill: #3f95d2; --denoise: #1f9d75; --decode: #c76d9f; --manager: #8f98a1;
  --roof: #8a949e;`;
const DARK = `
  --isolated: #f58f4c; --parallel: #de8dbb; --shared: #43c59c; --oxygen: #62b2f0;
  --ramp-1: #3f6f96; --ramp-2: #5a97c6; --ramp-3: #84c1f2; --ramp-4: #d2eaff;
  --vision: #e3a52e; --prefill: #5ea9dc; --denoise: #3fb38b; --decode: #d184b2; --manager: #98a1ab;
  --roof: #7d8791;`;

const CHARTS = `
.whisker .under, .compare .under { stroke: var(--paper); stroke-width: 4; }
.whisker .over, .compare .over { stroke: var(--ink); stroke-width: 1.5; }
.track { stroke: var(--c); stroke-width: 3; stroke-linecap: round; }
.tail { stroke: var(--c); stroke-width: 1.5; }
.link { stroke: var(--rule); stroke-width: 3; }
.roof { fill: none; stroke: var(--roof); stroke-width: 2.5; stroke-linejoin: round; }`;

const same = (names: readonly string[]): Record<string, string> => Object.fromEntries(names.map(n => [n, n]));

export const STYLE = styleSheet({
  light: LIGHT,
  dark: DARK,
  rules: [
    CHARTS.trim(),
    roles('m', same(['isolated', 'parallel', 'shared', 'oxygen'])),
    roles('p', same(['vision', 'prefill', 'denoise', 'decode', 'manager'])),
    roles('s', { base: 'manager', weights: 'prefill', kv: 'vision', activations: 'decode' }),
    '.plain { --c: var(--ink); }',
    roles('ramp', { 1: 'ramp-1', 2: 'ramp-2', 3: 'ramp-3', 4: 'ramp-4' }),
  ],
});
