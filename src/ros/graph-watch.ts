/**
 * Watches the peers on our topics, since rclnodejs tells of no incompatible peer by itself: who cannot hear whom, who
 * else commands the robot, who else has our name. `topicFaults` and `nameFaults` decide; `GraphWatch` looks at one
 * topic after the other, so that the main thread never looks at all at once.
 */
import type { TopicSpec } from './topics';

/** One publisher or subscription of ours, with the policies that it really has. */
export interface OwnEndpoint extends Omit<TopicSpec, 'name'> {
  /** Resolved: with namespace, after remapping. */
  readonly topic: string;
  /** Nobody else may publish here: the topic commands the robot. */
  readonly exclusive?: boolean;
}

/** What rclnodejs tells of one endpoint; policies are the numbers of rmw. */
export interface EndpointInfo {
  readonly node_name: string;
  readonly node_namespace: string;
  readonly topic_type: string;
  readonly qos_profile: {
    readonly reliability: number;
    readonly durability: number;
    readonly liveliness: number;
    readonly deadline: { readonly seconds: bigint; readonly nanoseconds: bigint };
  };
}

export interface GraphFault {
  readonly kind: 'qos' | 'type' | 'publisher' | 'name';
  readonly topic: string;
  /** Warn: may be meant, or pass by itself. */
  readonly level: 'warn' | 'error';
  readonly message: string;
}

const RELIABLE = 1;
const BEST_EFFORT = 2;
const TRANSIENT_LOCAL = 1;
const VOLATILE = 2;
const AUTOMATIC = 1;
const MANUAL_BY_TOPIC = 3;
/** A deadline that is at least this long is none; so is one of zero. */
const ENDLESS_SECONDS = 1n << 31n;

/**
 * Faults of one topic. `own`: all our endpoints on it; `publishers`, `subscriptions`: what the graph says of it, ours
 * among them. Of several subscriptions of ours one that hears a publisher is enough.
 */
export function topicFaults(
  node: string,
  own: readonly OwnEndpoint[],
  publishers: readonly EndpointInfo[],
  subscriptions: readonly EndpointInfo[],
): GraphFault[] {
  const ins = own.filter(endpoint => endpoint.direction === 'in');
  const outs = own.filter(endpoint => endpoint.direction === 'out');
  return [
    ...foreign(node, publishers).flatMap(theirs => heard(node, ins, theirs)),
    ...outs.flatMap(ours => foreign(node, subscriptions).flatMap(theirs => hears(node, ours, theirs))),
    ...outs.filter(ours => ours.exclusive).flatMap(ours => rivals(node, ours.topic, publishers)),
  ];
}

/** Nodes with our full name, beside ourselves. */
export function nameFaults(node: string, names: readonly string[]): GraphFault[] {
  const others = names.filter(name => name === node).length - 1;
  if (others < 1) return [];
  const message =
    `${others + 1} nodes are called ${node}: services and parameters reach any of them. Give each its own name or ` +
    'namespace. (A killed process stays in the graph for some 20 s.)';
  return [{ kind: 'name', topic: '', level: 'warn', message }];
}

/** Full names of the other nodes that publish on a topic, one per publisher. */
export const otherPublishers = (node: string, publishers: readonly EndpointInfo[]): string[] =>
  foreign(node, publishers).map(fullName);

const foreign = (node: string, endpoints: readonly EndpointInfo[]): readonly EndpointInfo[] =>
  endpoints.filter(endpoint => fullName(endpoint) !== node);

export const fullName = (of: { readonly node_namespace: string; readonly node_name: string }): string =>
  `${of.node_namespace === '/' ? '' : of.node_namespace}/${of.node_name}`;

/** Their publisher, our subscriptions: one that fits will do. */
function heard(node: string, ins: readonly OwnEndpoint[], theirs: EndpointInfo): GraphFault[] {
  const faults = ins.map(ours => mismatch(node, ours, theirs));
  const fault = faults.includes(null) ? undefined : faults.at(0);
  return fault ? [fault] : [];
}

/** Our publisher, their subscription. */
function hears(node: string, ours: OwnEndpoint, theirs: EndpointInfo): GraphFault[] {
  const fault = mismatch(node, ours, theirs);
  return fault ? [fault] : [];
}

function mismatch(node: string, ours: OwnEndpoint, theirs: EndpointInfo): GraphFault | null {
  const { topic, direction } = ours;
  const [they, we] =
    direction === 'in'
      ? [`${fullName(theirs)} publishes`, `${node} subscribes to`]
      : [`${fullName(theirs)} subscribes to`, `${node} publishes`];
  if (theirs.topic_type !== ours.type) {
    const message = `${topic}: ${they} ${theirs.topic_type}, ${we} ${ours.type}. Remap one of them to another topic`;
    return { kind: 'type', topic, level: 'error', message };
  }
  const policy = direction === 'in' ? unheard(ours, theirs) : unhearing(ours, theirs);
  if (policy === null) return null;
  const message = `${topic}: ${they} ${policy.theirs}, ${we} it ${policy.ours}, so nothing arrives. ${policy.advice}`;
  return { kind: 'qos', topic, level: 'error', message };
}

interface Clash {
  readonly ours: string;
  readonly theirs: string;
  readonly advice: string;
}

