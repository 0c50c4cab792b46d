/** What we need of a Hugging Face `tokenizer.json`, and what the JavaScript library cannot do with it. */
import { z } from 'zod';

/** What a token adds to a text: a string, or one raw byte (0..255) of a character that the vocabulary lacks. */
export type TokenPiece = string | number;

const patternSchema = z.union([z.object({ String: z.string() }), z.object({ Regex: z.string() })]);

interface PreTokenizer {
  type: string;
  pretokenizers?: PreTokenizer[] | undefined;
  pattern?: z.infer<typeof patternSchema> | undefined;
  behavior?: string | undefined;
  invert?: boolean | undefined;
}

const preTokenizerSchema: z.ZodType<PreTokenizer> = z.looseObject({
  type: z.string(),
  pattern: patternSchema.optional(),
  behavior: z.string().optional(),
  invert: z.boolean().optional(),
  get pretokenizers() {
    return z.array(preTokenizerSchema).optional();
  },
});

const fileSchema = z.looseObject({
  added_tokens: z.array(
    z.looseObject({ id: z.int().nonnegative(), content: z.string(), special: z.boolean() }),
  ),
  normalizer: z.looseObject({ type: z.string() }).nullable(),
  pre_tokenizer: preTokenizerSchema.nullable(),
  post_processor: z.looseObject({ type: z.string() }).nullable(),
  decoder: z.object({
    type: z.literal('Sequence'),
    // Replace a word mark, join byte tokens, join all: the one order that `pieces` below stands for.
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
    // A quarter of a million entries each: looked through by the code that uses them.
    vocab: z.custom<Record<string, number>>(v => typeof v === 'object' && v !== null && !Array.isArray(v)),
    merges: z.custom<unknown[]>(Array.isArray),
  }),
});

type TokenizerJson = z.infer<typeof fileSchema>;

export interface TokenizerFile {
  readonly json: TokenizerJson;
  /** By id; see `Tokenizer.piece`. */
  readonly pieces: readonly TokenPiece[];
  /** Throws when the token does not exist. */
  idOf(token: string): number;
}

/** Beyond any vocabulary; a table of pieces has a slot for every id below the highest. */
const MAX_ID = 2 ** 21;

const BYTE_TOKEN = /^<0x([0-9A-Fa-f]{2})>$/;

/** Throws a plain Error with the reason; the caller knows the path. */
export function parseTokenizerFile(raw: unknown): TokenizerFile {
  const parsed = fileSchema.safeParse(raw);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    throw new Error(`${issue.path.join('.') || 'the file'}: ${issue.message}`);
  }
  const json = parsed.data;
  const ids = new Map(Object.entries(json.model.vocab));
  for (const { content, id } of json.added_tokens) ids.set(content, id);

  const mark = json.decoder.decoders[0];
  const pieces: TokenPiece[] = [];
  for (const [token, id] of ids) {
    if (!Number.isInteger(id) || id < 0 || id > MAX_ID)
      throw new Error(`the token ${token} has the id ${id}`);
    const byte = BYTE_TOKEN.exec(token);
    pieces[id] = byte ? parseInt(byte[1]!, 16) : token.replaceAll(mark.pattern.String, mark.content);
  }
  for (const { special, id } of json.added_tokens) if (special) pieces[id] = '';

  const idOf = (token: string): number => {
    const id = ids.get(token);
    if (id === undefined) throw new Error(`the token ${token} is missing`);
    return id;
  };
  return { json, pieces: Array.from(pieces, piece => piece ?? ''), idOf };
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/**
 * The library cuts around every match, whatever `behavior` says. A match that belongs to its neighbour is therefore
 * rewritten as a pattern that takes the neighbour in.
 */
function rewriteSplits(step: PreTokenizer): PreTokenizer {
  if (step.pretokenizers) return { ...step, pretokenizers: step.pretokenizers.map(rewriteSplits) };
  if (step.type !== 'Split' || step.pattern === undefined) return step;
  const match = 'String' in step.pattern ? escaped(step.pattern.String) : step.pattern.Regex;
  const others = `(?:(?!${match})[\\s\\S])*`;
  switch (step.invert ? 'inverted' : step.behavior) {
    case 'Removed':
    case 'Isolated':
      return step;
    case 'MergedWithNext':
      return { ...step, behavior: 'Isolated', pattern: { Regex: `(?:${match})${others}` } };
    case 'MergedWithPrevious':
      return { ...step, behavior: 'Isolated', pattern: { Regex: `${others}(?:${match})` } };
    default:
      throw new Error(
        `pre_tokenizer: Split with behavior ${step.behavior}, inverted ${step.invert} is not supported`,
      );
  }
}

/**
 * The file as the library needs it. Special tokens are left out: as in sentencepiece, `<eos>` in an instruction is
 * five characters and never the end token.
 */
export function libraryConfig(json: TokenizerJson): TokenizerJson {
  return {
    ...json,
    added_tokens: json.added_tokens.filter(token => !token.special),
    pre_tokenizer: json.pre_tokenizer === null ? null : rewriteSplits(json.pre_tokenizer),
  };
}
