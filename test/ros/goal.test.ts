/** Instruction by topic, subtask by standing request, epochs: what the engine hears, in order. */
import fc from 'fast-check';
import type { ToEngine } from '../../src/engine/protocol';
import { Goal } from '../../src/ros/goal';
import { engineTunables, readParameters } from '../../src/ros/params';

const VALUES = readParameters(
  new Map<string, unknown>([
    ['engine', 'e'],
    ['robot', 'r'],
    ['standing_requests', ['subtask', 'narration']],
    ['subtask.text', 'Task: {instruction}. Subtask: '],
    ['subtask.on_done', 'set_instruction'],
    ['narration.text', 'Scene: '],
  ]),
);

function setUp() {
  const told: string[] = [];
  const log: string[] = [];
  const epochs: number[] = [];
  const tell = (message: ToEngine): void => {
    if (message.type === 'epoch') told.push(`epoch ${message.epoch}${message.endAll ? ' all' : ''}`);
    if (message.type === 'tunables') told.push(message.tunables.standing.map(one => one.text).join('|'));
  };
  const goal = new Goal({
    values: VALUES,
    tunables: (values, instruction) =>
      engineTunables(values, instruction, { rates: { trainHz: 20, executeSteps: null } }, 10),
    log: { info: line => log.push(line), warn: fail, error: fail },
    send: tell,
    onTunables: () => undefined,
    onEpoch: epoch => epochs.push(epoch),
  });
  let sent = 0n;
  const command = (text: string): boolean => goal.command(text, { publisher: 'p', sentNs: ++sent });
  return { goal, command, told, log, epochs };
}

const fail = (line: string): never => {
  throw new Error(line);
};

test('the first instruction fills the texts; a second one raises the epoch first, then fills them anew', () => {
  const { goal, command, told, epochs } = setUp();
  expect(goal.instruction).toBeNull();
  expect(command('tidy up')).toBe(true);
  expect(command('tidy up')).toBe(false);
  expect(command('wash up')).toBe(true);
  expect(told).toEqual(['Task: tidy up. Subtask: |Scene: ', 'epoch 1', 'Task: wash up. Subtask: |Scene: ']);
  expect(epochs).toEqual([1]);
});

test('a subtask is the instruction of the next frames; nothing is superseded, equal and empty texts are no change', () => {
  const { goal, command, told, log, epochs } = setUp();
  command('tidy up');
  goal.frame(10n);
  const before = told.length;
  expect(goal.answer('subtask', ' lift the cup\n', 10n)).toBe(true);
  expect(goal.instruction).toBe('lift the cup');
  for (const text of ['lift the cup', ' lift the cup', '', ' \n']) {
    expect(goal.answer('subtask', text, 11n)).toBe(false);
  }
  expect(goal.answer('narration', 'a cup', 12n)).toBe(false);
  expect(goal.answer('subtask', 'put it down', 12n)).toBe(true);
  expect(told).toHaveLength(before);
  expect(epochs).toEqual([]);
  expect(log).toEqual([
    'instruction: tidy up',
    'instruction, set by subtask: lift the cup',
    'instruction, set by subtask: put it down',
  ]);
});

test('a new command wins over the subtask, and answers to the old one come too late', () => {
  const { goal, command, epochs } = setUp();
  command('tidy up');
  goal.frame(10n);
  goal.answer('subtask', 'lift the cup', 10n);
  expect(command('wash up')).toBe(true);
  expect(goal.instruction).toBe('wash up');
  expect(epochs).toEqual([1]);
  expect(goal.answer('subtask', 'put it down', 10n)).toBe(false);
  goal.frame(20n);
  expect(goal.answer('subtask', 'put it down', 19n)).toBe(false);
  expect(goal.answer('subtask', 'open the tap', 20n)).toBe(true);
  // The same command again is no change: the hierarchy goes on.
  expect(command('wash up')).toBe(false);
  expect(goal.instruction).toBe('open the tap');
  // But a command whose text is that of the subtask is a new command.
  expect(command('open the tap')).toBe(true);
  expect(goal.epoch).toBe(2);
});

test('a reset goes back to the command and ends everything; the clock may have gone back', () => {
  const { goal, command, told } = setUp();
  command('tidy up');
  goal.frame(1000n);
  goal.answer('subtask', 'lift the cup', 1000n);
  goal.beginAnew();
  expect(goal.instruction).toBe('tidy up');
  expect(told.at(-1)).toBe('epoch 1 all');
  expect(goal.answer('subtask', 'lift the cup', 1000n)).toBe(false);
  goal.frame(5n);
  expect(goal.answer('subtask', 'lift the cup', 5n)).toBe(true);
});

test('a live change keeps the command in the texts', () => {
  const { goal, command, told } = setUp();
  command('tidy up');
  goal.frame(1n);
  goal.answer('subtask', 'lift the cup', 1n);
  goal.parameters(new Map([...VALUES, ['narration.text', 'I see: ']]));
  expect(told.at(-1)).toBe('Task: tidy up. Subtask: |I see: ');
});

test('any order: the text in force is the last command or a later answer, and epochs only grow with commands', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('command' as const), text: fc.constantFrom('a', 'b', 'c') }),
    fc.record({ do: fc.constant('answer' as const), text: fc.constantFrom('a', 'b', 'x', '') }),
    fc.record({ do: fc.constant('frame' as const), text: fc.constant('') }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), steps => {
      const { goal, command, told } = setUp();
      let stamp = 0n;
      let commanded: string | null = null;
      let inForce: string | null = null;
      let framed = false;
      let changes = 0;
      for (const { do: what, text } of steps) {
        if (what === 'command') {
          const isNew = text !== commanded;
          expect(command(text)).toBe(isNew);
          if (isNew)
            [changes, commanded, inForce, framed] = [changes + 1, text, text, commanded === null && framed];
        } else if (what === 'frame') {
          goal.frame(++stamp);
          framed = true;
        } else if (commanded !== null) {
          goal.answer('subtask', text, stamp);
          if (framed && text !== '') inForce = text;
        }
      }
      expect(goal.instruction).toBe(inForce);
      expect(goal.epoch).toBe(Math.max(0, changes - 1));
      expect(told.filter(line => line.startsWith('epoch'))).toHaveLength(goal.epoch);
    }),
  );
});
