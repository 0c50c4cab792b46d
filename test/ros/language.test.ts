import { LanguageDesk } from '../../src/ros/language';
import type { LanguageRequestMessage } from '../../src/ros/messages';

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
  expect(new LanguageDesk(64).admit(request())).toMatchObject({ request: { deadlineInMs: null } });
});

test.each<[string, Partial<LanguageRequestMessage>, RegExp]>([
  ['max_tokens 0', { max_tokens: 0 }, /max_tokens is 0; 1 to 64 are allowed/],
  ['max_tokens negative', { max_tokens: -5 }, /max_tokens is -5/],
  ['max_tokens huge', { max_tokens: 2 ** 31 - 1 }, /max_tokens is 2147483647/],
  ['temperature negative', { temperature: -0.1 }, /temperature/],
  ['temperature NaN', { temperature: NaN }, /temperature/],
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
