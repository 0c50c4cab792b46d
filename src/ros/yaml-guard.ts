/**
 * What the YAML library must not be given. Its parser calls itself once per level: some thousand brackets end in a stack
 * overflow, which V8 may answer by ending the process. Some of its checks take the square of the length.
 */

/** Far above any robot or parameter file. */
const MAX_LENGTH = 64 * 1024;
const MAX_LINE = 4096;
const MAX_DEPTH = 64;
/** Spaces in front of a line: one level of nesting needs at least one. */
const MAX_INDENT = 128;

/** Why `text` is refused unparsed, or null. Brackets in quoted text count too: a file with that many is no configuration. */
export function refusedYaml(text: string): string | null {
  if (text.length > MAX_LENGTH) return `has ${text.length} characters, at most ${MAX_LENGTH} are read`;
  if (/[\u0000-\u0008\u000e-\u001f\ufffd]/.test(text)) return 'is binary, not text';
  let flow = 0;
  let deepest = 0;
  for (const line of text.split('\n')) {
    if (line.length > MAX_LINE) return `has a line of more than ${MAX_LINE} characters`;
    const lead = /^[\s?:-]*/.exec(line)?.[0] ?? '';
    const marks = lead.replace(/\s/g, '').length;
    if (lead.length - marks > MAX_INDENT) return `has lines indented by more than ${MAX_INDENT} spaces`;
    for (const sign of line) {
      if (sign === '[' || sign === '{') deepest = Math.max(deepest, ++flow);
      else if (sign === ']' || sign === '}') flow = Math.max(0, flow - 1);
    }
    deepest = Math.max(deepest, line.startsWith('---') ? 0 : marks);
  }
  return deepest > MAX_DEPTH ? `is nested more than ${MAX_DEPTH} levels deep` : null;
}
