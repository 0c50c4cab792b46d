/**
 * Standing requests as parameters: a list of names, and under each name what is asked, as ROS has it for plugins. The
 * names are fixed at the start, because ROS declares parameters there; which of them are asked may change.
 */
import type { StandingInput } from '../engine/protocol';
import type { ParameterSpec, ParameterValue, ParameterValues } from './parameter-spec';
import { choice, double, flag, integer, list, live, required } from './parameter-spec';

export const STANDING_LIST: ParameterSpec = live(
  list(
    'standing_requests',
    'Names of requests that the node asks itself, again and again, of the newest frame; each has the parameters below. Only names that have a text at the start can be added.',
  ),
);

/** Stands for the instruction that came by topic. */
const PLACEHOLDER = '{instruction}';

/** What each name has: `<name>.text` and so on. */
const TEMPLATE: readonly ParameterSpec[] = [
  required('text', 'a seed text', 'Seed text; `{instruction}` in it is the instruction that came by topic.'),
  integer('every_frames', 0n, 0, 1_000_000, 'Ask at every n-th frame; 0 is whenever the last one has ended.'),
  integer('max_tokens', 32n, 1, 8192, 'Most tokens to generate, at most the parameter `max_tokens`.'),
  double('temperature', 0, 0, 1000, 'Sampling temperature; 0 takes the likeliest token.'),
  integer('top_k', 0n, 0, 2 ** 31 - 1, 'Draw among this many likeliest tokens; 0 is all.'),
  double('top_p', 0, 0, 1, 'Draw among the likeliest tokens that have this probability together; 0 is all.'),
  integer('priority', 0n, -(2 ** 31), 2 ** 31 - 1, 'As in LanguageRequest; a higher number goes first.'),
  double('deadline_s', 0, 0, 3600, 'Seconds from asking to the last token; 0 is no limit.'),
  flag('keep_on_instruction', 'Goes on when the instruction changes.'),
  choice(
    'on_done',
    ['nothing', 'set_instruction'],
    'What becomes of the text: `set_instruction` makes it the instruction of the next frames.',
  ),
].map(live);

export const STANDING_EXAMPLE = '<name>';

export const standingParameters = (names: readonly string[]): readonly ParameterSpec[] =>
  names.flatMap(name => TEMPLATE.map(spec => ({ ...spec, name: `${name}.${spec.name}` })));

/** Names to declare: those of the list, and those that have a text and may be listed later. */
export function standingNames(given: ReadonlyMap<string, unknown>): readonly string[] {
  const listed = given.get(STANDING_LIST.name);
  const names = Array.isArray(listed)
    ? listed.filter(name => typeof name === 'string' && NAME.test(name))
    : [];
  const withText = [...given.keys()].flatMap(name => /^([A-Za-z]\w*)\.text$/.exec(name)?.[1] ?? []);
  return [...new Set([...(names as string[]), ...withText])];
}

const NAME = /^[A-Za-z]\w*$/;

/** Why the standing requests cannot be as they are; every fault. */
export function standingFaults(values: ParameterValues): readonly string[] {
  const names = listedNames(values);
  const faults: string[] = [];
  const fault = (name: string, what: string): void => void faults.push(`parameter ${name}: ${what}`);
  names.forEach((name, i) => {
    const value = (what: string): ParameterValue | undefined => values.get(`${name}.${what}`);
    if (!NAME.test(name))
      return fault(STANDING_LIST.name, `'${name}' is no name; letters, digits and _ are wanted`);
    if (names.indexOf(name) < i) return fault(STANDING_LIST.name, `'${name}' is there twice`);
    if (value('text') === undefined)
      return fault(
        STANDING_LIST.name,
        `'${name}' had no ${name}.text at the start of the node, so it cannot be asked`,
      );
    const [most, limit] = [Number(value('max_tokens')), Number(values.get('max_tokens'))];
    if (most > limit)
      fault(`${name}.max_tokens`, `${most} is more than the parameter max_tokens (${limit}) allows`);
    if (value('on_done') === 'set_instruction' && value('keep_on_instruction') === true) {
      fault(
        `${name}.keep_on_instruction`,
        'an answer to an old instruction must not become the new one (on_done is set_instruction)',
      );
    }
  });
  const setters = names.filter(name => setsInstruction(values, name));
  if (setters.length > 1)
    fault(STANDING_LIST.name, `${setters.join(' and ')} cannot both set the instruction`);
  return faults;
}

/** Whether the text of this standing request becomes the instruction. */
export const setsInstruction = (values: ParameterValues, name: string): boolean =>
  listedNames(values).includes(name) && values.get(`${name}.on_done`) === 'set_instruction';

/** What the engine is told. `instruction`: by topic; empty before the first. */
export const standingInputs = (values: ParameterValues, instruction: string): readonly StandingInput[] =>
  listedNames(values).map(name => {
    const value = (what: string): ParameterValue => values.get(`${name}.${what}`)!;
    const number = (what: string): number => Number(value(what));
    const frames = number('every_frames');
    return {
      name,
      text: (value('text') as string).replaceAll(PLACEHOLDER, () => instruction),
      every: frames === 0 ? { kind: 'ended' } : { kind: 'frames', frames },
      maxTokens: number('max_tokens'),
      temperature: number('temperature'),
      topK: number('top_k'),
      topP: number('top_p') === 0 ? 1 : number('top_p'),
      samplingSeed: 0,
      priority: number('priority'),
      deadlineInMs: number('deadline_s') === 0 ? null : number('deadline_s') * 1000,
      keepOnInstruction: value('keep_on_instruction') as boolean,
    };
  });

const listedNames = (values: ParameterValues): readonly string[] =>
  (values.get(STANDING_LIST.name) as readonly string[] | undefined) ?? [];
