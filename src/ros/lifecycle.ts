/**
 * The state machine of a managed node, with the ids and labels of rcl_lifecycle (lifecycle_msgs/State, Transition).
 * Ours and not rclnodejs': that one knows synchronous transitions only, throws on a transition that does not fit the
 * state, and has no transition graph. Here a transition may take its time, and what does not fit is answered false.
 */

export interface State {
  readonly id: number;
  readonly label: string;
}

export const STATES = {
  unknown: { id: 0, label: 'unknown' },
  unconfigured: { id: 1, label: 'unconfigured' },
  inactive: { id: 2, label: 'inactive' },
  active: { id: 3, label: 'active' },
  finalized: { id: 4, label: 'finalized' },
  configuring: { id: 10, label: 'configuring' },
  cleaningup: { id: 11, label: 'cleaningup' },
  shuttingdown: { id: 12, label: 'shuttingdown' },
  activating: { id: 13, label: 'activating' },
  deactivating: { id: 14, label: 'deactivating' },
  errorprocessing: { id: 15, label: 'errorprocessing' },
} as const satisfies Readonly<Record<string, State>>;
export type StateName = keyof typeof STATES;

export interface Transition {
  readonly id: number;
  readonly label: string;
  readonly start: StateName;
  readonly goal: StateName;
}

/** What the work of a transition came to. */
export type Outcome = 'success' | 'failure' | 'error';

/** Asked for from outside. */
const REQUESTS: readonly Transition[] = [
  { id: 1, label: 'configure', start: 'unconfigured', goal: 'configuring' },
  { id: 2, label: 'cleanup', start: 'inactive', goal: 'cleaningup' },
  { id: 3, label: 'activate', start: 'inactive', goal: 'activating' },
  { id: 4, label: 'deactivate', start: 'active', goal: 'deactivating' },
  { id: 5, label: 'shutdown', start: 'unconfigured', goal: 'shuttingdown' },
  { id: 6, label: 'shutdown', start: 'inactive', goal: 'shuttingdown' },
  { id: 7, label: 'shutdown', start: 'active', goal: 'shuttingdown' },
];

const outcomes = (
  firstId: number,
  start: StateName,
  goals: readonly [success: StateName, failure: StateName, error: StateName],
): readonly Transition[] =>
  (['success', 'failure', 'error'] as const).map((outcome, i) => ({
    id: firstId + i,
    label: `transition_${outcome}`,
    start,
    goal: goals[i]!,
  }));

/** What follows from the work; nobody can ask for these. */
const OUTCOMES: readonly Transition[] = [
  ...outcomes(10, 'configuring', ['inactive', 'unconfigured', 'errorprocessing']),
  ...outcomes(20, 'cleaningup', ['unconfigured', 'inactive', 'errorprocessing']),
  ...outcomes(30, 'activating', ['active', 'inactive', 'errorprocessing']),
  ...outcomes(40, 'deactivating', ['inactive', 'active', 'errorprocessing']),
  ...outcomes(50, 'shuttingdown', ['finalized', 'finalized', 'errorprocessing']),
  ...outcomes(60, 'errorprocessing', ['unconfigured', 'finalized', 'finalized']),
];

export const TRANSITIONS: readonly Transition[] = [...REQUESTS, ...OUTCOMES];

export type WorkName = 'configure' | 'cleanup' | 'activate' | 'deactivate' | 'shutdown' | 'error';
/** The work of each transition; what it throws or rejects with counts as `error`. `error` tidies up after one. */
export type Work = Readonly<Record<WorkName, (from: StateName) => Outcome | Promise<Outcome>>>;

export interface TransitionAsked {
  /** 0 when it is named by its label. */
  readonly id: number;
  readonly label: string;
}

export class Lifecycle {
  readonly #work: Work;
  readonly #entered: (transition: Transition) => void;
  readonly #failed: (error: unknown, during: WorkName) => void;
  #state: StateName = 'unconfigured';

  /** `entered` is told of every transition, `failed` of what the work throws. */
  constructor(
    work: Work,
    entered: (transition: Transition) => void,
    failed: (error: unknown, during: WorkName) => void,
  ) {
    this.#work = work;
    this.#entered = entered;
    this.#failed = failed;
  }

  get state(): StateName {
    return this.#state;
  }

  /** Transitions that can be asked for now. */
  get available(): readonly Transition[] {
    return REQUESTS.filter(({ start }) => start === this.#state);
  }

  /** Does a transition that the present state allows; false when it does not, or when the work did not succeed. */
  async change(asked: TransitionAsked): Promise<boolean> {
    const transition = this.available.find(({ id, label }) =>
      asked.label === '' ? id === asked.id : label === asked.label,
    );
    if (!transition) return false;
    const from = this.#state;
    this.#enter(transition);
    const outcome = await this.#do(transition.label as WorkName, from);
    if (outcome === 'error') this.#finish(await this.#do('error', from));
    return outcome === 'success';
  }

  async #do(name: WorkName, from: StateName): Promise<Outcome> {
    let outcome: Outcome;
    try {
      outcome = await this.#work[name](from);
    } catch (error) {
      outcome = 'error';
      this.#failed(error, name);
    }
    if (name !== 'error') this.#finish(outcome);
    return outcome;
  }

  #finish(outcome: Outcome): void {
    this.#enter(
      OUTCOMES.find(({ start, label }) => start === this.#state && label === `transition_${outcome}`)!,
    );
  }

  #enter(transition: Transition): void {
    this.#state = transition.goal;
    this.#entered(transition);
  }
}
