// What has to be computed, read and moved for each stage of a frame, from the sizes of the model. Pure.
//
// `flops`: of products, two per multiply-add. `weightBytes`: weights and keys and values that are read once, float16.
// `passBytes`: values that elementwise operators, norms and softmax write and read again between the products.
// `operators`: started one after the other by the host.

const HALF = 2;
const FLOAT = 4;

/** Operators per layer and besides, as in the graphs of `oxygen build --target cuda`; a test counts them there. */
export const OPERATORS = {
  vision: { layer: 21, rest: 25 },
  prefill: { layer: 39, rest: 90 },
  denoise: { layer: 35, rest: 16 },
  decode: { layer: 41, rest: 83 },
};

export const operators = (stage, layers) => OPERATORS[stage].layer * layers + OPERATORS[stage].rest;

/** Numbers in the weights of one decoder layer without its norms: q, k, v, o, gate, up, down; one key-value head. */
export const layerWeights = ({ width, mlp }, { heads, headDim }) =>
  width * headDim * (2 * heads + 2) + 3 * width * mlp;

export const imageTokens = ({ vision, cameras }) => cameras * (vision.image / vision.patch) ** 2;
export const prefixLength = model => imageTokens(model) + model.prompt;

/** Numbers in the weights that each stage reads. */
export function weights({ vision: v, language: l, expert: e, actionDim }) {
  return {
    vision:
      3 * v.patch ** 2 * v.width + v.layers * (4 * v.width ** 2 + 2 * v.width * v.mlp) + v.width * l.width,
    layers: l.layers * layerWeights(l, l),
    head: l.width * l.vocab,
    expert: l.layers * layerWeights(e, l) + 2 * e.width * actionDim,
  };
}

/** Bytes of the keys and values of one position. */
export const kvBytes = ({ language: l }, element) => 2 * l.layers * l.headDim * element;

export function visionWork(model) {
  const { vision: v } = model;
  const each = imageTokens(model) / model.cameras;
  const tokens = imageTokens(model);
  const count = weights(model).vision;
  return {
    flops: 2 * tokens * count + v.layers * 4 * tokens * each * v.width,
    weightBytes: HALF * count,
    // two passes over the MLP's values in float16, six over the residual stream and three over the scores in float32
    passBytes: v.layers * tokens * (4 * HALF * v.mlp + 6 * FLOAT * v.width + 3 * FLOAT * v.heads * each),
    operators: operators('vision', v.layers),
  };
}

/** The last layer computes keys and values for all positions and the rest for the last one. */
export function prefillWork(model) {
  const { language: l } = model;
  const tokens = prefixLength(model);
  const w = weights(model);
  const keysAndValues = 2 * l.width * l.headDim;
  const attention = 4 * tokens * l.heads * l.headDim;
  const whole = l.layers - 1;
  return {
    flops:
      2 * tokens * (whole * layerWeights(l, l) + keysAndValues) +
      2 * (layerWeights(l, l) - keysAndValues + w.head) +
      attention * (whole * tokens + 1),
    weightBytes: HALF * (w.layers + w.head),
    // gate, up, gelu, product: six passes in float16; twelve over the residual stream, five over the scores in float32
    passBytes: whole * tokens * (6 * HALF * l.mlp + 12 * FLOAT * l.width + 5 * FLOAT * l.heads * tokens),
    operators: operators('prefill', l.layers),
  };
}

/** One Euler step. */
export function denoiseWork(model) {
  const { language: l, expert: e, horizon } = model;
  const keys = prefixLength(model) + horizon;
  const count = weights(model).expert;
  return {
    flops: 2 * horizon * count + l.layers * 4 * horizon * keys * l.heads * l.headDim,
    weightBytes: HALF * count + prefixLength(model) * kvBytes(model, HALF),
    passBytes: l.layers * horizon * (6 * HALF * e.mlp + 12 * FLOAT * e.width + 5 * FLOAT * l.heads * keys),
    operators: operators('denoise', l.layers),
  };
}

/** One step of a batch, `generated` positions behind the prefix. */
export function decodeWork(model, batch, generated = 16) {
  const { language: l } = model;
  const keys = prefixLength(model) + generated;
  const w = weights(model);
  return {
    flops: 2 * batch * (w.layers + w.head) + l.layers * 4 * batch * keys * l.heads * l.headDim,
    weightBytes: HALF * (w.layers + w.head) + batch * keys * kvBytes(model, HALF),
    passBytes: l.layers * batch * (6 * HALF * l.mlp + 12 * FLOAT * l.width + 5 * FLOAT * l.heads * keys),
    operators: operators('decode', l.layers),
  };
}

/** Bytes between host and device. Keys and values are float32 in the host's cache. */
export function transfers(model) {
  const { vision: v, language: l, expert: e, denoiseSteps } = model;
  return {
    frameIn:
      model.cameras * 3 * v.image ** 2 +
      FLOAT * (denoiseSteps * (2 * l.layers + 1) * 3 * e.width + model.horizon * model.actionDim),
    frameOut: prefixLength(model) * kvBytes(model, FLOAT) + FLOAT * model.horizon * model.actionDim,
    row: prefixLength(model) * kvBytes(model, FLOAT),
  };
}

/** Bytes of weights on the device: the frame graph and the decode graph hold one copy of the language model each. */
export function deviceBytes(model) {
  const w = weights(model);
  const language = w.layers + w.head;
  return { frame: HALF * (w.vision + language + w.expert), decode: HALF * language };
}
