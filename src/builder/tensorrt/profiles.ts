/**
 * Shapes that TensorRT's engines are built for, as data: for every input whose shape is not fixed the smallest, the one
 * that kernels are chosen for, and the largest. A shape outside would be refused at run time.
 */
import { imageTokens, longestPrefix, type ModelConfig } from '../../model/config';
import type { TensorRtGraph } from '../../model/tensorrt-engine';

export interface InputProfile {
  readonly input: string;
  readonly min: readonly number[];
  readonly opt: readonly number[];
  readonly max: readonly number[];
}

/**
 * One camera and one token up to all cameras and the longest prompt. Best are the largest: the slowest frame is what a
 * deadline is set by, and kernels for it serve a somewhat shorter prefix as well.
 */
export function tensorRtProfiles(c: ModelConfig): Readonly<Record<TensorRtGraph, readonly InputProfile[]>> {
  const { imageHeight, imageWidth } = c.vision;
  const { layers, headDim } = c.language;
  const input = (name: string, smallest: number, largest: number, shape: (size: number) => number[]) => ({
    input: name,
    min: shape(smallest),
    opt: shape(largest),
    max: shape(largest),
  });
  const past = Array.from({ length: layers }, (_, i) => [`past_k_${i}`, `past_v_${i}`]).flat();
  return {
    prefill: [
      input('images', 1, c.cameraSlots.length, n => [n, imageHeight, imageWidth, 3]),
      input('prompt_ids', 1, c.maxPromptTokens, tokens => [1, tokens]),
    ],
    denoise: past.map(name =>
      input(name, imageTokens(c) + 1, longestPrefix(c), positions => [1, positions, headDim]),
    ),
  };
}

/**
 * The command line that makes an engine file of a graph, but for the paths. The graphs say the type of every value, so
 * the network is strongly typed and no option chooses precisions (weak typing, `--fp16`, would let TensorRT round the
 * residual stream to float16 too, and later versions have it no more). `--noTF32`: what is float32 stays float32.
 */
export function trtexecOptions(profiles: readonly InputProfile[]): string[] {
  const shapes = (which: 'min' | 'opt' | 'max') =>
    profiles.map(p => `${p.input}:${p[which].join('x')}`).join(',');
  return [
    '--stronglyTyped',
    '--noTF32',
    '--skipInference',
    ...(['min', 'opt', 'max'] as const).map(which => `--${which}Shapes=${shapes(which)}`),
  ];
}
