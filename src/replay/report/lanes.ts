/** Where texts lie in the timeline: one group per standing request, the others together; no two bars on each other. */
import type { TextEvent } from '../result';

export interface Bar {
  readonly event: TextEvent;
  readonly x: number;
  readonly width: number;
  /** Where the lane is free again. */
  readonly end: number;
}

export interface Group {
  /** Name of the standing request; null: requests from outside. */
  readonly name: string | null;
  readonly lanes: readonly (readonly Bar[])[];
}

/** Texts in the order of time by the name of their standing request; those from outside (null) last. */
export function grouped(texts: readonly TextEvent[]): Map<string | null, TextEvent[]> {
  const groups = new Map<string | null, TextEvent[]>();
  for (const event of [...texts].sort((a, b) => a.from_s - b.from_s)) {
    const own = groups.get(event.standing);
    if (own) own.push(event);
    else groups.set(event.standing, [event]);
  }
  const outside = groups.get(null);
  groups.delete(null);
  return outside ? groups.set(null, outside) : groups;
}

/** `place` gives a bar's place in its lane. */
export const lanes = (
  groups: ReadonlyMap<string | null, readonly TextEvent[]>,
  place: (event: TextEvent) => Omit<Bar, 'event'>,
): Group[] =>
  [...groups].map(([name, events]) => ({
    name,
    lanes: packed(events.map(event => ({ event, ...place(event) }))),
  }));

/** Each bar in the first lane that is free. */
function packed(bars: readonly Bar[]): Bar[][] {
  const found: { end: number; readonly bars: Bar[] }[] = [];
  for (const bar of bars) {
    let lane = found.find(l => l.end <= bar.x);
    if (!lane) found.push((lane = { end: 0, bars: [] }));
    lane.bars.push(bar);
    lane.end = bar.end;
  }
  return found.map(l => l.bars);
}
