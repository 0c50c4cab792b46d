// What is assumed of each GPU. Peaks are those of the data sheets; everything else is an assumption to be replaced by
// a measurement (docs/nvidia.md says where each number comes from).

/**
 * tflops: dense float16 products with float32 sums. productShare: reached by large products. memoryGBs: device memory.
 * memoryShare: reached when reading. launchUs: time of the host for one operator. uploadGBs, downloadGBs: ordinary
 * (pageable) host memory to and from the device. copyMsPerMB: the binding's copy of every fetched output.
 */
export const GPUS = [
  {
    name: 'RTX 4090',
    tflops: 165.2,
    productShare: 0.75,
    memoryGBs: 1008,
    memoryShare: 0.8,
    launchUs: 5,
    uploadGBs: 10,
    downloadGBs: 8,
    copyMsPerMB: 0.5,
  },
  {
    name: 'AGX Orin 64 GB',
    tflops: 42.6,
    productShare: 0.6,
    memoryGBs: 204.8,
    memoryShare: 0.75,
    launchUs: 10,
    uploadGBs: 10,
    downloadGBs: 10,
    copyMsPerMB: 0.7,
  },
  {
    name: 'AGX Thor',
    tflops: 258.5,
    productShare: 0.35,
    memoryGBs: 273,
    memoryShare: 0.75,
    launchUs: 8,
    uploadGBs: 15,
    downloadGBs: 15,
    copyMsPerMB: 0.5,
  },
];

const FIELDS = Object.keys(GPUS[0]);

/** A GPU as a person describes it in a file: every field, all of them positive. Throws with the fields at fault. */
export function gpuOf(value) {
  const wrong = FIELDS.filter(field =>
    field === 'name'
      ? typeof value?.name !== 'string'
      : !(Number.isFinite(value?.[field]) && value[field] > 0),
  );
  if (wrong.length > 0)
    throw new Error(`a GPU needs ${FIELDS.join(', ')}; wrong or missing: ${wrong.join(', ')}`);
  return Object.fromEntries(FIELDS.map(field => [field, value[field]]));
}
