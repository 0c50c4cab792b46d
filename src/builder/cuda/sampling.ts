/** core/sampler.ts inside a graph, in float32: the same draw for the same uniform number, but for ties in the last bit. */
import type { Graph, Value } from '../graph';
import type { Candidates } from './half-blocks';

/** Per row [B]; temperature 0 is greedy, top_k 0 is all, top_p 1 is all. */
export interface Settings {
  readonly temperature: Value;
  readonly topP: Value;
  readonly topK: Value;
}

/** The next token of each row [B], from the best `count` candidates [B,count] and a uniform number [B]. */
export function chooseTokens(
  g: Graph,
  { top, ids, logSumExp }: Pick<Candidates, 'top' | 'ids' | 'logSumExp'>,
  count: number,
  s: Settings,
  uniform: Value,
): Value {
  const column = (value: Value) => g.op('Unsqueeze', [value, g.ints(-1)]);
  const temperature = column(s.temperature);
  const greedy = g.op('LessOrEqual', [temperature, g.scalar(0)]);
  const heat = g.op('Where', [greedy, g.scalar(1), temperature]);
  const best = g.op('Slice', [top, g.ints(0), g.ints(1), g.ints(-1)]);
  const weights = g.op('Exp', [g.op('Div', [g.op('Sub', [top, best]), heat])]);
  const allowed = g.op('And', [
    withinMass(g, top, logSumExp, column(s.topP)),
    withinCount(g, count, column(s.topK)),
  ]);
  const sums = g.op('CumSum', [g.op('Where', [allowed, weights, g.scalar(0)]), g.int(-1)]);
  const total = g.op('Gather', [sums, g.ints(-1)], { axis: -1n });
  const wanted = g.op('Mul', [column(uniform), total]);
  // the first sum beyond what is wanted; how many are not says which
  const short = g.op('Cast', [g.op('LessOrEqual', [sums, wanted])], { to: 1n });
  const drawn = g.op('ReduceSum', [short, g.ints(-1)], { keepdims: 1n });
  const beyond = g.op('GreaterOrEqual', [drawn, g.scalar(count)]);
  const place = g.op('Where', [g.op('Or', [greedy, beyond]), g.scalar(0), drawn]);
  const token = g.op('GatherElements', [ids, g.op('Cast', [place], { to: 7n })], { axis: -1n });
  return g.op('Squeeze', [token, g.ints(-1)]);
}

/** Whether the model's own probability of all better candidates is below top_p; the best one always counts. */
function withinMass(g: Graph, top: Value, logSumExp: Value, topP: Value): Value {
  const probabilities = g.op('Exp', [g.op('Sub', [top, logSumExp])]);
  const better = g.op('CumSum', [probabilities, g.int(-1)], { exclusive: 1n });
  const noLimit = g.op('GreaterOrEqual', [topP, g.scalar(1)]);
  const isBest = g.op('LessOrEqual', [better, g.scalar(0)]);
  return g.op('Or', [g.op('Or', [g.op('Less', [better, topP]), noLimit]), isBest]);
}

function withinCount(g: Graph, count: number, topK: Value): Value {
  const ranks = g.ints(...Array.from({ length: count }, (_, i) => i));
  const noLimit = g.op('LessOrEqual', [topK, g.int(0)]);
  return g.op('Or', [g.op('Less', [ranks, topK]), noLimit]);
}
