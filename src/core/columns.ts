/** Rows of cells as lines for a terminal: the columns in `left` to the left, the others to the right. */
export function columns(rows: readonly (readonly string[])[], left: readonly number[] = [0]): string[] {
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map(row => row[i]?.length ?? 0))) ?? [];
  return rows.map(row =>
    row
      .map((cell, i) => (left.includes(i) ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  '),
  );
}
