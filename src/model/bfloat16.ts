/** bfloat16 words as float32, exact: they are its upper halves. */
export function fromBfloat16(words: Uint16Array): Float32Array {
  const bits = new Uint32Array(words.length);
  for (let i = 0; i < bits.length; i++) bits[i] = (words[i] as number) << 16;
  return new Float32Array(bits.buffer);
}
