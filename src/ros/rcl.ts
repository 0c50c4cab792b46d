/**
 * The part of rclnodejs that the node uses, with our own narrow types: its own types need files that are generated
 * on a machine with ROS 2. rclnodejs must live on the main thread and never be loaded in a test process.
 */
import childProcess from 'node:child_process';
import { OxygenError } from '../core/errors';
import type { Logger } from './drops';
import type { TopicSpec } from './topics';

export interface RclPublisher {
  publish(message: object): void;
}

export type RclTimer = object;

export interface RclTime {
  readonly nanoseconds: bigint;
}

export interface RclParameter {
  readonly name: string;
  readonly type: number;
  readonly value: unknown;
}

export interface RclServiceResponse {
  readonly template: Record<string, unknown>;
  send(response: object): void;
}

export interface RclMessageInfo {
  readonly sourceTimestamp: bigint;
  readonly publisherGid: Uint8Array;
}

export interface SetParametersResult {
  readonly successful: boolean;
  readonly reason: string;
}

/** Not given by ROS 2 Humble. */
export interface RclTimerInfo {
  /** Nanoseconds of the timer's clock, on the grid of its period. */
  readonly expectedCallTime: bigint;
}

export interface RclNode {
  name(): string;
  namespace(): string;
  spin(timeoutMs?: number): void;
  execute(handles: unknown[]): void;
  getLogger(): Logger;
  getClock(): { now(): RclTime };
  getParameter(name: string): RclParameter;
  hasParameter(name: string): boolean;
  getParameterOverrides(): RclParameter[];
  declareParameter(parameter: RclParameter, descriptor: object, ignoreOverride?: boolean): RclParameter;
  addPreSetParametersCallback(callback: (parameters: RclParameter[]) => RclParameter[]): void;
  setParametersAtomically(parameters: RclParameter[]): SetParametersResult;
  addPostSetParametersCallback(callback: (parameters: RclParameter[]) => void): void;
  createTimer(periodNs: bigint, callback: (info?: RclTimerInfo) => void, clock?: object): RclTimer;
  createPublisher(type: string, topic: string, options: object): RclPublisher;
  createSubscription(type: string, topic: string, options: object, callback: SubscriptionCallback): unknown;
  createService(type: string, name: string, options: object, callback: ServiceCallback): unknown;
  destroyPublisher(publisher: RclPublisher): void;
  destroySubscription(subscription: unknown): void;
  destroyService(service: unknown): void;
  destroyTimer(timer: RclTimer): void;
  undeclareParameter(name: string): void;
  resolveTopicName(name: string): string;
  getFullyQualifiedName(): string;
  getPublishersInfoByTopic(topic: string): unknown[];
  getSubscriptionsInfoByTopic(topic: string): unknown[];
  getNodeNamesAndNamespaces(): { readonly name: string; readonly namespace: string }[];
  /** Internal: parameter values of the command line and of parameter files. */
  _getNativeParameterOverrides(): Map<string, RclParameter>;
}

export type SubscriptionCallback = (message: never, info: RclMessageInfo) => void;
export type ServiceCallback = (request: never, response: RclServiceResponse) => void;

export interface Rcl {
  readonly Node: new (name: string, namespace?: string, context?: object, options?: object) => RclNode;
  readonly Parameter: new (name: string, type: number, value: unknown) => RclParameter;
  readonly ParameterDescriptor: new (
    name: string,
    type: number,
    description: string,
    readOnly: boolean,
    range: object | null,
  ) => object;
  readonly ParameterType: Readonly<Record<string, number>>;
  readonly Clock: new (type: number) => object;
  readonly ClockType: { readonly STEADY_TIME: number };
  readonly QoS: {
    new (history: number, depth: number, reliability: number, durability: number): object;
    readonly HistoryPolicy: Readonly<Record<string, number>>;
    readonly ReliabilityPolicy: Readonly<Record<string, number>>;
    readonly DurabilityPolicy: Readonly<Record<string, number>>;
  };
  readonly QoSPolicyKind: Readonly<Record<string, number>>;
  readonly QoSOverridingOptions: new (policies: readonly number[], options: object) => object;
  readonly Context: { defaultContext(): object };
  init(context: object, argv: string[]): Promise<void>;
  shutdown(): void;
  removeSignalHandlers(): void;
}

/**
 * Loads rclnodejs. When its native part does not load, rclnodejs would delete its build and compile it anew, in the
 * middle of a robot's start: that is refused.
 * @throws OxygenError CONFIG_INVALID with the reason of the loader.
 */
export function loadRcl(): Rcl {
  const execSync = childProcess.execSync;
  childProcess.execSync = (() => {
    throw new Error('rebuilding is the task of set-up');
  }) as unknown as typeof execSync;
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- not before a node is really wanted
    return require('rclnodejs') as Rcl;
  } catch (cause) {
    throw new OxygenError(
      'CONFIG_INVALID',
      `rclnodejs does not load (${nativeReason() ?? String(cause)}). Is ROS 2 sourced and has set-up been run?`,
      { cause },
    );
  } finally {
    childProcess.execSync = execSync;
  }
}

/** What the dynamic loader says about the native part; null when it loads. */
function nativeReason(): string | null {
  try {
    const file = require
      .resolve('rclnodejs/package.json')
      .replace(/package\.json$/, 'build/Release/rclnodejs.node');
    process.dlopen({ exports: {} }, file);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

export type Reliability = 'reliable' | 'best_effort';
export type Durability = 'volatile' | 'transient_local';

/** Options of a publisher or subscription: keep last, and what `qos_overrides.<topic>.*` parameters may change. */
export const qosProfile = (rcl: Rcl, { qos, id }: TopicSpec): object => ({
  qos: new rcl.QoS(
    rcl.QoS.HistoryPolicy['RMW_QOS_POLICY_HISTORY_KEEP_LAST']!,
    qos.depth,
    rcl.QoS.ReliabilityPolicy[`RMW_QOS_POLICY_RELIABILITY_${qos.reliability.toUpperCase()}`]!,
    rcl.QoS.DurabilityPolicy[`RMW_QOS_POLICY_DURABILITY_${qos.durability.toUpperCase()}`]!,
  ),
  qosOverridingOptions: new rcl.QoSOverridingOptions(
    ['HISTORY', 'DEPTH', 'RELIABILITY', 'DURABILITY'].map(policy => rcl.QoSPolicyKind[policy]!),
    id === undefined ? {} : { entityId: id },
  ),
});
