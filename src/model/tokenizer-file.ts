/** What we need of a Hugging Face `tokenizer.json`, checked; a quarter of a million tokens in about a second. */
import { z } from 'zod';
import { byteToken, MAX_IDS, MergeTable } from './tokenizer-bpe';

const pattern = z.union([z.object({ String: z.string() }), z.object({ Regex: z.string() })]);

// Kinds that Gemma's files are made of; the library does others too, but not always as the Rust library does.
const normalizer = z.discriminatedUnion('type', [
  z.object({ type: z.literal('Replace'), pattern, content: z.string() }),
  z.object({ type: z.literal('Prepend'), prepend: z.string() }),
]);
const split = z.object({
  type: z.literal('Split'),
  pattern,
  behavior: z.enum(['Removed', 'Isolated', 'MergedWithNext', 'MergedWithPrevious']),
  invert: z.literal(false),
});
type Split = z.infer<typeof split>;

const nothing = z.union([z.null(), z.literal(''), z.literal(0)]).optional();

const fileSchema = z.looseObject({
  added_tokens: z.array(
    z.looseObject({
      id: z.int().nonnegative(),
      content: z.string().min(1),
      special: z.boolean(),
      single_word: z.literal(false).optional(),
    }),
  ),
  normalizer: z
    .discriminatedUnion('type', [
      ...normalizer.options,
      z.object({ type: z.literal('Sequence'), normalizers: z.array(normalizer) }),
    ])
    .nullable(),
  pre_tokenizer: z
    .discriminatedUnion('type', [
      split,
      z.object({ type: z.literal('Sequence'), pretokenizers: z.array(split) }),
    ])
    .nullable(),
  decoder: z.object({
    type: z.literal('Sequence'),
    // Replace a word mark, join byte tokens, join all: the one order that `Tokenizer.piece` stands for.
    decoders: z.tuple([
      z.object({
        type: z.literal('Replace'),
        pattern: z.object({ String: z.string().min(1) }),
        content: z.string(),
      }),
      z.object({ type: z.literal('ByteFallback') }),
      z.object({ type: z.literal('Fuse') }),
    ]),
  }),
  model: z.looseObject({
    type: z.literal('BPE'),
    byte_fallback: z.literal(true),
    dropout: nothing,
    continuing_subword_prefix: nothing,
    end_of_word_suffix: nothing,
    ignore_merges: z.boolean().nullish(),
    // Looked through below: a schema per entry would cost seconds.
    vocab: z.custom<Record<string, unknown>>(v => typeof v === 'object' && v !== null && !Array.isArray(v)),
    merges: z.custom<unknown[]>(Array.isArray),
    /** Ours: ranks that are not simply 0, 1, 2… (see sentencepiece-json.ts). */
    merge_ranks: z.custom<unknown[]>(Array.isArray).optional(),
  }),
});

type TokenizerJson = z.infer<typeof fileSchema>;

export interface TokenizerFile {
  /** What the library takes: everything but vocabulary and merges. */
  readonly config: object;
  /** By id; ids that nobody has are holes. */
  readonly tokens: readonly (string | undefined)[];
  readonly ids: ReadonlyMap<string, number>;
  /** Ids that add no text and that no text becomes. */
  readonly special: ReadonlySet<number>;
  readonly merges: MergeTable;
  readonly ignoreMerges: boolean;
  /** The mark that stands for a space in tokens, and what it stands for. */
  readonly mark: { readonly token: string; readonly text: string };
}

/** Throws a plain Error with the reason; the caller knows the path. */
export function parseTokenizerFile(raw: unknown): TokenizerFile {
  const parsed = fileSchema.safeParse(raw);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    throw new Error(`${issue.path.join('.') || 'the file'}: ${issue.message}`);
  }
  const json = parsed.data;
  const { tokens, ids } = vocabulary(json);
  checkBytes(ids);
  const [replace] = json.decoder.decoders;
  return {
    config: libraryConfig(json),
    tokens,
    ids,
    special: new Set(json.added_tokens.filter(token => token.special).map(token => token.id)),
    merges: mergeTable(json, ids),
    ignoreMerges: json.model.ignore_merges === true,
    mark: { token: replace.pattern.String, text: replace.content },
  };
}

