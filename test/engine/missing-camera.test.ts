/** O-04 c: a camera slot that the robot does not have takes no place in the prefix. */
import { ModelSessions } from '../../src/engine/model-sessions';
import { runPrefill } from '../../src/engine/onnx-executor';
import { engineDir } from '../support/engines';

it('O-04 c: without the right wrist the first text token has position 512, not 768', async () => {
  const sessions = await ModelSessions.load(engineDir('tiny'), 1);
  try {
    const { headDim, width } = sessions.manifest.model.language;
    const cameras = ['base_0_rgb', 'left_wrist_0_rgb'];
    const images = Uint8Array.from({ length: 2 * 224 * 224 * 3 }, (_, i) => i % 251);
    const promptIds = [2, 30, 40];
    const prefix = await runPrefill(sessions, { cameras, images, promptIds }, false);
    expect(prefix.length).toBe(2 * 256 + promptIds.length);
    expect(prefix.kv.k[0]).toHaveLength(prefix.length * headDim);

    // the same tokens at explicit positions: equal at 512, different at 768
    const x = new Float32Array(prefix.length * width);
    x.set(await sessions.vision(images, 2));
    x.set(sessions.host.embed(promptIds), 512 * width);
    const at = async (first: number) => {
      const positions = Array.from({ length: prefix.length }, (_, i) => (i < 512 ? i : first + i - 512));
      const tokens = prefix.length;
      return sessions.language({
        batch: 1, tokens, x, positions, pastLengths: [0], past: null, causalFrom: null, want: [tokens - 1],
      }); // prettier-ignore
    };
    const textKey = (k: Float32Array | undefined) => Array.from(k!.subarray(512 * headDim, 513 * headDim));
    expect(textKey((await at(512)).kv.k[0])).toEqual(textKey(prefix.kv.k[0]));
    expect(textKey((await at(768)).kv.k[0])).not.toEqual(textKey(prefix.kv.k[0]));
  } finally {
    await sessions.release();
  }
});
