/** Where the model runs (O-19): providers that are not there are tried, told and passed over. */
import type { OxygenError } from '../../src/core/errors';
import { chooseProvider } from '../../src/engine/providers';

const missing = async (): Promise<void> => {
  throw new Error(
    '/onnxruntime_src/core/session/provider.cc:12 onnxruntime::Load libcuda is not there\nstack',
  );
};
const onlyCpu = (provider: string): Promise<void> => (provider === 'cpu' ? Promise.resolve() : missing());

test('the first that works, and why the others do not', async () => {
  expect(await chooseProvider(['tensorrt', 'cuda', 'cpu'], onlyCpu)).toEqual({
    provider: 'cpu',
    notes: ['tensorrt is not available: libcuda is not there', 'cuda is not available: libcuda is not there'],
  });
  expect(await chooseProvider(['cuda', 'cpu'], async () => undefined)).toEqual({
    provider: 'cuda',
    notes: [],
  });
});

test('none: an error with every reason and the cure', async () => {
  const error = await chooseProvider(['tensorrt', 'cuda'], onlyCpu).catch((e: unknown) => e as OxygenError);
  expect(error).toMatchObject({ code: 'PROVIDER_MISSING' });
  expect((error as OxygenError).message).toMatch(
    /\[tensorrt, cuda\] can be used: tensorrt is not .*; cuda is not .*add cpu/,
  );
});
