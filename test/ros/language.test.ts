import { LanguageDesk } from '../../src/ros/language';
import type { LanguageRequestMessage } from '../../src/ros/messages';
import { standingInput } from '../support/standing';

const request = (over: Partial<LanguageRequestMessage> = {}): LanguageRequestMessage => ({
  id: 'a',
  text: 'Subtask: ',
  max_tokens: 8,
  temperature: 0,
  top_k: 0,
  top_p: 0,
  seed: 0n,
  priority: 0,
  deadline: { sec: 0, nanosec: 0 },
  keep_on_instruction: false,
  ...over,
});

test('an empty id gets one of ours, which no open request has', () => {
  const desk = new LanguageDesk(64);
  desk.admit(request({ id: 'request-1' }));
  const admission = desk.admit(request({ id: '' }));
  expect(admission).toMatchObject({ admitted: true, request: { id: 'request-2' } });
});

test('fields go over with their units', () => {
  const deadline = { sec: 1, nanosec: 500_000_000 };
  const admission = new LanguageDesk(64).admit(
    request({ deadline, seed: 2n ** 60n + 5n, keep_on_instruction: true }),
  );
  expect(admission).toMatchObject({
    request: {
      deadlineInMs: 1500,
      samplingSeed: 5,
      keepOnInstruction: true,
      maxTokens: 8,
      text: 'Subtask: ',
    },
  });
  expect(new LanguageDesk(64).admit(request())).toMatchObject({
    request: { deadlineInMs: null, topK: 0, topP: 1 },
  });
  const sampled = request({ temperature: 1, top_k: 40, top_p: 0.5 });
  expect(new LanguageDesk(64).admit(sampled)).toMatchObject({ request: { topK: 40, topP: 0.5 } });
});

test.each<[string, Partial<LanguageRequestMessage>, RegExp]>([
  ['max_tokens 0', { max_tokens: 0 }, /max_tokens is 0; 1 to 64 are allowed/],
  ['max_tokens negative', { max_tokens: -5 }, /max_tokens is -5/],
  ['max_tokens huge', { max_tokens: 2 ** 31 - 1 }, /max_tokens is 2147483647/],
  ['temperature negative', { temperature: -0.1 }, /temperature/],
  ['temperature NaN', { temperature: NaN }, /temperature/],
  ['top_k negative', { top_k: -1 }, /top_k is -1; it must be 0 \(off\) or more/],
  ['top_p above 1', { top_p: 1.01 }, /top_p is 1.01; it must be from 0 \(off\) to 1/],
  ['top_p NaN', { top_p: NaN }, /top_p/],
  ['deadline negative', { deadline: { sec: -1, nanosec: 0 } }, /deadline/],
  ['text of a megabyte', { text: 'x'.repeat(1_000_000) }, /more than 4096 letters/],
  ['endless id', { id: 'x'.repeat(1_000_000) }, /more than 128 letters/],
])('rejected with a finish message: %s', (_, over, message) => {
  const admission = new LanguageDesk(64).admit(request(over));
  expect(admission).toMatchObject({ admitted: false, code: 'REQUEST_INVALID', announce: true });
  expect((admission as { message: string }).message).toMatch(message);
  expect((admission as { message: string }).message.length).toBeLessThan(200);
});

test('an id in use is refused without a finish message, which would look like the end of the first', () => {
  const desk = new LanguageDesk(64);
  desk.admit(request());
  expect(desk.admit(request())).toMatchObject({ admitted: false, announce: false });
  expect(desk.admit(request({ max_tokens: 0 }))).toMatchObject({ admitted: false, announce: false });
  desk.close('a');
  expect(desk.admit(request())).toMatchObject({ admitted: true });
});

test('the caption shows every open request, then the last finished one', () => {
  const desk = new LanguageDesk(64);
  desk.admit(request());
  desk.admit(request({ id: 'b', text: 'Scene: ' }));
  desk.append('a', 'move left');
  desk.append('b', 'red\nnear');
  desk.append('unknown', 'nobody');
  expect(desk.caption()).toBe('Subtask: move left\nScene: red near');
  desk.close('a');
  expect(desk.caption()).toBe('Scene: red near');
  desk.close('b');
  expect(desk.caption()).toBe('Scene: red near');
});

describe('standing requests', () => {
  const narration = standingInput('narration');

  test('one opens with its first token, is in the caption, and gives its text at the end', () => {
    const desk = new LanguageDesk(64);
    desk.standing([narration]);
    desk.admit(request());
    expect(desk.isOpen('narration/0')).toBe(false);
    desk.append('narration/0', 'a red ');
    desk.append('narration/0', 'block');
    desk.append('other/0', 'nobody');
    expect(desk.isOpen('narration/0')).toBe(true);
    expect(desk.caption()).toBe('Subtask:\nScene: a red block');
    desk.standing([]); // what runs keeps its name
    expect(desk.close('narration/0')).toEqual({ standing: 'narration', text: 'a red block' });
    expect(desk.close('narration/1')).toEqual({ standing: null, text: '' });
    desk.append('a', 'turn');
    expect(desk.close('a')).toEqual({ standing: null, text: 'turn' });
  });

  test('their ids are theirs', () => {
    const desk = new LanguageDesk(64);
    desk.standing([narration]);
    expect(desk.admit(request({ id: 'narration/3' }))).toMatchObject({
      admitted: false,
      announce: false,
      message: expect.stringMatching(/ids that begin with narration\/ are those of a standing request/),
    });
    for (const id of ['narration', 'narration2/3', '/3', 'other/1']) {
      expect(desk.admit(request({ id }))).toMatchObject({ admitted: true });
    }
  });
});
