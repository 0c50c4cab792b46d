/** What `oxygen doctor` and `oxygen check-config` are made of: checks as data, and the one loop that runs them. */
import { describeError, OxygenError } from '../core/errors';

export type Status = 'ok' | 'warning' | 'fault';

/** `what` holds, or `cure` mends it. A warning lets the work go on. `then`: checks that make sense only now. */
export type Outcome = (
  | { readonly status: 'ok'; readonly what: string }
  | { readonly status: 'warning' | 'fault'; readonly what: string; readonly cure: string }
) & { readonly then?: readonly Check[] };

type Outcomes = Outcome | readonly Outcome[];

export interface Check {
  readonly name: string;
  /** May throw: every fault that the error lists is then told, with `cure`. */
  readonly run: () => Outcomes | Promise<Outcomes>;
  readonly cure: string;
}

export interface Finding {
  readonly status: Status;
  readonly name: string;
  readonly what: string;
  /** Empty where nothing needs mending. */
  readonly cure: string;
}

export const ok = (what: string, then: readonly Check[] = []): Outcome => ({ status: 'ok', what, then });
export const warning = (what: string, cure: string): Outcome => ({ status: 'warning', what, cure });
export const fault = (what: string, cure: string): Outcome => ({ status: 'fault', what, cure });

/** Runs one after the other, follow-ups right behind their check; gives each finding when it is there. */
export async function* runChecks(checks: readonly Check[]): AsyncGenerator<Finding> {
  for (const check of checks) {
    for (const outcome of await outcomesOf(check)) {
      const cure = outcome.status === 'ok' ? '' : outcome.cure;
      yield { status: outcome.status, name: check.name, what: outcome.what, cure };
      yield* runChecks(outcome.then ?? []);
    }
  }
}

async function outcomesOf(check: Check): Promise<readonly Outcome[]> {
  try {
    return [await check.run()].flat();
  } catch (error) {
    return faultsOf(error).map(what => fault(what, check.cure));
  }
}

/** All that an error complains about: its list of faults where it has one, else its message. */
export function faultsOf(error: unknown): readonly string[] {
  const listed: unknown = error instanceof OxygenError ? error.details['faults'] : undefined;
  if (Array.isArray(listed) && listed.length > 0) return listed.map(String);
  return [describeError(error)];
}

/** One line: `ok|warn|FAULT name: what; cure`. Control characters of damaged files do not reach the terminal. */
export function findingLine({ status, name, what, cure }: Finding): string {
  const word = { ok: 'ok', warning: 'warn', fault: 'FAULT' }[status].padEnd(5);
  const text = `${word} ${name}: ${what}${cure === '' ? '' : `; ${cure}`}`;
  return text.replace(/\s*\n\s*/g, ' ').replace(/[\u0000-\u001f\u007f-\u009f]/g, '?');
}

export interface Report {
  readonly ok: boolean;
  readonly faults: number;
  readonly warnings: number;
  readonly checks: readonly Finding[];
}

export function reportOf(checks: readonly Finding[]): Report {
  const count = (status: Status): number => checks.filter(finding => finding.status === status).length;
  return { ok: count('fault') === 0, faults: count('fault'), warnings: count('warning'), checks };
}
