import type { Check, Finding } from '../../src/doctor/check';
import { runChecks } from '../../src/doctor/check';

/** All findings of some checks. */
export async function findingsOf(...checks: Check[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for await (const finding of runChecks(checks)) findings.push(finding);
  return findings;
}

export const faultsIn = (findings: readonly Finding[]): Finding[] =>
  findings.filter(finding => finding.status === 'fault');
