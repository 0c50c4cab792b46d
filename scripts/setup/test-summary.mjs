/**
 * Counts what a test run gave.
 * @param report jest's JSON report, undefined if there is none; failedChecks: names of checks beside jest
 * @returns {ok, lines}: the last line is "N passed, N failed, N skipped"; each failed check, and each test file
 *   that could not run, counts as one failure
 */
export const summary = ({ report, jestOk, failedChecks }) => {
  const passed = report?.numPassedTests ?? 0;
  const skipped = (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0);
  const lines = failedChecks.map(name => `Check failed: ${name}`);
  let failed = failedChecks.length + (report?.numFailedTests ?? 0) + (report?.numRuntimeErrorTestSuites ?? 0);
  if (report === undefined) lines.push('Jest wrote no report.');
  else if (passed + (report.numFailedTests ?? 0) === 0) lines.push('No test ran.');
  if (failed === 0 && (!jestOk || passed === 0)) failed = 1;
  return { ok: failed === 0, lines: [...lines, `${passed} passed, ${failed} failed, ${skipped} skipped`] };
};
