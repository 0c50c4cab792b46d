/** Copies of the float16 graphs that also give Max |x| of every float16 value, beside them in an engine's folder. */
export const rangesGraph = <G extends string>(graph: G): `${G}.ranges` => `${graph}.ranges`;

/** Outputs of that name hold a Max |x|; what follows is the value, and the last weight on the way to it. */
export const RANGE_PREFIX = 'max|x| ';

/** Float16 ends at 65504; a value beyond half of that is too near. */
export const RANGE_LIMIT = 30_000;