function vocabulary({ model: { vocab }, added_tokens }: TokenizerJson): {
  tokens: (string | undefined)[];
  ids: Map<string, number>;
} {
  const tokens: (string | undefined)[] = [];
  const ids = new Map<string, number>();
  const add = (token: string, id: unknown): void => {
    if (!Number.isInteger(id) || (id as number) < 0 || (id as number) >= MAX_IDS) {
      throw new Error(`the token ${token} has the id ${id}`);
    }
    const other = tokens[id as number];
    if (other !== undefined) throw new Error(`the tokens ${other} and ${token} have the same id ${id}`);
    tokens[id as number] = token;
    ids.set(token, id as number);
  };
  for (const token in vocab) add(token, vocab[token]);
  for (const { content, id } of added_tokens) {
    const known = ids.get(content);
    if (known === undefined) add(content, id);
    else if (known !== id) throw new Error(`the token ${content} has the ids ${known} and ${id}`);
  }
  // A table of tokens has a slot for every id: its size follows the file's, not a number in it.
  if (tokens.length > 2 * ids.size + 1024) {
    throw new Error(
      `the token ${tokens.at(-1)} has the id ${tokens.length - 1}, but there are ${ids.size} tokens`,
    );
  }
  return { tokens, ids };
}

/** Every text can be encoded: what the vocabulary lacks is written in bytes. */
function checkBytes(ids: ReadonlyMap<string, number>): void {
  for (let byte = 0; byte < 256; byte++) {
    const token = byteToken(byte);
    // Gemma has the tab under its own name.
    const character = byte < 128 && ids.has(String.fromCharCode(byte));
    if (!ids.has(token) && !character) throw new Error(`the token ${token} is missing`);
  }
}

/** Merges are written `left right`, or as pairs when a token holds a space. */
function mergeTable({ model }: TokenizerJson, ids: ReadonlyMap<string, number>): MergeTable {
  const { merges, merge_ranks: ranks } = model;
  const table = new MergeTable(merges.length);
  merges.forEach((merge, i) => {
    let left: unknown, right: unknown;
    if (typeof merge === 'string') {
      const space = merge.indexOf(' ');
      left = merge.slice(0, Math.max(0, space));
      right = merge.slice(space + 1);
    } else if (Array.isArray(merge)) {
      [left, right] = merge as unknown[];
    }
    if (typeof left !== 'string' || typeof right !== 'string' || left === '' || right === '') {
      throw new Error(`model.merges.${i} is no pair of tokens`);
    }
    const merged = ids.get(left + right);
    if (merged === undefined) throw new Error(`model.merges.${i}: the token ${left}${right} is missing`);
    table.add(merged, left.length, ranks === undefined ? i : ranks[i]);
  });
  table.finish();
  return table;
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/**
 * The library cuts around every match, whatever `behavior` says. A match that belongs to its neighbour is therefore
 * rewritten as a pattern that takes the neighbour in.
 */
function rewriteSplit(step: Split): Split {
  const match = 'String' in step.pattern ? escaped(step.pattern.String) : step.pattern.Regex;
  const others = `(?:(?!${match})[\\s\\S])*`;
  switch (step.behavior) {
    case 'Removed':
    case 'Isolated':
      return step;
    case 'MergedWithNext':
      return { ...step, behavior: 'Isolated', pattern: { Regex: `(?:${match})${others}` } };
    case 'MergedWithPrevious':
      return { ...step, behavior: 'Isolated', pattern: { Regex: `${others}(?:${match})` } };
  }
}

const rewriteSplits = (steps: TokenizerJson['pre_tokenizer']): TokenizerJson['pre_tokenizer'] =>
  steps?.type === 'Sequence'
    ? { ...steps, pretokenizers: steps.pretokenizers.map(rewriteSplit) }
    : steps && rewriteSplit(steps);

/**
 * The file as the library needs it. Special tokens are left out: as in sentencepiece, `<eos>` in an instruction is
 * five characters and never the end token.
 */
const libraryConfig = (json: TokenizerJson): object => ({
  ...json,
  added_tokens: json.added_tokens.filter(token => !token.special),
  pre_tokenizer: rewriteSplits(json.pre_tokenizer),
  // Adds special tokens, which is done here by those who know whether they are wanted.
  post_processor: null,
  model: { type: 'BPE', vocab: {}, merges: [] },
});
