// Sizes of the models whose frame time is estimated. Pure data.

const PI05 = {
  vision: { width: 1152, layers: 27, mlp: 4304, heads: 16, patch: 14, image: 224 },
  language: { width: 2048, layers: 18, heads: 8, headDim: 256, mlp: 16384, vocab: 257152 },
  expert: { width: 1024, mlp: 4096 },
  actionDim: 32,
  denoiseSteps: 10,
};

/** `cameras`: present ones. `prompt`: tokens behind the image tokens. `horizon`: steps of a chunk. */
export const MODELS = {
  pi05: {
    ...PI05,
    title: 'pi0.5, 3 cameras, prompt 200, chunks of 50',
    cameras: 3,
    prompt: 200,
    horizon: 50,
  },
  libero: {
    ...PI05,
    title: 'pi0.5, 2 cameras, prompt 15, chunks of 10',
    cameras: 2,
    prompt: 15,
    horizon: 10,
  },
  bench: {
    title: 'bench model (config/bench.json), 2 cameras, prompt 48, chunks of 10',
    vision: { width: 256, layers: 6, mlp: 1024, heads: 4, patch: 14, image: 224 },
    language: { width: 512, layers: 8, heads: 8, headDim: 64, mlp: 2048, vocab: 8192 },
    expert: { width: 256, mlp: 1024 },
    actionDim: 32,
    denoiseSteps: 10,
    cameras: 2,
    prompt: 48,
    horizon: 10,
  },
};

/** What the paper's implementation computes for the same robot: every slot, masked or not, and 100 prompt slots. */
export const PAPER_PREFIX = { cameras: 3, prompt: 100 };
