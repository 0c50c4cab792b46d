/** Demosaicing of 8-bit Bayer pictures: each missing colour is the mean of its nearest samples (bilinear). */

/**
 * `redX`, `redY`: place of the red sample in the 2x2 tile at the top left. Rows begin `step` bytes apart; width and
 * height are at least 2. Writes [height, width, 3] RGB into `out`. Beyond an edge the picture is mirrored about its
 * outermost row or column, which keeps every colour in its place of the tile.
 */
export function demosaic(
  data: Uint8Array,
  size: { readonly width: number; readonly height: number; readonly step: number },
  redX: number,
  redY: number,
  out: Uint8Array,
): void {
  const { width, height, step } = size;
  let at = 0;
  for (let y = 0; y < height; y++) {
    const row = y * step;
    const above = (y === 0 ? 1 : y - 1) * step;
    const below = (y === height - 1 ? height - 2 : y + 1) * step;
    // A row holds green and one other colour: red or blue. That one is `near`; the rows beside hold the other, `far`.
    const near = (y & 1) === redY ? 0 : 2;
    const far = 2 - near;
    const greenX = (y & 1) === redY ? 1 - redX : redX;
    for (let x = 0; x < width; x++) {
      const left = x === 0 ? 1 : x - 1;
      const right = x === width - 1 ? width - 2 : x + 1;
      const beside = data[row + left]! + data[row + right]!;
      const upright = data[above + x]! + data[below + x]!;
      if ((x & 1) === greenX) {
        out[at + 1] = data[row + x]!;
        out[at + near] = (beside + 1) >> 1;
        out[at + far] = (upright + 1) >> 1;
      } else {
        const corners =
          data[above + left]! + data[above + right]! + data[below + left]! + data[below + right]!;
        out[at + near] = data[row + x]!;
        out[at + 1] = (beside + upright + 2) >> 2;
        out[at + far] = (corners + 2) >> 2;
      }
      at += 3;
    }
  }
}
