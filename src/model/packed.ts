/** Weights in the form that ONNX Runtime keeps them in memory: specific to its version and to the kind of CPU. */

export interface PackedWeight {
  /** Operator and hash of the packed bytes; ONNX Runtime looks it up by that. */
  readonly key: string;
  /** Where ONNX Runtime wrote it. */
  readonly parts: readonly { readonly file: string; readonly offset: number; readonly length: number }[];
}

/** Packs the one weight of a one-product model, whose external data lie in `dir`; null when it is not packed. */
export type PackModel = (dir: string, model: Uint8Array) => Promise<PackedWeight | null>;
