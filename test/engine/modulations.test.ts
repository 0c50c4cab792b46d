/** The expert's time condition against the published implementations. */
import { join } from 'node:path';
import { formulaTensor } from '../../src/builder/formula';
import { SafetensorsFile } from '../../src/builder/safetensors';
import { denoiseTimes, timeCondition, timeEmbedding } from '../../src/engine/modulations';
import { readModelConfig } from '../../src/model/config';
import { tensorShapes } from '../../src/model/tensors';
import { goldenDir } from '../support/engines';

describe.each([['tiny', 1006], ['odd', 2002]] as const)('%s', (name, seed) => {
  const config = readModelConfig(join(goldenDir(name), 'config.json'));
  const shapes = tensorShapes(config);
  const read = (tensor: string) => formulaTensor(tensor, shapes.get(tensor) ?? [], seed);
  const golden = (file: string, tensor: string) => {
    const opened = new SafetensorsFile(join(goldenDir(name), `${file}.safetensors`));
    const values = opened.readFloat32(`full.p1.causal.${tensor}`);
    opened.close();
    return values;
  };
  const largest = (want: Float32Array, got: readonly Float64Array[]) => {
    const flat = got.flatMap(row => [...row]);
    expect(flat.length).toBe(want.length);
    return Math.max(...want.map((v, i) => Math.abs(v - (flat[i] as number))));
  };
  const times = denoiseTimes(10);

  it('denoises at the float32 times of the reference', () => {
    expect(times).toEqual([...golden('goldens_jax', 'time')]);
  });
  it('embeds time', () => {
    const { width } = config.expert;
    const embedded = times.map(t => timeEmbedding(t, width, config.minPeriod, config.maxPeriod));
    expect(largest(golden('goldens_torch', 'time_emb'), embedded)).toBeLessThan(1e-6);
  });
  it('conditions the expert', () => {
    expect(largest(golden('goldens_torch', 'adarms_cond'), times.map(t => timeCondition(config, read, t)))).toBeLessThan(5e-6);
  });
}); // prettier-ignore
