/** The services by which `ros2 lifecycle` and lifecycle managers talk to a managed node. */
import type { Lifecycle, Transition, TransitionAsked } from './lifecycle';
import { STATES, TRANSITIONS } from './lifecycle';
import type { RclNode, RclServiceResponse } from './rcl';
import { SERVICES } from './topics';

interface ChangeStateRequest {
  readonly transition: TransitionAsked;
}

/** lifecycle_msgs/msg/TransitionDescription. */
const description = ({ id, label, start, goal }: Transition): object => ({
  transition: { id, label },
  start_state: STATES[start],
  goal_state: STATES[goal],
});

/** lifecycle_msgs/msg/TransitionEvent; nanoseconds of ROS time. */
export const transitionEvent = (transition: Transition, nowNs: bigint): object => ({
  timestamp: nowNs,
  ...description(transition),
});

export function createLifecycleServices(
  node: RclNode,
  change: (asked: TransitionAsked) => Promise<boolean>,
  lifecycle: Pick<Lifecycle, 'state' | 'available'>,
): void {
  const answers: readonly [keyof typeof SERVICES, () => object][] = [
    ['getState', () => ({ current_state: STATES[lifecycle.state] })],
    ['getAvailableStates', () => ({ available_states: Object.values(STATES) })],
    ['getAvailableTransitions', () => ({ available_transitions: lifecycle.available.map(description) })],
    ['getTransitionGraph', () => ({ available_transitions: TRANSITIONS.map(description) })],
  ];
  for (const [service, answer] of answers) {
    const { name, type } = SERVICES[service];
    node.createService(type, name, {}, (_request: unknown, response: RclServiceResponse) =>
      response.send(answer()),
    );
  }
  const { name, type } = SERVICES.changeState;
  node.createService(type, name, {}, (request: ChangeStateRequest, response: RclServiceResponse) => {
    // Answered when the work is done, as in every managed node; other callbacks go on meanwhile.
    void change(request.transition).then(success => response.send({ success }));
  });
}
