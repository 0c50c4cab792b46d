/** The largest array that `action` asks `type` to make, in elements. */
export function largestAllocation(type: 'Uint8Array' | 'Uint16Array', action: () => void): number {
  const original = globalThis[type];
  let largest = 0;
  const counting = new Proxy(original, {
    construct(target, args: [unknown], newTarget) {
      if (typeof args[0] === 'number') largest = Math.max(largest, args[0]);
      return Reflect.construct(target, args, newTarget) as object;
    },
  });
  Object.assign(globalThis, { [type]: counting });
  try {
    action();
  } finally {
    Object.assign(globalThis, { [type]: original });
  }
  return largest;
}
