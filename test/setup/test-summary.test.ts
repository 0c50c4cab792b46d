import { callSetup } from './call';

const report = {
  numPassedTests: 5,
  numFailedTests: 0,
  numPendingTests: 1,
  numTodoTests: 1,
  numRuntimeErrorTestSuites: 0,
};
const summary = (input: object) =>
  callSetup('test-summary', 'summary', { report, jestOk: true, failedChecks: [], ...input }) as {
    ok: boolean;
    lines: string[];
  };

test('the last line counts the tests', () => {
  expect(summary({})).toEqual({ ok: true, lines: ['5 passed, 0 failed, 2 skipped'] });
});

test.each([
  [
    'a failed test',
    { report: { ...report, numFailedTests: 2 }, jestOk: false },
    '5 passed, 2 failed, 2 skipped',
  ],
  [
    'a test file that does not load',
    { report: { ...report, numRuntimeErrorTestSuites: 1 } },
    '5 passed, 1 failed, 2 skipped',
  ],
  ['a failed check', { failedChecks: ['lint'] }, '5 passed, 1 failed, 2 skipped'],
  [
    'no test',
    { report: { ...report, numPassedTests: 0, numPendingTests: 0, numTodoTests: 0 } },
    '0 passed, 1 failed, 0 skipped',
  ],
  ['no report', { report: undefined, jestOk: false }, '0 passed, 1 failed, 0 skipped'],
  ['jest ends badly after passing', { jestOk: false }, '5 passed, 1 failed, 2 skipped'],
])('%s is a failure', (_, input, last) => {
  const { ok, lines } = summary(input);
  expect(ok).toBe(false);
  expect(lines.at(-1)).toBe(last);
});
