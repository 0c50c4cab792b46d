// Work on a GPU as milliseconds, and a frame from its stages. Pure.
import { decodeWork, denoiseWork, prefillWork, transfers, visionWork } from './work.mjs';

/**
 * Products run at the speed of the arithmetic or of the weights' memory, whichever is slower; the passes between them
 * come on top; and no stage is faster than the host can start its operators.
 */
export function stageMs({ flops, weightBytes, passBytes, operators }, gpu) {
  const arithmetic = flops / (gpu.tflops * gpu.productShare * 1e9);
  const memory = bytes => bytes / (gpu.memoryGBs * gpu.memoryShare * 1e6);
  return Math.max(
    Math.max(arithmetic, memory(weightBytes)) + memory(passBytes),
    (operators * gpu.launchUs) / 1e3,
  );
}

export const uploadMs = (bytes, gpu) => bytes / (gpu.uploadGBs * 1e6);

/** To the host, and once more into an array of JavaScript. */
export const fetchMs = (bytes, gpu) => bytes / (gpu.downloadGBs * 1e6) + (bytes / 1e6) * gpu.copyMsPerMB;

/** Stages of one frame until its chunk is out: one run of the frame graph. */
export function frameMs(model, gpu) {
  const moved = transfers(model);
  const stages = {
    upload: uploadMs(moved.frameIn, gpu),
    vision: stageMs(visionWork(model), gpu),
    prefill: stageMs(prefillWork(model), gpu),
    denoise: model.denoiseSteps * stageMs(denoiseWork(model), gpu),
    fetch: fetchMs(moved.frameOut, gpu),
  };
  return { ...stages, total: Object.values(stages).reduce((sum, ms) => sum + ms, 0) };
}

/** TensorRT joins elementwise operators with the products before them; what is left of the passes is a judgement. */
const FUSED_PASSES = 0.4;
/** Its engines start their kernels from one call. */
const fused = work => ({ ...work, passBytes: FUSED_PASSES * work.passBytes, operators: 0 });

/** The same frame on the two engines of the TensorRT target: keys and values go to the host and up again in between. */
export function tensorRtFrameMs(model, gpu) {
  const moved = transfers(model);
  const stages = {
    upload: uploadMs(moved.frameIn, gpu),
    prefill: stageMs(fused(visionWork(model)), gpu) + stageMs(fused(prefillWork(model)), gpu),
    handOver: fetchMs(moved.row, gpu) + uploadMs(moved.row, gpu),
    denoise: model.denoiseSteps * stageMs(fused(denoiseWork(model)), gpu),
  };
  return { ...stages, total: Object.values(stages).reduce((sum, ms) => sum + ms, 0) };
}

/** One run of the decode graph: `steps` steps of `batch` rows. `casting`: float32 to float16 once, on the device. */
export function burstMs(model, gpu, batch, steps) {
  const bytes = batch * transfers(model).row;
  const casting = (1.5 * bytes) / (gpu.memoryGBs * gpu.memoryShare * 1e6);
  const upload = uploadMs(bytes, gpu) + casting;
  const compute = steps * stageMs(decodeWork(model, batch), gpu);
  return { upload, compute, total: upload + compute };
}

/** The copies of a port that keeps the three graphs of the CPU and their cache as inputs and outputs. */
export function copiesMs(model, gpu, batch, steps) {
  const { row } = transfers(model);
  return {
    ours: uploadMs(batch * row, gpu) / steps,
    naive: uploadMs(batch * row, gpu) + fetchMs(batch * row, gpu),
    denoiseOurs: 0,
    denoiseNaive: model.denoiseSteps * uploadMs(row, gpu),
  };
}