/** The parameter that overrides a policy of an endpoint. */
export const overrideName = (
  { topic, direction, id }: Pick<OwnEndpoint, 'topic' | 'direction' | 'id'>,
  policy: string,
): string => {
  const entity = `${direction === 'in' ? 'subscription' : 'publisher'}${id === undefined ? '' : `_${id}`}`;
  return `qos_overrides.${topic}.${entity}.${policy}`;
};

const override = (ours: OwnEndpoint, policy: string, value: string): string =>
  `${overrideName(ours, policy)} to ${value}`;

/** What a publisher of theirs does not offer, but we ask for. A policy that is not known is no clash. */
function unheard(ours: OwnEndpoint, { qos_profile: theirs }: EndpointInfo): Clash | null {
  if (ours.qos.reliability === 'reliable' && theirs.reliability === BEST_EFFORT) {
    const advice = `Publish reliable, or set ${override(ours, 'reliability', 'best_effort')}`;
    return { ours: 'reliable', theirs: 'best effort', advice };
  }
  if (ours.qos.durability === 'transient_local' && theirs.durability === VOLATILE) {
    const advice = `Publish transient local, or set ${override(ours, 'durability', 'volatile')}`;
    return { ours: 'transient local', theirs: 'volatile', advice };
  }
  return null;
}

/** What a subscription of theirs asks for, but we do not offer. */
function unhearing(ours: OwnEndpoint, { qos_profile: theirs }: EndpointInfo): Clash | null {
  if (ours.qos.reliability === 'best_effort' && theirs.reliability === RELIABLE) {
    const advice = `Subscribe with best effort, or set ${override(ours, 'reliability', 'reliable')}`;
    return { ours: 'best effort', theirs: 'reliable', advice };
  }
  if (ours.qos.durability === 'volatile' && theirs.durability === TRANSIENT_LOCAL) {
    const advice = `Subscribe volatile, or set ${override(ours, 'durability', 'transient_local')}`;
    return { ours: 'volatile', theirs: 'transient local', advice };
  }
  const { seconds, nanoseconds } = theirs.deadline;
  if ((seconds > 0n || nanoseconds > 0n) && seconds < ENDLESS_SECONDS) {
    return { ours: 'without a deadline', theirs: 'with a deadline', advice: 'Subscribe without a deadline' };
  }
  if (theirs.liveliness > AUTOMATIC && theirs.liveliness <= MANUAL_BY_TOPIC) {
    const advice = 'Subscribe with automatic liveliness';
    return { ours: 'with automatic liveliness', theirs: 'with manual liveliness', advice };
  }
  return null;
}

/** Publishers on a topic that is ours alone. With our own name we cannot tell which one is ours, but count them. */
function rivals(node: string, topic: string, publishers: readonly EndpointInfo[]): GraphFault[] {
  const faults = otherPublishers(node, publishers).map((name): GraphFault => {
    const message =
      `${topic}: ${name} publishes here too, so two nodes command the robot at once. Stop one of them or ` +
      `remap its topic`;
    return { kind: 'publisher', topic, level: 'error', message };
  });
  const sameName = publishers.length - faults.length;
  if (sameName <= 1) return faults;
  const message =
    `${topic}: ${sameName} publishers of nodes called ${node}. Stop all but one. (A killed process stays in the ` +
    'graph for some 20 s.)';
  return [...faults, { kind: 'publisher', topic, level: 'warn', message }];
}

export interface GraphSource {
  infoPublishers(topic: string): readonly EndpointInfo[];
  infoSubscriptions(topic: string): readonly EndpointInfo[];
  /** Full names of all nodes. */
  nodeNames(): readonly string[];
}

/** A round takes at most this many steps, so with 20 steps per second one second. */
const STEPS_PER_ROUND = 20;

type Look = () => readonly GraphFault[];

export class GraphWatch {
  readonly #looks: readonly Look[];
  readonly #perStep: number;
  readonly #found: (readonly GraphFault[])[];
  #next = 0;

  /** `node`: our full name; `endpoints`: all of ours that peers may meet. */
  constructor(node: string, endpoints: readonly OwnEndpoint[], source: GraphSource) {
    const topics = [...new Set(endpoints.map(endpoint => endpoint.topic))];
    this.#looks = [
      () => nameFaults(node, source.nodeNames()),
      ...topics.map((topic): Look => {
        const own = endpoints.filter(endpoint => endpoint.topic === topic);
        const asksPublishers = own.some(endpoint => endpoint.direction === 'in' || endpoint.exclusive);
        const asksSubscriptions = own.some(endpoint => endpoint.direction === 'out');
        return () =>
          topicFaults(
            node,
            own,
            asksPublishers ? source.infoPublishers(topic) : [],
            asksSubscriptions ? source.infoSubscriptions(topic) : [],
          );
      }),
    ];
    this.#perStep = Math.ceil(this.#looks.length / STEPS_PER_ROUND);
    this.#found = this.#looks.map(() => []);
  }

  /** Looks at the next topic (or few: a round has 20 steps). True when the faults are others than before. */
  step(): boolean {
    let changed = false;
    for (let i = 0; i < this.#perStep; i++) {
      const at = this.#next;
      this.#next = (at + 1) % this.#looks.length;
      const before = this.#found[at]!;
      const now = (this.#found[at] = this.#looks[at]!());
      changed ||=
        before.length !== now.length || before.some((fault, n) => fault.message !== now[n]!.message);
    }
    return changed;
  }

  /** As of the last look at each topic. */
  get faults(): readonly GraphFault[] {
    return this.#found.flat();
  }
}
