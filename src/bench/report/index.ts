/** The report of a bench: one HTML file that needs nothing else. */
import { h } from '../../report/markup';
import { page } from '../../report/page';
import type { BenchResult } from '../result';
import { arrivalsSection } from './arrivals-figure';
import { equalitySection } from './equality';
import { frameSection } from './frame-figure';
import { headline } from './headline';
import { latencySection } from './latency-figure';
import { loadSection } from './load-figure';
import { memorySection } from './memory-figure';
import { ablationSection } from './mode-figures';
import { rooflineSection } from './roofline-section';
import { settingsSection } from './settings';
import { denoiseSection, speedupSection } from './speedup-figures';
import { STYLE } from './style';
import { figuresSection } from './tables';

/** Sections without data are left out, and named at the end. */
export function renderReport(result: BenchResult): string {
  const sections = [
    ['speed-up against N and k', speedupSection(result)],
    ['ablation', ablationSection(result)],
    ['action rate under language load', loadSection(result)],
    ['latency', latencySection(result)],
    ['memory', memorySection(result)],
    ['stages of a frame', frameSection(result)],
    ['uneven language load', arrivalsSection(result)],
    ['denoise steps', denoiseSection(result)],
    ['roofline', rooflineSection(result)],
    ['equality of the modes', equalitySection(result)],
  ] as const;
  const missing = sections.filter(([, content]) => content === null).map(([name]) => name);
  return page(
    `oxygen bench: ${result.engine.name}`,
    STYLE,
    headline(result),
    sections.map(([, content]) => content),
    figuresSection(result),
    settingsSection(result),
    missing.length === 0
      ? null
      : h('p', { class: 'missing' }, `Not measured in this run: ${missing.join(', ')}.`),
  );
}
