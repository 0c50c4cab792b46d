/** The report of a replay: one HTML file that needs nothing else. Equal results give equal bytes. */
import { page } from '../../report/page';
import type { ReplayResult } from '../result';
import { actionsSection } from './actions';
import { camerasSection } from './cameras';
import { dropsSection } from './drops';
import { headline } from './headline';
import { latencySection } from './latency';
import { ratesSection } from './rates';
import { settingsSection } from './settings';
import { STYLE } from './style';
import { textsSection } from './texts';

/** @returns the whole file, UTF-8. */
export const renderReplayReport = (result: ReplayResult): string =>
  page(
    `oxygen replay: ${result.summary.bag.name}`,
    STYLE,
    headline(result),
    actionsSection(result),
    textsSection(result),
    camerasSection(result.series.thumbnails),
    ratesSection(result),
    latencySection(result),
    dropsSection(result.summary),
    settingsSection(result.summary),
  );
