/** What hears the node in a replay: a result that cannot be written is told to who waits for time, not to the node. */
import { OxygenError } from '../../src/core/errors';
import type { Recorder } from '../../src/replay/recorder';
import type { ResultBag } from '../../src/replay/result-bag';
import { Witness } from '../../src/replay/witness';

test('the node publishes on, and the first reason is thrown when it is asked for', () => {
  const full = new OxygenError('RESULT_NOT_WRITTEN', 'the disk is full');
  const write = jest
    .fn()
    .mockImplementationOnce(() => undefined)
    .mockImplementationOnce(() => {
      throw full;
    })
    .mockImplementation(() => {
      throw new Error('later');
    });
  const witness = new Witness({
    recorder: {} as Recorder,
    out: { write } as unknown as ResultBag,
    resolve: name => `/${name}`,
    nowNs: () => 7n,
    aheadNs: () => 0n,
    command: () => new Float64Array(),
  });
  witness.published('caption', { data: 'a' });
  witness.check();
  witness.published('caption', { data: 'b' });
  witness.published('caption', { data: 'c' });
  expect(() => witness.check()).toThrow(full);
  expect(write).toHaveBeenCalledTimes(3);
});
