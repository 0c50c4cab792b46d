/** Prints findings as they come, and says at the end how it stands. */
import { counted } from '../core/words';
import { findingLine, reportOf, type Finding, type Report } from './check';

/** `json`: one object on one line instead, when everything is known. */
export async function printFindings(findings: AsyncIterable<Finding>, json: boolean): Promise<Report> {
  const all: Finding[] = [];
  for await (const finding of findings) {
    all.push(finding);
    if (!json) console.log(findingLine(finding));
  }
  const report = reportOf(all);
  console.log(json ? JSON.stringify(report) : summaryLine(report));
  return report;
}

const summaryLine = ({ ok, faults, warnings, checks }: Report): string =>
  ok
    ? `${counted(checks.length - warnings, 'check')} ok, ${counted(warnings, 'warning')}`
    : `${counted(faults, 'fault')}, ${counted(warnings, 'warning')}`;
