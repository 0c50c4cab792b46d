/**
 * A ROS node that survives its callbacks. An exception that leaves a callback of rclnodejs ends the process in C++;
 * `uncaughtException` never sees it. So every callback is wrapped, and `execute` catches what rclnodejs itself
 * throws (a peer can make it throw: SetParameters with an unknown type, for one).
 */
import { OxygenError, describeError, toOxygenError } from '../core/errors';
import { fullName } from './graph-watch';
import type {
  Rcl,
  RclNode,
  RclParameter,
  RclServiceResponse,
  RclTimerInfo,
  ServiceCallback,
  SetParametersResult,
  SubscriptionCallback,
} from './rcl';

const CLOCK_TOPIC = '/clock';

export interface GuardHooks {
  /** Gets what was thrown and where. */
  error(error: unknown, where: string): void;
  /** A peer's call of one of rclnodejs' own services made it throw: the peer's fault. */
  badCall(error: unknown, service: string): void;
  /** Why a change of parameters is refused; rclnodejs' own reasons do not say what is allowed. */
  refusal(parameters: readonly RclParameter[]): SetParametersResult | null;
}

/** @throws OxygenError CONFIG_INVALID when ROS does not make a node of this name in its namespace. */
export function createGuardedNode(rcl: Rcl, name: string, hooks: GuardHooks): RclNode {
  const onError = (error: unknown, where: string): void => hooks.error(error, where);
  const guarded =
    <A extends unknown[]>(where: string, call: (...args: A) => void) =>
    (...args: A): void => {
      try {
        call(...args);
      } catch (error) {
        onError(error, where);
      }
    };

  // The constructor of Node makes services and a subscription already: nothing here may need fields of its own.
  class GuardedNode extends rcl.Node {
    override execute(handles: unknown[]): void {
      guarded('rclnodejs', () => super.execute(handles))();
      // rclnodejs calls from outside of Node's own scheduling: without this, promises would wait for other events.
      setImmediate(() => undefined);
    }

    override createTimer(
      periodNs: bigint,
      callback: (info?: RclTimerInfo) => void,
      ...rest: [clock?: object]
    ): ReturnType<RclNode['createTimer']> {
      return super.createTimer(periodNs, guarded('timer', callback), ...rest);
    }

    override createSubscription(
      type: string,
      topic: string,
      options: object | SubscriptionCallback,
      callback?: SubscriptionCallback,
    ): unknown {
      const [given, call] =
        typeof options === 'function' ? [{}, options as SubscriptionCallback] : [options, callback!];
      // Bags publish the clock best effort; the default subscription is reliable and would never match.
      const settings = topic === CLOCK_TOPIC ? { ...given, qos: 'qos_profile_sensor_data' } : given;
      const safe = guarded(topic, call);
      // rclnodejs counts parameters to see whether message info is wanted; it has none for raw messages.
      return call.length >= 2
        ? super.createSubscription(type, topic, settings, (message, info) => safe(message, info))
        : super.createSubscription(type, topic, settings, ((message: never) =>
            (safe as (m: never) => void)(message)) as SubscriptionCallback);
    }

    override createService(
      type: string,
      service: string,
      options: object | ServiceCallback,
      callback?: ServiceCallback,
    ): unknown {
      const [settings, call] =
        typeof options === 'function' ? [{}, options as ServiceCallback] : [options, callback!];
      return super.createService(type, service, settings, (request, response) => {
        try {
          call(request, response);
        } catch (error) {
          if (type.startsWith('rcl_interfaces/')) hooks.badCall(error, service);
          else onError(error, service);
          answerFailure(type, request, response, describeError(error));
        }
      });
    }

    override setParametersAtomically(parameters: RclParameter[]): SetParametersResult {
      return hooks.refusal(parameters) ?? super.setParametersAtomically(parameters);
    }

    /** Sections of parameter files by full name too, as in other ROS nodes; rclnodejs knows the bare name only. */
    override _getNativeParameterOverrides(): Map<string, RclParameter> {
      const sectionOf = (section: string): Map<string, RclParameter> =>
        super._getNativeParameterOverrides.call({
          ...contextOf(this),
          name: () => section,
        } as unknown as RclNode);
      const common = sectionOf('/**');
      const merged = new Map(common);
      for (const section of sections(this.namespace(), this.name())) {
        for (const [key, parameter] of sectionOf(section)) {
          if (!same(common.get(key), parameter)) merged.set(key, parameter);
        }
      }
      return merged;
    }
  }

  try {
    return new GuardedNode(name);
  } catch (cause) {
    const { message } = toOxygenError(cause);
    throw new OxygenError(
      'CONFIG_INVALID',
      `the node cannot be created: ${message}. Look at its name and namespace`,
      { cause },
    );
  }
}

const contextOf = (node: unknown): { context: unknown } => ({
  context: (node as { context: unknown }).context,
});

const same = (a: RclParameter | undefined, b: RclParameter): boolean =>
  a !== undefined && a.type === b.type && String(a.value) === String(b.value);

/** Names under which a parameter file may speak of a node, the most special last. */
function sections(namespace: string, name: string): readonly string[] {
  const full = fullName({ node_namespace: namespace, node_name: name });
  // An argument (`-p name:=value`) has the bare name, and wins over every file.
  return [...new Set([`/**/${name}`, `/*/${name}`, full.slice(1), full])]
    .filter(n => n !== name)
    .concat(name);
}

/** An answer is due even when the request made us throw: who waits for none waits for ever. */
function answerFailure(type: string, request: unknown, response: RclServiceResponse, reason: string): void {
  const failure = { successful: false, reason };
  if (type === 'rcl_interfaces/srv/SetParameters') {
    const { parameters } = request as { parameters: unknown[] };
    response.send({ results: parameters.map(() => failure) });
  } else if (type === 'rcl_interfaces/srv/SetParametersAtomically') {
    response.send({ result: failure });
  } else response.send(response.template); // empty, and `success` is false
}
